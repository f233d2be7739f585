internal import Crypto
internal import Entitlements
internal import Storage

/// Forgets a person (contract section 6).
///
/// What must stay for the books (events and purchases with their amounts and times) stays without the id. Statements of
/// ownership, links and transfers keep their place in time with a mark in place of the person, because what they say of
/// others (who had it next) still holds; claims, grants and kept payloads go. A purchase that still runs makes the row anew
/// with its next event that names the person.
struct Erasure {
    let database: any SQLDatabase
    let transaction: SQLTransaction
    let policy: EntitlementPolicy

    func erase(_ user: UserID, at moment: UnixMillis, _ changed: inout [ChangedRow]) throws(StorageError) {
        let mark = UserID.erased(mark: Hex.encode(RandomBytes.make(12)))
        for member in try transaction.person(of: user) { try eraseOne(member, mark, at: moment, &changed) }
    }

    private func eraseOne(
        _ user: UserID,
        _ mark: UserID,
        at moment: UnixMillis,
        _ changed: inout [ChangedRow]
    ) throws(StorageError) {
        // Every purchase with a statement that names this id depends on it.
        var purchases = Set(try transaction.dependents(of: Ownership.Dependency.user(user).node))
        for environment in StoreEnvironment.allCases {
            purchases.formUnion(try transaction.purchases(ownedBy: [user], in: environment).map(\.key))
        }
        var remaining: [PurchaseKey] = []
        for key in purchases.sorted() where try !forget(user, mark, in: key) { remaining.append(key) }
        try run("UPDATE event SET user_id = NULL, payload = NULL WHERE user_id = ?", user.value)
        try forgetPayloads(user)
        try run("UPDATE audit SET user_id = NULL, detail = '' WHERE user_id = ?", user.value)
        // The id may also stand where a provider's own id of the person is kept.
        for (table, column) in [
            ("claim", "user_id"), ("claim", "external_id"), ("link", "customer"), ("manual_grant", "user_id"),
            ("person", "user_id"),
        ] {
            try run("DELETE FROM \(table) WHERE \(column) = ?", user.value)
        }
        // Two ids of the person may be linked to one customer: they become one mark.
        try run(
            """
            DELETE FROM link WHERE user_id = ?2 AND EXISTS (SELECT 1 FROM link AS former WHERE former.user_id = ?1
                AND former.provider = link.provider AND former.customer = link.customer)
            """,
            user.value,
            mark.value
        )
        try run("UPDATE link SET user_id = ?2 WHERE user_id = ?1", user.value, mark.value)
        try forgetLicenses(user)
        try forgetTransfers(user, mark)
        try forgetWhatIsTold(user)
        // Whoever waits for news of the person gets the last of it only.
        try run("DELETE FROM outbox WHERE user_id = ?", user.value)
        // A look at everyone that was cut off just behind this person begins anew.
        let place = StoreMemory.reconcilePlace.rawValue
        if let text = try transaction.meta(place),
            text.utf8.reversed().starts(with: " user \(user.value)".utf8.reversed())
        {
            try transaction.setMeta(place, nil)
        }
        for environment in StoreEnvironment.allCases { try forgetRow(user, environment, moment, &changed) }
        var ingestion = Ingestion(policy: policy, transaction: transaction)
        _ = try ingestion.recomputeAll(remaining, moment, except: user)
        changed += ingestion.changedRows
    }

    /// Puts the mark in place of the user in the statements of a purchase. True for a manual grant, which goes whole.
    private func forget(_ user: UserID, _ mark: UserID, in key: PurchaseKey) throws(StorageError) -> Bool {
        if try transaction.facts(of: key).contains(where: { $0.provider == ManualProvider.id }) {
            for table in ["fact", "mention", "external_id", "dependency"] {
                try run("DELETE FROM \(table) WHERE purchase = ?", key)
            }
            try run("DELETE FROM purchase WHERE id = ?", key)
            return true
        }
        try AddressPurge(database: database, transaction: transaction).forget(in: key)
        let marked = try StoredFacts(database).change(of: key) { recorded in
            guard case .owner(var statement) = recorded.fact, statement.users.contains(user) else { return recorded }
            statement.users = statement.users.map { $0 == user ? mark : $0 }
            var recorded = recorded
            recorded.fact = .owner(statement)
            return recorded
        }
        for event in marked { try run("UPDATE event SET payload = NULL WHERE seq = ?", event) }
        return false
    }

    /// Kept payloads of events that were not understood, or whose product is not mapped, may name the person anywhere.
    private func forgetPayloads(_ user: UserID) throws(StorageError) {
        let query = try database.prepare("SELECT seq, payload FROM event WHERE payload IS NOT NULL")
        var naming: [Int64] = []
        while try query.step() {
            if KeptPayload.names(user, in: query.blob(1)) { naming.append(query.integer(0)) }
        }
        query.reset()
        for event in naming { try run("UPDATE event SET payload = NULL WHERE seq = ?", event) }
    }

    /// What a provider was to be told of the person; tokens of accounts are written in lower case.
    private func forgetWhatIsTold(_ user: UserID) throws(StorageError) {
        let token = user.value.lowercased()
        let query = try database.prepare("SELECT id, body FROM provider_task WHERE kind = ?")
        query.bind(1, ProviderTask.Kind.tell.rawValue)
        var naming: [Int64] = []
        while try query.step() {
            if String(decoding: query.blob(1), as: UTF8.self).contains(token) { naming.append(query.integer(0)) }
        }
        query.reset()
        for task in naming { try run("DELETE FROM provider_task WHERE id = ?", task) }
    }

    /// Licences with their devices, which people name after themselves. A licence that came with a purchase is made anew with
    /// the next event that names somebody.
    private func forgetLicenses(_ user: UserID) throws(StorageError) {
        for table in ["seat", "seat_freed"] {
            try run("DELETE FROM \(table) WHERE license IN (SELECT id FROM license WHERE user_id = ?)", user.value)
        }
        try run("DELETE FROM license WHERE user_id = ?", user.value)
    }

    private func forgetTransfers(_ user: UserID, _ mark: UserID) throws(StorageError) {
        let query = try database.prepare("SELECT from_id, at, event_id, environment, body FROM transfer")
        var found: [(from: String, transfer: Transfer)] = []
        while try query.step() {
            let environment = query.optionalInteger(3).flatMap {
                StoreEnvironment(rawValue: UInt8(truncatingIfNeeded: $0))
            }
            let transfer = try TransferCoding.decode(
                query.blob(4),
                at: UnixMillis(query.integer(1)),
                eventID: query.text(2),
                environment: environment
            )
            guard transfer.from.users.contains(user) || transfer.to.users.contains(user) else { continue }
            found.append((query.text(0), transfer))
        }
        query.reset()
        let delete = try database.prepare("DELETE FROM transfer WHERE from_id = ? AND at = ? AND event_id = ?")
        for entry in found {
            delete.bind(1, entry.from)
            delete.bind(2, entry.transfer.at.value)
            delete.bind(3, entry.transfer.eventID)
            try delete.run()
        }
        for entry in found {
            var transfer = entry.transfer
            transfer.from.users = transfer.from.users.map { $0 == user ? mark : $0 }
            transfer.to.users = transfer.to.users.map { $0 == user ? mark : $0 }
            try transaction.add(transfer)
        }
    }

    /// The version goes on growing: who waits for a change is told, and a row made later is newer than the erased one.
    private func forgetRow(
        _ user: UserID,
        _ environment: StoreEnvironment,
        _ moment: UnixMillis,
        _ changed: inout [ChangedRow]
    ) throws(StorageError) {
        guard let row = try transaction.row(of: user, in: environment) else { return }
        // A turn of the clock that nobody was told of yet goes into the last message.
        var before = row.judged
        before.moment = max(moment, row.judgedAt)
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
        insert.bind(1, SQLTransaction.digest(of: user))
        insert.bind(2, Int64(environment.rawValue))
        let version = try transaction.nextVersion()
        insert.bind(3, version)
        insert.bind(4, moment.value)
        try insert.run()
        transaction.hasErased = true
        try transaction.changes.record(
            version,
            user,
            environment,
            from: before,
            to: .nothing(version: version, updatedAt: moment, at: before.moment),
            isLast: true
        )
        changed.append(ChangedRow(user: user, environment: environment))
    }

    private func run(_ sql: String, _ value: String, _ other: String? = nil) throws(StorageError) {
        let statement = try database.prepare(sql)
        statement.bind(1, value)
        if let other { statement.bind(2, other) }
        try statement.run()
    }

    private func run(_ sql: String, _ value: Int64) throws(StorageError) {
        let statement = try database.prepare(sql)
        statement.bind(1, value)
        try statement.run()
    }
}
