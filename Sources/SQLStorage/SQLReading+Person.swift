package import Entitlements
package import Storage

/// A purchase with everything that was said of it.
package struct KeptPurchase: Sendable {
    package var purchaseID: String
    package var provider: ProviderID
    package var environment: StoreEnvironment
    package var owner: UserID?
    package var ids: [ExternalID]
    package var facts: [RecordedFact]
}

/// An event with the body that is kept of it.
package struct KeptEvent: Sendable {
    package var view: EventView
    package var payload: [UInt8]?
}

/// Everything that is kept about one id of a person.
package struct KeptRecords: Sendable {
    package var purchases: [KeptPurchase] = []
    package var events: [KeptEvent] = []
    /// Statements that a provider's id is the user's.
    package var identities: [IdentityView] = []
    package var grants: [GrantView] = []
    package var transfers: [Transfer] = []
    package var audit: [AuditView] = []
    package var messages: [OutboxMessage] = []

    package init() {}
}

/// The read of someone's right to see what is kept about them: not fast, whole.
extension SQLReading {
    package func kept(of user: UserID) throws(StorageError) -> KeptRecords {
        letGo()
        var records = KeptRecords()
        records.purchases = try keptPurchases(of: user)
        records.events = try keptEvents(of: user)
        records.identities = try keptIdentities(of: user)
        records.grants = try grants(of: user)
        records.transfers = try keptTransfers(of: user)
        records.audit = try keptAudit(of: user)
        records.messages = try messages(of: user)
        return records
    }

    /// Purchases the user owns, and those of which somebody once said that they were the user's.
    private func keptPurchases(of user: UserID) throws(StorageError) -> [KeptPurchase] {
        let query = try database.prepare(
            """
            SELECT id, environment, provider, purchase_id, owner, outcome FROM purchase WHERE owner = ?1
                OR id IN (SELECT purchase FROM dependency WHERE node = ?2) ORDER BY id
            """
        )
        let names = try database.prepare(
            "SELECT namespace, value FROM external_id WHERE purchase = ? ORDER BY rank, value"
        )
        query.bind(1, user.value)
        query.bind(2, Ownership.Dependency.user(user).node)
        var found: [KeptPurchase] = []
        while try query.step() {
            let record = try SQLTransaction.record(query)
            var kept = KeptPurchase(
                purchaseID: record.purchaseID,
                provider: record.provider,
                environment: record.environment,
                owner: record.owner,
                ids: [],
                facts: []
            )
            names.bind(1, record.key)
            while try names.step() {
                kept.ids.append(ExternalID(namespace: names.text(0), value: names.text(1)))
            }
            names.reset()
            kept.facts = try recordedFacts(of: record.key)
            found.append(kept)
        }
        return found
    }

    /// Events that are the person's, and every kept payload that names the user anywhere.
    private func keptEvents(of user: UserID) throws(StorageError) -> [KeptEvent] {
        var events: [Int64: KeptEvent] = [:]
        for view in try self.events(EventFilter(user: user, limit: .max)) {
            events[view.sequence] = KeptEvent(view: view, payload: nil)
        }
        let query = try database.prepare("SELECT seq, payload FROM event WHERE payload IS NOT NULL")
        while try query.step() {
            let (sequence, payload) = (query.integer(0), query.blob(1))
            if events[sequence] != nil {
                events[sequence]?.payload = payload
            } else if KeptPayload.names(user, in: payload),
                let view = try self.events(EventFilter(limit: 1, before: sequence + 1)).first
            {
                events[sequence] = KeptEvent(view: view, payload: payload)
            }
        }
        return events.values.sorted { $0.view.sequence < $1.view.sequence }
    }

    private func keptIdentities(of user: UserID) throws(StorageError) -> [IdentityView] {
        let query = try database.prepare(
            """
            SELECT provider, external_id, at, 1 FROM claim WHERE user_id = ?1
            UNION ALL SELECT provider, customer, at, 0 FROM link WHERE user_id = ?1 ORDER BY 3, 4 DESC
            """
        )
        query.bind(1, user.value)
        var found: [IdentityView] = []
        while try query.step() {
            found.append(
                IdentityView(
                    provider: ProviderID(query.text(0)),
                    externalID: query.text(1),
                    at: UnixMillis(query.integer(2)),
                    isClaim: query.integer(3) != 0
                )
            )
        }
        return found
    }

    private func keptTransfers(of user: UserID) throws(StorageError) -> [Transfer] {
        let query = try database.prepare("SELECT at, event_id, environment, body FROM transfer")
        var found: [Transfer] = []
        while try query.step() {
            let transfer = try TransferCoding.decode(
                query.blob(3),
                at: UnixMillis(query.integer(0)),
                eventID: query.text(1),
                environment: query.optionalInteger(2).flatMap {
                    StoreEnvironment(rawValue: UInt8(truncatingIfNeeded: $0))
                }
            )
            let isOfUser = transfer.from.users.contains(user) || transfer.to.users.contains(user)
            if isOfUser, !found.contains(transfer) { found.append(transfer) }
        }
        return found
    }

    private func keptAudit(of user: UserID) throws(StorageError) -> [AuditView] {
        let query = try database.prepare(
            "SELECT seq, at, key_id, action, user_id, detail FROM audit WHERE user_id = ? ORDER BY seq"
        )
        query.bind(1, user.value)
        return try entries(query)
    }
}
