internal import Entitlements
internal import Storage

/// Works every purchase and every row out from the stored facts, and counts what was different.
struct Rebuild {
    let database: any SQLDatabase
    let transaction: SQLTransaction
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
            try write(&report) { ingestion throws(StorageError) in
                for key in keys { try divide(key, &ingestion, now) }
                _ = try ingestion.recomputeAll(keys, now)
            }
            last = end
        }
        // A row that nobody's purchase stands behind is elected too, and becomes empty.
        var user = ""
        while true {
            let people = try users(after: user)
            guard let end = people.last else { return report }
            try write(&report) { ingestion throws(StorageError) in
                _ = try ingestion.elect(Set(people), in: Set(StoreEnvironment.allCases), now)
                for user in people { try mendTurns(of: user) }
            }
            user = end.value
        }
    }

    /// One batch in a transaction of its own.
    private func write(
        _ report: inout RebuildReport,
        _ body: (inout Ingestion<SQLTransaction>) throws(StorageError) -> Void
    ) throws(StorageError) {
        try database.beginWriting()
        do throws(StorageError) {
            // Somebody else may have written since, and given versions.
            try transaction.reload()
            var ingestion = Ingestion(policy: policy, transaction: transaction)
            try body(&ingestion)
            report.changed += ingestion.changedRows.count
            if try transaction.saveCounters() { try database.tellOthers() }
            try database.commit()
        } catch {
            database.rollback()
            try? transaction.reload()
            throw error
        }
    }

    // MARK: - Looking only

    /// Changes nothing, and holds nobody up; every difference is told.
    ///
    /// A purchase and a row can be judged by themselves, so every batch has a snapshot of its own: a long look keeps neither
    /// the writer waiting nor the log of writes from being begun anew.
    func check() throws(StorageError) -> RebuildReport {
        var report = RebuildReport()
        let ingestion = Ingestion(policy: policy, transaction: transaction)
        var last: Int64 = 0
        while true {
            let end = try read { () throws(StorageError) -> Int64? in
                let keys = try purchases(after: last)
                for key in keys { try check(key, ingestion, &report) }
                return keys.last
            }
            guard let end else { break }
            last = end
        }
        var user = ""
        while true {
            let end = try read { () throws(StorageError) -> UserID? in
                let people = try everyone(after: user)
                for user in people { try check(user, ingestion, &report) }
                return people.last
            }
            guard let end else { return report }
            user = end.value
        }
    }

    private func read<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        try database.beginReading()
        // Nothing was written: ending a read cannot fail in a way that matters.
        defer { try? database.commit() }
        // Somebody may have written since the last snapshot.
        try transaction.reload()
        return try body()
    }

    private func check(
        _ key: PurchaseKey,
        _ ingestion: Ingestion<SQLTransaction>,
        _ report: inout RebuildReport
    ) throws(StorageError) {
        report.purchases += 1
        guard let (change, nodes) = try ingestion.workOut(key) else { return }
        let name = "purchase \(change.after.purchaseID) of \(change.after.provider.name)"
        if let before = change.before, before != change.after {
            report.differences.append("purchase \(before.purchaseID) of \(before.provider.name)")
        }
        if try dependencies(of: key) != nodes { report.differences.append("what the owner of \(name) follows from") }
        let together = try neighbours(of: key)
        // Those that share ids are looked at once, with the first of them.
        if together.first == key, try !ingestion.isDividedRightly(together) {
            report.differences.append("the ids of \(name)")
        }
    }

    private func check(
        _ user: UserID,
        _ ingestion: Ingestion<SQLTransaction>,
        _ report: inout RebuildReport
    ) throws(StorageError) {
        report.rows += 1
        for environment in StoreEnvironment.allCases {
            let members = try transaction.person(of: user)
            let body = SubscriptionRow.encode(try ingestion.subscription(of: members, in: environment))
            let stored = try transaction.row(of: user, in: environment)
            if body != stored?.body ?? SubscriptionRow.encode(Subscription()) {
                report.differences.append("row of \(user.value) in \(environment.name)")
            }
            if let stored, !hasRightTurn(stored) {
                report.differences.append("next turn of \(user.value) in \(environment.name)")
            }
        }
    }

    // MARK: - Ids

    /// The purchases that share ids with this one, itself among them, ascending.
    private func neighbours(of key: PurchaseKey) throws(StorageError) -> [PurchaseKey] {
        let contested = try transaction.contested(with: key)
        return contested.isEmpty ? [key] : contested.sorted()
    }

    private func dependencies(of key: PurchaseKey) throws(StorageError) -> Set<String> {
        let query = transaction.sql.dependencies
        query.bind(1, key)
        defer { query.reset() }
        var nodes: Set<String> = []
        while try query.step() { nodes.insert(query.text(0)) }
        return nodes
    }

    /// Puts ids back where what was said of the purchases asks for them.
    private func divide(
        _ key: PurchaseKey,
        _ ingestion: inout Ingestion<SQLTransaction>,
        _ now: UnixMillis
    ) throws(StorageError) {
        var together = Set(try neighbours(of: key))
        guard let environment = try transaction.record(of: key)?.environment,
            try !ingestion.isDividedRightly(together.sorted())
        else { return }
        // Whoever holds an id that they name must give it back.
        var said: Set<ExternalID> = []
        var left = together
        while let next = left.popFirst() {
            for mention in try transaction.mentions(of: next) {
                for identifier in mention.ids where said.insert(identifier.id).inserted {
                    guard let holder = try transaction.purchase(known: identifier.id, in: environment) else { continue }
                    for other in try neighbours(of: holder) where together.insert(other).inserted { left.insert(other) }
                }
            }
        }
        let forget = try database.prepare(
            "DELETE FROM external_id WHERE environment = ? AND namespace = ? AND value = ?"
        )
        for other in together {
            for identifier in try transaction.identifiers(of: other) {
                forget.bind(1, Int64(environment.rawValue))
                forget.bind(2, identifier.id.namespace)
                forget.bind(3, identifier.id.value)
                try forget.run()
            }
        }
        try ingestion.divideAnew(together.sorted(), in: environment, now)
    }

    // MARK: - Turns

    /// Zero is a row from before turns were kept: the writer works it out when it comes to it.
    private func hasRightTurn(_ row: RowRecord) -> Bool {
        row.turnsAt?.value == 0 || row.turnsAt == RowClock.nextTurn(of: row.body, after: row.judgedAt)
    }

    private func mendTurns(of user: UserID) throws(StorageError) {
        for environment in StoreEnvironment.allCases {
            guard let row = try transaction.row(of: user, in: environment), !hasRightTurn(row) else { continue }
            let update = try database.prepare(
                "UPDATE subscription SET turns_at = ? WHERE user_id = ? AND environment = ?"
            )
            update.bind(1, RowClock.nextTurn(of: row.body, after: row.judgedAt)?.value)
            update.bind(2, user.value)
            update.bind(3, Int64(environment.rawValue))
            try update.run()
        }
    }

    // MARK: - Batches

    private func users(after last: String) throws(StorageError) -> [UserID] {
        try people("SELECT DISTINCT user_id FROM subscription WHERE user_id > ?1 ORDER BY user_id LIMIT ?2", last)
    }

    /// Everyone who has a row or should have one.
    private func everyone(after last: String) throws(StorageError) -> [UserID] {
        try people(
            """
            SELECT user_id FROM (SELECT DISTINCT user_id FROM subscription WHERE user_id > ?1 ORDER BY 1 LIMIT ?2) AS rows
            UNION SELECT user_id FROM (SELECT user_id FROM person WHERE user_id > ?1 ORDER BY 1 LIMIT ?2) AS people
            UNION SELECT owner FROM (SELECT DISTINCT owner FROM purchase WHERE owner > ?1 ORDER BY 1 LIMIT ?2) AS owners
            ORDER BY 1 LIMIT ?2
            """,
            last
        )
    }

    private func people(_ sql: String, _ last: String) throws(StorageError) -> [UserID] {
        let query = try database.prepare(sql)
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
package struct RebuildReport: Sendable {
    package var purchases = 0
    package var rows = 0
    package var changed = 0
    /// What was not as the facts say, in words.
    package var differences: [String] = []
}
