public import Entitlements
public import Storage

/// Works every purchase and every row out from the stored facts, and counts what was different.
struct Rebuild {
    let database: SQLiteDatabase
    let transaction: SQLiteTransaction
    let policy: EntitlementPolicy

    static let batchMax = 1000

    /// Writes what is different. Resumable: each batch is a transaction of its own, and working out twice changes nothing.
    func run(now: UnixMillis) throws(StorageError) -> RebuildReport {
        var report = RebuildReport()
        var last: Int64 = 0
        while true {
            let keys = try purchases(after: last)
            guard let end = keys.last else { break }
            report.purchases += keys.count
            try write(&report) { ingestion throws(StorageError) in _ = try ingestion.recomputeAll(keys, now) }
            last = end
        }
        // A row that nobody's purchase stands behind is elected too, and becomes empty.
        var user = ""
        while true {
            let people = try users(after: user)
            guard let end = people.last else { return report }
            try write(&report) { ingestion throws(StorageError) in
                _ = try ingestion.elect(Set(people), in: Set(StoreEnvironment.allCases), now)
            }
            user = end.value
        }
    }

    /// One batch in a transaction of its own.
    private func write(
        _ report: inout RebuildReport,
        _ body: (inout Ingestion<SQLiteTransaction>) throws(StorageError) -> Void
    ) throws(StorageError) {
        try database.execute("BEGIN IMMEDIATE")
        do throws(StorageError) {
            var ingestion = Ingestion(policy: policy, transaction: transaction)
            try body(&ingestion)
            report.changed += ingestion.changedRows.count
            try transaction.saveVersion()
            try database.execute("COMMIT")
        } catch {
            try? database.execute("ROLLBACK")
            try? transaction.reload()
            throw error
        }
    }

    /// Changes nothing; every difference is told.
    func check() throws(StorageError) -> RebuildReport {
        var report = RebuildReport()
        try database.execute("BEGIN IMMEDIATE")
        defer { try? database.execute("ROLLBACK") }
        let ingestion = Ingestion(policy: policy, transaction: transaction)
        var last: Int64 = 0
        while true {
            let keys = try purchases(after: last)
            guard let end = keys.last else { break }
            for key in keys {
                report.purchases += 1
                guard let change = try ingestion.recompute(key), let before = change.before, before != change.after
                else {
                    continue
                }
                report.differences.append("purchase \(before.purchaseID) of \(before.provider.name)")
            }
            last = end
        }
        // Rows of everyone who has one or should have one.
        let users = try database.prepare(
            """
            SELECT user_id FROM subscription UNION SELECT user_id FROM person
            UNION SELECT owner FROM purchase WHERE owner IS NOT NULL
            """
        )
        var people: [UserID] = []
        while try users.step() { people.append(UserID(unchecked: users.text(0))) }
        users.reset()
        for user in people {
            report.rows += 1
            for environment in StoreEnvironment.allCases {
                let members = try transaction.person(of: user)
                let body = SubscriptionRow.encode(try ingestion.subscription(of: members, in: environment))
                let stored =
                    try transaction.row(of: user, in: environment)?.body ?? SubscriptionRow.encode(Subscription())
                if body != stored { report.differences.append("row of \(user.value) in \(environment.name)") }
            }
        }
        return report
    }

    private func users(after last: String) throws(StorageError) -> [UserID] {
        let query = try database.prepare(
            "SELECT DISTINCT user_id FROM subscription WHERE user_id > ? ORDER BY user_id LIMIT ?"
        )
        query.bind(1, last)
        query.bind(2, Int64(Self.batchMax))
        var found: [UserID] = []
        while try query.step() { found.append(UserID(unchecked: query.text(0))) }
        query.reset()
        return found
    }

    private func purchases(after last: Int64) throws(StorageError) -> [Int64] {
        let query = try database.prepare("SELECT id FROM purchase WHERE id > ? ORDER BY id LIMIT ?")
        query.bind(1, last)
        query.bind(2, Int64(Self.batchMax))
        var keys: [Int64] = []
        while try query.step() { keys.append(query.integer(0)) }
        query.reset()
        return keys
    }
}

/// What working everything out again came to.
public struct RebuildReport: Sendable {
    public var purchases = 0
    public var rows = 0
    public var changed = 0
    /// What was not as the facts say, in words.
    public var differences: [String] = []
}

extension SQLiteStore {
    /// `rebuild`: works everything out from the stored facts. With `checkOnly` nothing is written.
    public static func rebuild(
        path: String,
        policy: EntitlementPolicy,
        now: UnixMillis,
        checkOnly: Bool
    ) throws(StorageError) -> RebuildReport {
        _ = try Migrations.apply(to: path)
        let database = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 10_000)
        try database.execute("PRAGMA synchronous = FULL")
        let rebuild = Rebuild(database: database, transaction: try SQLiteTransaction(database), policy: policy)
        return checkOnly ? try rebuild.check() : try rebuild.run(now: now)
    }
}
