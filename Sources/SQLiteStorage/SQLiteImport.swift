package import Entitlements
package import Storage

/// Takes many events in from a program of its own, a gateway running beside it or not: short transactions, each with the
/// place in the file it has come to, so that an import that was cut off goes on where it stopped.
///
/// Belongs to the thread that made it. A commit is synced to the disk at the end only: whatever a power cut takes away is
/// read again, and no event counts twice.
package final class SQLiteImport {
    /// Events of one transaction: while nobody else writes, and while somebody does, who waits for a whole one.
    private static let (batchAlone, batchBeside) = (1000, 250)
    /// So many transactions after another program's commit are short.
    private static let shortBatches = 40

    /// Events that the next transaction should hold.
    package private(set) var batchSize = SQLiteImport.batchBeside
    private var shortLeft = SQLiteImport.shortBatches
    /// Changes when somebody else has committed (sqlite.org/pragma.html#pragma_data_version).
    private let dataVersion: Statement
    private var seenDataVersion: Int64 = 0

    private let database: SQLiteDatabase
    private let transaction: SQLiteTransaction
    private let policy: EntitlementPolicy
    private let place: String

    /// - Parameters:
    ///   - configured: What the seller has configured, for a database that was never served.
    ///   - file: Names the file, the same for the same content.
    ///   - tellsReceivers: Whether the seller's own systems are told of every answer that changes.
    package init(
        path: String,
        configured: EntitlementPolicy,
        file: String,
        tellsReceivers: Bool
    ) throws(StorageError) {
        _ = try Migrations.apply(to: path)
        database = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 30_000)
        try database.execute(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 32000;
            PRAGMA journal_size_limit = 134217728; PRAGMA cache_size = -262144; PRAGMA temp_store = MEMORY;
            """
        )
        transaction = try SQLiteTransaction(database)
        dataVersion = try database.prepare("PRAGMA data_version")
        transaction.changes.tellsReceivers = tellsReceivers
        place = "import \(file)"
        // What the rows of this database are made with, also while a gateway changes it.
        if let text = try transaction.meta(Reelection.metaName) {
            policy = (try? PolicyCoding.decode(text)) ?? configured
        } else {
            policy = configured
            try transaction.setMeta(Reelection.metaName, PolicyCoding.encode(configured))
        }
    }

    /// The last line of the file that is in the database; nil when none is.
    package func lastLine() throws(StorageError) -> Int? {
        try transaction.meta(place).flatMap { Int($0) }
    }

    /// Takes a batch in, in a transaction of its own.
    ///
    /// - Parameter line: The place in the file the batch ends at.
    /// - Returns: What became of each.
    package func take(_ events: [IncomingEvent], upTo line: Int) throws(StorageError) -> [EventOutcome] {
        try database.execute("BEGIN IMMEDIATE")
        do throws(StorageError) {
            try noticeOthers()
            // Somebody else may have written since, and given versions.
            try transaction.reload()
            var outcomes: [EventOutcome] = []
            outcomes.reserveCapacity(events.count)
            for event in events {
                var ingestion = Ingestion(policy: policy, transaction: transaction)
                outcomes.append(try ingestion.ingest(event))
            }
            try transaction.saveVersion()
            try transaction.setMeta(place, String(line))
            try database.execute("COMMIT")
            return outcomes
        } catch {
            if database.isInTransaction { try? database.execute("ROLLBACK") }
            try? transaction.reload()
            throw error
        }
    }

    /// A gateway that writes beside this import must not wait long for its own transactions.
    private func noticeOthers() throws(StorageError) {
        defer { dataVersion.reset() }
        if try dataVersion.step(), dataVersion.integer(0) != seenDataVersion {
            seenDataVersion = dataVersion.integer(0)
            shortLeft = Self.shortBatches
        } else if shortLeft > 0 {
            shortLeft -= 1
        }
        batchSize = shortLeft > 0 ? Self.batchBeside : Self.batchAlone
    }

    /// Everything is in: the file is forgotten, so that another import of it begins at its beginning, and all is synced.
    package func finish() throws(StorageError) {
        try database.execute("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")
        let delete = try database.prepare("DELETE FROM meta WHERE name = ?")
        delete.bind(1, place)
        try delete.run()
        try database.execute("COMMIT")
        database.checkpoint(truncate: true, patienceMillis: SQLiteWriter.busyMillis)
    }

    /// Which of these events a database has already; none when there is no database.
    package static func known(
        _ events: [(provider: ProviderID, eventID: String)],
        in path: String
    ) throws(StorageError) -> Int {
        let database = try SQLiteDatabase(path: path, mode: .readOnly, busyMillis: 1000)
        let query = try database.prepare("SELECT 1 FROM event WHERE provider = ? AND event_id = ?")
        var count = 0
        for event in events {
            query.bind(1, event.provider.name)
            query.bind(2, event.eventID)
            if try query.step() { count += 1 }
            query.reset()
        }
        return count
    }
}
