internal import Entitlements
internal import Platform
internal import SQLiteStorage
internal import Storage

/// Counts over the database, on a thread of their own: a count may take long, and no loop waits for it.
///
/// The result is used again for as long as a hundred counts take, a second at least: counting costs one part in a hundred
/// of one core at most, however large the database and however often somebody asks.
final class StoreCounting: Sendable {
    /// What a count came to.
    struct Result: Sendable {
        var counts: StoreCounts
        /// Bytes of the process in memory.
        var residentBytes: Int?
    }

    private struct Request: Sendable {
        var policy: EntitlementPolicy
        var reply: @Sendable (Swift.Result<Result, StorageError>) -> Void
    }

    /// More waiting questions than connections that ask them do not happen in good faith.
    private static let waitingMax = 256
    private static let ageMillisMin = 1000
    private static let ageFactor = 100
    /// A minute: a longer count is a machine that stood still.
    private static let tookMillisMax: UInt64 = 60_000

    private let mailbox: Mailbox<Request>
    private let thread: WorkerThread

    init(_ store: SQLiteStore) throws(SystemError) {
        let mailbox = try Mailbox<Request>(capacity: Self.waitingMax)
        self.mailbox = mailbox
        thread = try WorkerThread.start(name: "count") { Self.run(mailbox, store) }
    }

    /// Counts, or knows the counts already. False when too many wait; then `reply` is never called.
    func ask(
        _ policy: EntitlementPolicy,
        _ reply: @escaping @Sendable (Swift.Result<Result, StorageError>) -> Void
    ) -> Bool {
        mailbox.post(Request(policy: policy, reply: reply))
    }

    /// Ends the thread. To be called once.
    func stop() {
        mailbox.close()
        thread.join()
    }

    private static func run(_ mailbox: Mailbox<Request>, _ store: SQLiteStore) {
        var reader: SQLiteReader?
        var known: (counts: StoreCounts, policy: EntitlementPolicy, until: MonotonicNanos)?
        var waiting = ContiguousArray<Request>()
        while mailbox.wait(milliseconds: nil) {
            mailbox.drain(into: &waiting)
            for request in waiting {
                do throws(StorageError) {
                    let open: SQLiteReader
                    if let reader { open = reader } else { open = try store.makeReader() }
                    reader = open
                    let started = MonotonicNanos.now()
                    if known.map({ $0.until <= started || $0.policy != request.policy }) ?? true {
                        let counts = try open.counts(request.policy, at: UnixMillis(wallClockMillis()))
                        let took = MonotonicNanos.now().nanoseconds(since: started) / 1_000_000
                        let age = max(Self.ageMillisMin, Int(min(took, Self.tookMillisMax)) * Self.ageFactor)
                        known = (counts, request.policy, started.adding(milliseconds: age))
                    }
                    let counts = known?.counts ?? StoreCounts()
                    request.reply(.success(Result(counts: counts, residentBytes: ProcessMemory.residentBytes())))
                } catch {
                    reader = nil
                    request.reply(.failure(error))
                }
            }
            waiting.removeAll(keepingCapacity: true)
        }
    }
}
