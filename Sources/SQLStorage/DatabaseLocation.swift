package import Entitlements
package import Storage

/// What a connection is opened for.
package enum ConnectionUse: Sendable {
    case reading
    /// Changes by hand: every commit is on the disk when it returns.
    case writing
    /// Many events at once, the disk asked at the end.
    case importing
}

/// Where a database is, and how it is opened by whoever needs it.
package protocol DatabaseLocation: Sendable {
    /// For people: holds no password.
    var name: String { get }

    /// What helps when it cannot be used.
    var hint: String { get }

    /// What helps when the engine finds something wrong with it.
    var repair: String { get }

    /// What the paths of the files begin with that hold secrets of this gateway and do not belong into the database.
    var besides: String { get }

    /// False when there certainly is no database. Nothing is made by asking.
    var isThere: Bool { get }

    func connect(_ use: ConnectionUse) throws(StorageError) -> any SQLDatabase

    /// Brings the database up to date; the names of the files that were applied now.
    func migrate() throws(StorageError) -> [String]

    /// Names of the files that the database does not have yet; nothing is changed.
    func pendingMigrations() throws(StorageError) -> [String]

    /// The copy that answers reads, looked at; nil where there is none.
    func examineReplica() -> ReplicaExamination?

    /// Brings the database up to date, elects the rows anew when the configuration changed, and starts the writer.
    ///
    /// - Parameter receivers: Ids of those who are told of changed answers; nil for those who were told before.
    /// - Parameter listener: Who wants to see changes in this process.
    /// - Parameter cacheBytes: What rows in memory may take, for all readers of an engine that keeps some; 0 for none.
    /// - Parameter onChange: Called after each commit with the rows that changed.
    /// - Parameter policy: What the seller has configured; nil for what the rows were made with (commands beside a gateway).
    /// - Throws: Why the database cannot be used.
    func open(
        policy: EntitlementPolicy?,
        receivers: [String]?,
        listener: (any ChangeListener)?,
        cacheBytes: Int,
        onChange: @escaping @Sendable ([ChangedRow]) -> Void
    ) throws(StorageError) -> any Store
}

/// What was found of a copy of the database.
package struct ReplicaExamination: Sendable {
    /// For people: holds no password.
    package var name: String
    /// Why no read goes to it; nil when it is sound.
    package var problem: String?
    package var hint: String

    package init(name: String, problem: String? = nil, hint: String = "") {
        (self.name, self.problem, self.hint) = (name, problem, hint)
    }
}

extension DatabaseLocation {
    package func examineReplica() -> ReplicaExamination? { nil }

    /// A store without anyone who listens: for commands.
    package func open(policy: EntitlementPolicy?) throws(StorageError) -> any Store {
        try open(policy: policy, receivers: nil, listener: nil, cacheBytes: 0) { _ in }
    }

    /// What the writer works with from the start: the configured policy, with which the rows are elected first where they
    /// were not, or the one they were made with.
    ///
    /// - Parameter receivers: Named as those who are told of every changed answer, whichever program changes it.
    package func prepare(
        _ configured: EntitlementPolicy?,
        receivers: [String]?
    ) throws(StorageError) -> EntitlementPolicy {
        try DatabaseCopy.refuseHalfMade(try connect(.reading), name)
        if let receivers {
            let database = try connect(.writing)
            try database.beginWriting()
            let transaction = try SQLTransaction(database)
            let text = receivers.joined(separator: "\n")
            if try transaction.meta(ChangeRecorder.receiversName) ?? "" != text {
                try transaction.setMeta(ChangeRecorder.receiversName, text)
            }
            try database.commit()
        }
        guard let configured else { return try storedPolicy() }
        try Reelection(policy: configured).runIfNeeded(try connect(.writing))
        return configured
    }

    /// The policy that the rows were made with.
    ///
    /// - Throws: `.wrongSchema` when no gateway has ever run on this database.
    package func storedPolicy() throws(StorageError) -> EntitlementPolicy {
        let query = try connect(.reading).prepare("SELECT value FROM meta WHERE name = ?")
        query.bind(1, Reelection.metaName)
        guard try query.step() else { throw .wrongSchema("\(name) has never been served; start the gateway once") }
        return try PolicyCoding.decode(String(decoding: query.blob(0), as: UTF8.self))
    }

    /// `rebuild`: works everything out from the stored facts. With `checkOnly` nothing is written.
    package func rebuild(
        policy: EntitlementPolicy,
        now: UnixMillis,
        checkOnly: Bool
    ) throws(StorageError) -> RebuildReport {
        _ = try migrate()
        let database = try connect(checkOnly ? .reading : .writing)
        let rebuild = Rebuild(database: database, transaction: try SQLTransaction(database), policy: policy)
        return checkOnly ? try rebuild.check() : try rebuild.run(now: now)
    }
}

/// A database at work: one writer thread, and a connection for every thread that reads.
package protocol Store: Sendable {
    /// For people: holds no password.
    var name: String { get }

    /// What the writer tells of its work.
    var measurements: WriterMeasurements { get }

    /// Writes that were taken and are not answered yet.
    var waiting: Int { get }

    /// Whether this process does the work that only one of several is to do: asks providers again, sends what is to be told.
    var hasLease: Bool { get }

    /// Bytes of the files of the database; empty where they are not on this machine.
    var files: [(file: String, bytes: Int)] { get }

    /// What is known of a copy of the database that answers reads; nil where there is none.
    var replica: ReplicaMeasurements? { get }

    /// Hands a change to the writer. False when more wait than the database takes: nothing will happen and `reply` is never
    /// called.
    ///
    /// - Parameter bytes: What the command keeps in memory until its reply, when that may be much.
    func submit(_ command: StoreCommand, bytes: Int, _ reply: @escaping StoreReply) -> Bool

    /// A reader for the calling thread, which may wait for its answers.
    func makeReader() throws(StorageError) -> any SQLReading

    /// Finishes what waits, and ends the writer.
    func close()
}

extension Store {
    package var replica: ReplicaMeasurements? { nil }

    package func submit(_ command: StoreCommand, _ reply: @escaping StoreReply) -> Bool {
        submit(command, bytes: 0, reply)
    }
}
