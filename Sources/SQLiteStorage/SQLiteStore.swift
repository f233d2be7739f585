public import Entitlements
internal import Platform
public import Storage

/// The embedded store: one writer thread, and a reader for every thread that asks for one.
public final class SQLiteStore: Sendable {
    /// Writes that may wait; more are refused at once, so that memory stays bounded and senders try again later.
    public static let queueMax = 4096
    /// What the bodies of waiting events may take together, in bytes. Usual ones are 1 to 10 KB; 64 of the largest fit.
    public static let queueBytesMax = 64 << 20

    public let path: String
    private let mailbox: Mailbox<WriterMessage>
    private let thread: WorkerThread
    private let commits: CommitCounter
    private let waitingWrites = WaitingWrites(writesMax: queueMax, bytesMax: queueBytesMax)
    /// What the writer tells of its work.
    public let measurements: WriterMeasurements

    private init(
        path: String,
        mailbox: Mailbox<WriterMessage>,
        thread: WorkerThread,
        commits: CommitCounter,
        measurements: WriterMeasurements
    ) {
        self.path = path
        self.measurements = measurements
        self.mailbox = mailbox
        self.thread = thread
        self.commits = commits
    }

    /// Brings the database up to date, elects the rows anew when the configuration changed, and starts the writer.
    ///
    /// - Parameter receivers: Ids of those who are told of changed answers; nil for those who were told before.
    /// - Parameter listener: Who wants to see changes in this process.
    /// - Parameter cacheBytes: What rows in memory may take beside the database's own pages, for all readers; 0 for none.
    /// - Parameter onChange: Called on the writer's thread after each commit with the rows that changed.
    /// - Parameter policy: What the seller has configured; nil for what the rows were made with (commands beside a gateway).
    /// - Throws: Why the database cannot be used.
    package static func open(
        path: String,
        policy configured: EntitlementPolicy?,
        receivers: [String]? = nil,
        listener: (any ChangeListener)? = nil,
        cacheBytes: Int = 0,
        onChange: @escaping @Sendable ([ChangedRow]) -> Void
    ) throws(StorageError) -> SQLiteStore {
        _ = try Migrations.apply(to: path)
        if let receivers { try setReceivers(receivers, path: path) }
        let policy: EntitlementPolicy
        if let configured {
            policy = configured
            try Reelection(path: path, policy: policy).runIfNeeded()
        } else {
            policy = try storedPolicy(path: path)
        }
        let measurements = WriterMeasurements()
        let commits = CommitCounter(cacheBytes: cacheBytes)
        var failure: StorageError?
        do throws(SystemError) {
            let mailbox = try Mailbox<WriterMessage>(capacity: queueMax)
            let started = try Mailbox<StorageError?>(capacity: 1)
            let thread = try WorkerThread.start(name: "writer") {
                do throws(StorageError) {
                    let writer = try SQLiteWriter(
                        path: path,
                        policy: policy,
                        commits: commits,
                        measurements: measurements,
                        listener: listener,
                        onChange: onChange
                    )
                    _ = started.post(nil)
                    writer.run(mailbox)
                } catch {
                    _ = started.post(error)
                }
            }
            var answers = ContiguousArray<StorageError?>()
            while answers.isEmpty {
                _ = started.wait(milliseconds: nil)
                started.drain(into: &answers)
            }
            if let answer = answers.first { failure = answer }
            if failure == nil {
                return SQLiteStore(
                    path: path,
                    mailbox: mailbox,
                    thread: thread,
                    commits: commits,
                    measurements: measurements
                )
            }
            thread.join()
        } catch {
            failure = .unavailable("\(error)")
        }
        throw failure ?? .unavailable("the writer did not start")
    }

    /// Names those who are told of every changed answer, whichever program changes it.
    private static func setReceivers(_ receivers: [String], path: String) throws(StorageError) {
        let database = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 10_000)
        try database.execute("PRAGMA synchronous = FULL")
        let transaction = try SQLiteTransaction(database)
        let text = receivers.joined(separator: "\n")
        guard try transaction.meta(ChangeRecorder.receiversName) ?? "" != text else { return }
        try transaction.setMeta(ChangeRecorder.receiversName, text)
    }

    /// The policy that the rows were made with.
    ///
    /// - Throws: `.wrongSchema` when no gateway has ever run on this database.
    public static func storedPolicy(path: String) throws(StorageError) -> EntitlementPolicy {
        let database = try SQLiteDatabase(path: path, mode: .readOnly, busyMillis: 1000)
        let query = try database.prepare("SELECT value FROM meta WHERE name = ?")
        query.bind(1, Reelection.metaName)
        guard try query.step() else { throw .wrongSchema("\(path) has never been served; start the gateway once") }
        return try PolicyCoding.decode(String(decoding: query.blob(0), as: UTF8.self))
    }

    /// Hands a change to the writer. False when more wait than the database takes: nothing will happen and `reply` is never
    /// called.
    ///
    /// - Parameter bytes: What the command keeps in memory until its reply, when that may be much.
    public func submit(_ command: StoreCommand, bytes: Int = 0, _ reply: @escaping StoreReply) -> Bool {
        guard waitingWrites.enter(bytes: bytes) else { return false }
        let waitingWrites = waitingWrites
        let isTaken = mailbox.post(
            WriterMessage(command: command) { result in
                waitingWrites.leave(bytes: bytes)
                reply(result)
            }
        )
        if !isTaken { waitingWrites.leave(bytes: bytes) }
        return isTaken
    }

    /// Writes that were taken and are not answered yet.
    public var waiting: Int { waitingWrites.count }

    /// A reader for the calling thread.
    ///
    /// - Parameter keepsRows: Whether it shares the rows in memory, where the store was opened with room for them.
    public func makeReader(keepsRows: Bool = false) throws(StorageError) -> SQLiteReader {
        try SQLiteReader(path: path, commits: commits, keepsRows: keepsRows)
    }

    /// Finishes what waits, and ends the writer.
    public func close() {
        mailbox.close()
        thread.join()
    }
}
