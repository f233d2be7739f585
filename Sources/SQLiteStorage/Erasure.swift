internal import Entitlements
internal import Storage

/// Forgets a person (contract section 6).
///
/// What must stay for the books (events and purchases with their amounts and times) stays without the id: statements of
/// ownership, links, grants and kept payloads that lead to the person go. A purchase that still runs makes the row anew with
/// its next event.
struct Erasure {
    let database: SQLiteDatabase
    let transaction: SQLiteTransaction
    let policy: EntitlementPolicy

    func erase(_ user: UserID, at moment: UnixMillis, _ changed: inout [ChangedRow]) throws(StorageError) {
        for member in try transaction.person(of: user) { try eraseOne(member, at: moment, &changed) }
    }

    private func eraseOne(_ user: UserID, at moment: UnixMillis, _ changed: inout [ChangedRow]) throws(StorageError) {
        // Every purchase that was worked out with this id has a statement of ownership that names it.
        var purchases = Set(try transaction.dependents(of: Ownership.Dependency.user(user).node))
        for environment in StoreEnvironment.allCases {
            purchases.formUnion(try transaction.purchases(ownedBy: [user], in: environment).map(\.key))
        }
        for key in purchases.sorted() { try forgetOwner(user, of: key) }
        try run("UPDATE event SET user_id = NULL, payload = NULL WHERE user_id = ?", user.value)
        try run("UPDATE audit SET user_id = NULL WHERE user_id = ?", user.value)
        for table in ["link", "claim", "manual_grant", "person"] {
            try run("DELETE FROM \(table) WHERE user_id = ?", user.value)
        }
        try forgetTransfers(user)
        for environment in StoreEnvironment.allCases { try forgetRow(user, environment, moment, &changed) }
        // What is left of the purchases may say that somebody else is the owner now.
        var ingestion = Ingestion(policy: policy, transaction: transaction)
        var owners: Set<UserID> = []
        for key in purchases.sorted() {
            if let owner = try ingestion.recompute(key)?.after.owner { owners.insert(owner) }
        }
        _ = try ingestion.elect(owners, in: Set(StoreEnvironment.allCases), moment)
        changed += ingestion.changedRows
    }

    /// Takes the statements that name the user out of a purchase; a manual grant goes whole.
    private func forgetOwner(_ user: UserID, of key: PurchaseKey) throws(StorageError) {
        let query = try database.prepare(
            """
            SELECT fact.event, fact.place, fact.body, event.provider, event.event_id
            FROM fact JOIN event ON event.seq = fact.event WHERE fact.purchase = ?
            """
        )
        query.bind(1, key)
        var forgotten: [(event: Int64, place: Int64, rest: RecordedFact?)] = []
        var isManual = false
        while try query.step() {
            var recorded = try FactCoding.decode(
                query.blob(2),
                provider: ProviderID(query.text(3)),
                eventID: query.text(4)
            )
            isManual = isManual || recorded.provider == ManualProvider.id
            guard case .owner(var statement) = recorded.fact, statement.users.contains(user) else { continue }
            statement.users.removeAll { $0 == user }
            recorded.fact = .owner(statement)
            let isEmpty = statement.users.isEmpty
            forgotten.append((query.integer(0), query.integer(1), isEmpty ? nil : recorded))
        }
        query.reset()
        if isManual {
            for table in ["fact", "external_id", "dependency"] {
                try run("DELETE FROM \(table) WHERE purchase = ?", key)
            }
            try run("DELETE FROM purchase WHERE id = ?", key)
            return
        }
        let delete = try database.prepare("DELETE FROM fact WHERE purchase = ? AND event = ? AND place = ?")
        for entry in forgotten {
            delete.bind(1, key)
            delete.bind(2, entry.event)
            delete.bind(3, entry.place)
            try delete.run()
            if let rest = entry.rest { try transaction.add(rest, to: key, event: entry.event, place: Int(entry.place)) }
            try run("UPDATE event SET payload = NULL WHERE seq = ?", entry.event)
        }
    }

    private func forgetTransfers(_ user: UserID) throws(StorageError) {
        let query = try database.prepare("SELECT from_id, at, event_id, body FROM transfer")
        var doomed: [(from: String, at: Int64, event: String)] = []
        while try query.step() {
            let transfer = try TransferCoding.decode(
                query.blob(3),
                at: UnixMillis(query.integer(1)),
                eventID: query.text(2),
                environment: nil
            )
            guard transfer.from.users.contains(user) || transfer.to.users.contains(user) else { continue }
            doomed.append((query.text(0), query.integer(1), query.text(2)))
        }
        query.reset()
        let delete = try database.prepare("DELETE FROM transfer WHERE from_id = ? AND at = ? AND event_id = ?")
        for entry in doomed {
            delete.bind(1, entry.from)
            delete.bind(2, entry.at)
            delete.bind(3, entry.event)
            try delete.run()
        }
    }

    /// The version goes on growing: who waits for a change is told, and a row made later is newer than the erased one.
    private func forgetRow(
        _ user: UserID,
        _ environment: StoreEnvironment,
        _ moment: UnixMillis,
        _ changed: inout [ChangedRow]
    ) throws(StorageError) {
        guard try transaction.row(of: user, in: environment) != nil else { return }
        try run(
            "DELETE FROM subscription WHERE user_id = ? AND environment = \(environment.rawValue)",
            user.value
        )
        let insert = try database.prepare(
            """
            INSERT INTO erased (digest, environment, version, updated_at) VALUES (?, ?, ?, ?)
            ON CONFLICT (digest, environment) DO UPDATE SET version = excluded.version, updated_at = excluded.updated_at
            """
        )
        insert.bind(1, SQLiteTransaction.digest(of: user))
        insert.bind(2, Int64(environment.rawValue))
        insert.bind(3, try transaction.nextVersion())
        insert.bind(4, moment.value)
        try insert.run()
        transaction.hasErased = true
        changed.append(ChangedRow(user: user, environment: environment))
    }

    private func run(_ sql: String, _ value: String) throws(StorageError) {
        let statement = try database.prepare(sql)
        statement.bind(1, value)
        try statement.run()
    }

    private func run(_ sql: String, _ value: Int64) throws(StorageError) {
        let statement = try database.prepare(sql)
        statement.bind(1, value)
        try statement.run()
    }
}
