internal import Entitlements
internal import Platform
internal import SQLiteStorage
internal import Storage

/// Counts over the database, on a thread of their own: a count may take long, and no loop waits for it.
///
/// A count is used again for as long as a hundred of its kind take, a second at least: counting costs one part in a hundred
/// of one core at most, however large the database and however often somebody asks. Nobody waits for the one that is slow:
/// who asks gets the last result, and a new one is made afterwards.
final class StoreCounting: Sendable {
    /// What a count came to.
    struct Result: Sendable {
        var counts: StoreCounts
        /// Nil before the first count of them.
        var overlappingUsers: Int?
        /// Bytes of the process in memory.
        var residentBytes: Int?
    }

    private struct Request: Sendable {
        var policy: EntitlementPolicy
        var reply: @Sendable (Swift.Result<Result, StorageError>) -> Void
    }

    /// More waiting questions than connections that ask them do not happen in good faith.
    private static let waitingMax = 256
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
        let counter = Counter(store: store)
        var waiting = ContiguousArray<Request>()
        while mailbox.wait(milliseconds: nil) {
            mailbox.drain(into: &waiting)
            for request in waiting { request.reply(counter.result()) }
            if let policy = waiting.last?.policy { counter.countOverlapping(policy) }
            waiting.removeAll(keepingCapacity: true)
        }
    }

    /// The thread's own state.
    private final class Counter {
        /// A count and until when it is used.
        private struct Known<Value> {
            var value: Value
            var until: MonotonicNanos
        }

        private static let ageMillisMin = 1000
        private static let ageFactor = 100
        /// Ten minutes: what is older would mislead.
        private static let ageMillisMax = 600_000

        private let store: SQLiteStore
        private var reader: SQLiteReader?
        private var counts: Known<StoreCounts>?
        private var overlapping: Known<Int>?
        private var overlappingPolicy: EntitlementPolicy?

        init(store: SQLiteStore) {
            self.store = store
        }

        func result() -> Swift.Result<Result, StorageError> {
            do throws(StorageError) {
                let counts = try known(counts) { reader throws(StorageError) in try reader.counts() }
                self.counts = counts
                return .success(
                    Result(
                        counts: counts.value,
                        overlappingUsers: overlapping?.value,
                        residentBytes: ProcessMemory.residentBytes()
                    )
                )
            } catch {
                reader = nil
                return .failure(error)
            }
        }

        func countOverlapping(_ policy: EntitlementPolicy) {
            let last = overlappingPolicy == policy ? overlapping : nil
            do throws(StorageError) {
                overlapping = try known(last) { reader throws(StorageError) in
                    try reader.overlappingPeople(policy, at: UnixMillis(wallClockMillis()))
                }
                overlappingPolicy = policy
            } catch {
                reader = nil
                Log.error("a count failed", ("reason", .string(error.description)))
            }
        }

        /// The last count while it is young enough, else a new one.
        private func known<Value>(
            _ last: Known<Value>?,
            _ count: (SQLiteReader) throws(StorageError) -> Value
        ) throws(StorageError) -> Known<Value> {
            let started = MonotonicNanos.now()
            if let last, started < last.until { return last }
            let open: SQLiteReader
            if let reader { open = reader } else { open = try store.makeReader() }
            reader = open
            let value = try count(open)
            let took = Int(clamping: MonotonicNanos.now().nanoseconds(since: started) / 1_000_000)
            let age = min(max(Self.ageMillisMin, min(took, Self.ageMillisMax) * Self.ageFactor), Self.ageMillisMax)
            return Known(value: value, until: started.adding(milliseconds: age))
        }
    }
}
