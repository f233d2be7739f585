package import Entitlements
package import Storage

/// Takes many events in from a program of its own, a gateway running beside it or not: short transactions, each with the
/// place in the file it has come to, so that an import that was cut off goes on where it stopped.
///
/// Belongs to the thread that made it. A commit is synced to the disk at the end only: whatever a power cut takes away is
/// read again, and no event counts twice.
package final class EventImport {
    /// Events of one transaction: while nobody else writes, and while somebody does, who waits for a whole one.
    private static let (batchAlone, batchBeside) = (1000, 250)
    /// So many transactions after another program's commit are short.
    private static let shortBatches = 40

    /// Events that the next transaction should hold.
    package private(set) var batchSize = EventImport.batchBeside
    private var shortLeft = EventImport.shortBatches
    /// The database's mark when this was asked last.
    private var seenMark: Int64?

    private let database: any SQLDatabase
    private let transaction: SQLTransaction
    private let policy: EntitlementPolicy
    private let place: String

    /// - Parameters:
    ///   - configured: What the seller has configured, for a database that was never served.
    ///   - file: Names the file, the same for the same content.
    ///   - tellsReceivers: Whether the seller's own systems are told of every answer that changes.
    package init(
        _ location: any DatabaseLocation,
        configured: EntitlementPolicy,
        file: String,
        tellsReceivers: Bool
    ) throws(StorageError) {
        _ = try location.migrate()
        database = try location.connect(.importing)
        transaction = try SQLTransaction(database)
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
        try database.beginWriting()
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
            if try transaction.saveCounters() { try database.tellOthers() }
            try transaction.setMeta(place, String(line))
            try database.commit()
            return outcomes
        } catch {
            database.rollback()
            try? transaction.reload()
            throw error
        }
    }

    /// A gateway that writes beside this import must not wait long for its own transactions.
    private func noticeOthers() throws(StorageError) {
        let mark = try database.commitMark()
        if mark == nil || mark != seenMark {
            seenMark = mark
            shortLeft = Self.shortBatches
        } else if shortLeft > 0 {
            shortLeft -= 1
        }
        batchSize = shortLeft > 0 ? Self.batchBeside : Self.batchAlone
    }

    /// Everything is in: the file is forgotten, so that another import of it begins at its beginning, and all is synced.
    package func finish() throws(StorageError) {
        try database.endImport()
        try database.beginWriting()
        let delete = try database.prepare("DELETE FROM meta WHERE name = ?")
        delete.bind(1, place)
        try delete.run()
        try database.commit()
        database.settle()
    }

    /// Which of these events a database has already; none when there is no database.
    package static func known(
        _ events: [(provider: ProviderID, eventID: String)],
        in location: any DatabaseLocation
    ) throws(StorageError) -> Int {
        let database = try location.connect(.reading)
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
