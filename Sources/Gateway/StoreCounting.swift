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
        var overlapping: CountedOverlap?
        /// People with the default entitlement, by provider. Nil before the first count of them.
        var active: [ProviderID: Int]?
        /// Bytes of the database and of its log of writes.
        var fileBytes: [(file: String, bytes: Int)]
        /// Bytes of the process in memory.
        var residentBytes: Int?
    }

    private struct Request: Sendable {
        var policy: EntitlementPolicy
        var question: Question
    }

    /// What is asked, and who is to be told.
    private enum Question: Sendable {
        case counts(@Sendable (Swift.Result<Result, StorageError>) -> Void)
        /// Waits for the count when there is none yet.
        case overlapping(@Sendable (CountedOverlap?) -> Void)
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
        mailbox.post(Request(policy: policy, question: .counts(reply)))
    }

    /// Tells who pays twice: what was counted last while that is young enough, else a new count. False when too many wait;
    /// then `reply` is never called.
    func askOverlapping(_ policy: EntitlementPolicy, _ reply: @escaping @Sendable (CountedOverlap?) -> Void) -> Bool {
        mailbox.post(Request(policy: policy, question: .overlapping(reply)))
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
            for request in waiting {
                if case .counts(let reply) = request.question { reply(counter.result()) }
            }
            let overlap = waiting.last.flatMap { counter.countOverlapping($0.policy) }
            for request in waiting {
                if case .overlapping(let reply) = request.question { reply(overlap) }
            }
            if let policy = waiting.last?.policy { counter.countActive(policy) }
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
        private var overlapping: Known<CountedOverlap>?
        private var overlappingPolicy: EntitlementPolicy?
        private var active: Known<[ProviderID: Int]>?
        private var activeEntitlement: String?

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
                        overlapping: overlapping?.value,
                        active: active?.value,
                        fileBytes: fileBytes(),
                        residentBytes: ProcessMemory.residentBytes()
                    )
                )
            } catch {
                reader = nil
                return .failure(error)
            }
        }

        /// Nil when it could not be counted.
        func countOverlapping(_ policy: EntitlementPolicy) -> CountedOverlap? {
            let last = overlappingPolicy == policy ? overlapping : nil
            do throws(StorageError) {
                let counted = try known(last) { reader throws(StorageError) in
                    let moment = UnixMillis(wallClockMillis())
                    return CountedOverlap(people: try reader.overlappingPeople(policy, at: moment), at: moment)
                }
                overlapping = counted
                overlappingPolicy = policy
                return counted.value
            } catch {
                reader = nil
                Log.error("a count failed", ("reason", .string(error.description)))
                return nil
            }
        }

        func countActive(_ policy: EntitlementPolicy) {
            let entitlement = policy.defaultEntitlement
            let last = activeEntitlement == entitlement ? active : nil
            do throws(StorageError) {
                active = try known(last) { reader throws(StorageError) in
                    try reader.activeUsers(of: entitlement, at: UnixMillis(wallClockMillis()))
                }
                activeEntitlement = entitlement
            } catch {
                reader = nil
                Log.error("a count failed", ("reason", .string(error.description)))
            }
        }

        private func fileBytes() -> [(file: String, bytes: Int)] {
            [("database", store.path), ("log", store.path + "-wal")].compactMap { file, path in
                FileSize.bytes(of: path).map { (file, $0) }
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

/// Who pays twice, and when that was found.
struct CountedOverlap: Sendable {
    var people: OverlappingPeople
    var at: UnixMillis
}
