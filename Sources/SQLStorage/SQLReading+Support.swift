package import Entitlements
package import Storage

/// The reads of administrators: not fast, whole.
extension SQLReading {
    /// Events as filtered, newest first.
    package func events(_ filter: EventFilter) throws(StorageError) -> [EventView] {
        letGo()
        var conditions: [String] = []
        if filter.outcome != nil { conditions.append("outcome = ?2") }
        if filter.provider != nil { conditions.append("provider = ?3") }
        if filter.before != nil { conditions.append("seq < ?4") }
        if filter.user != nil {
            // By what is stored with the event, and by the facts of the purchases the person owns now: an event that was
            // parked belongs to whoever its purchase was attached to since.
            conditions.append(
                """
                (user_id IN (\(Self.members("?5"))) OR seq IN (
                    SELECT event FROM fact WHERE purchase IN (
                        SELECT id FROM purchase WHERE owner IN (\(Self.members("?5"))))))
                """
            )
        }
        let filterSQL = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
        let statement = try database.prepare(
            """
            SELECT seq, provider, event_id, type, outcome, environment, user_id, occurred_at, received_at, reason
            FROM event \(filterSQL) ORDER BY seq DESC LIMIT ?1
            """
        )
        statement.bind(1, Int64(filter.limit))
        if let outcome = filter.outcome { statement.bind(2, Int64(outcome.rawValue)) }
        if let provider = filter.provider { statement.bind(3, provider.name) }
        if let before = filter.before { statement.bind(4, before) }
        if let user = filter.user { statement.bind(5, user.value) }
        var events: [EventView] = []
        while try statement.step() {
            events.append(
                EventView(
                    sequence: statement.integer(0),
                    provider: ProviderID(statement.text(1)),
                    eventID: statement.text(2),
                    type: statement.text(3),
                    outcome: EventOutcome(rawValue: UInt8(truncatingIfNeeded: statement.integer(4))) ?? .observed,
                    environment: statement.optionalInteger(5).flatMap {
                        StoreEnvironment(rawValue: UInt8(truncatingIfNeeded: $0))
                    },
                    user: statement.optionalText(6),
                    occurredAt: statement.optionalInteger(7).map(UnixMillis.init),
                    receivedAt: UnixMillis(statement.integer(8)),
                    reason: statement.optionalText(9)
                )
            )
        }
        return events
    }

    /// Changes made with keys, newest first.
    package func audit(limit: Int, before: Int64?) throws(StorageError) -> [AuditView] {
        letGo()
        let statement = try database.prepare(
            "SELECT seq, at, key_id, action, user_id, detail FROM audit WHERE seq < ? ORDER BY seq DESC LIMIT ?"
        )
        statement.bind(1, before ?? .max)
        statement.bind(2, Int64(limit))
        return try entries(statement)
    }

    /// The entries of the audit that a query finds.
    func entries(_ statement: any SQLStatement) throws(StorageError) -> [AuditView] {
        var found: [AuditView] = []
        while try statement.step() {
            found.append(
                AuditView(
                    sequence: statement.integer(0),
                    at: UnixMillis(statement.integer(1)),
                    keyID: statement.text(2),
                    action: statement.text(3),
                    user: statement.optionalText(4),
                    detail: statement.text(5)
                )
            )
        }
        return found
    }

    /// One event with its kept body; nil when it was never taken in.
    package func event(_ provider: ProviderID, _ eventID: String) throws(StorageError) -> RecordedEvent? {
        letGo()
        let statement = try database.prepare(
            "SELECT seq, outcome, received_at, payload FROM event WHERE provider = ? AND event_id = ?"
        )
        statement.bind(1, provider.name)
        statement.bind(2, eventID)
        guard try statement.step() else { return nil }
        return RecordedEvent(
            sequence: statement.integer(0),
            eventID: eventID,
            outcome: EventOutcome(rawValue: UInt8(truncatingIfNeeded: statement.integer(1))) ?? .observed,
            receivedAt: UnixMillis(statement.integer(2)),
            payload: statement.optionalBlob(3)
        )
    }

    /// All ids of the person whose id is bound at `place`, itself among them.
    private static func members(_ place: String) -> String {
        "SELECT \(place) UNION SELECT user_id FROM person WHERE person = (SELECT person FROM person WHERE user_id = \(place))"
    }

    /// All ids of the person.
    package func person(of user: UserID) throws(StorageError) -> [UserID] {
        let statement = try database.prepare(
            "SELECT user_id FROM person WHERE person = (SELECT person FROM person WHERE user_id = ?)"
        )
        statement.bind(1, user.value)
        var members: [UserID] = []
        while try statement.step() { members.append(UserID(unchecked: statement.text(0))) }
        return members.isEmpty ? [user] : members
    }

    /// What questions to providers about a person are made from.
    package func knownPerson(_ user: UserID) throws(StorageError) -> KnownPerson {
        letGo()
        var known = KnownPerson(users: try person(of: user), customers: [], purchases: [])
        let customers = try database.prepare(
            """
            SELECT DISTINCT provider, customer FROM link WHERE user_id IN (\(Self.members("?1")))
            ORDER BY provider, customer
            """
        )
        customers.bind(1, user.value)
        while try customers.step() {
            known.customers.append(CustomerID(provider: ProviderID(customers.text(0)), value: customers.text(1)))
        }
        let purchases = try database.prepare(
            "SELECT id, environment FROM purchase WHERE owner IN (\(Self.members("?1"))) ORDER BY id"
        )
        purchases.bind(1, user.value)
        while try purchases.step() {
            let ids = try identifiers(of: purchases.integer(0))
            let environment = StoreEnvironment(rawValue: UInt8(truncatingIfNeeded: purchases.integer(1))) ?? .sandbox
            known.purchases.append(.init(environment: environment, ids: ids))
        }
        return known
    }

    /// Everything that explains a person's row.
    package func user(_ user: UserID, eventsMax: Int) throws(StorageError) -> UserView {
        letGo()
        let ids = try person(of: user)
        var view = UserView(ids: ids, purchases: [], identities: [], grants: [], events: [])
        for id in ids {
            view.purchases += try purchases(of: id)
            view.identities += try identities(of: id)
            view.grants += try grants(of: id)
        }
        view.events = try events(EventFilter(user: user, limit: eventsMax))
        return view
    }

    private func purchases(of user: UserID) throws(StorageError) -> [PurchaseView] {
        let statement = try database.prepare(
            "SELECT id, environment, provider, purchase_id, owner, outcome FROM purchase WHERE owner = ? ORDER BY id"
        )
        let names = try database.prepare("SELECT value FROM external_id WHERE purchase = ? ORDER BY rank, value")
        statement.bind(1, user.value)
        var found: [PurchaseView] = []
        while try statement.step() {
            let record = try SQLTransaction.record(statement)
            names.bind(1, record.key)
            var externalIDs: [String] = []
            while try names.step() { externalIDs.append(names.text(0)) }
            names.reset()
            found.append(
                PurchaseView(
                    purchaseID: record.purchaseID,
                    environment: record.environment,
                    outcome: record.outcome,
                    provider: record.provider,
                    externalIDs: externalIDs,
                    facts: try facts(of: record.key)
                )
            )
        }
        return found
    }

    private func facts(of purchase: Int64) throws(StorageError) -> [ToldFact] {
        let statement = try database.prepare(
            """
            SELECT event.provider, event.event_id, fact.body, event.type, coalesce(event.occurred_at, event.received_at)
            FROM fact JOIN event ON event.seq = fact.event WHERE fact.purchase = ? ORDER BY fact.event, fact.place
            """
        )
        statement.bind(1, purchase)
        var found: [ToldFact] = []
        while try statement.step() {
            let (type, at) = (statement.text(3), UnixMillis(statement.integer(4)))
            let facts = try FactCoding.decode(
                statement.blob(2),
                provider: ProviderID(statement.text(0)),
                eventID: statement.text(1)
            )
            for recorded in facts { found.append(ToldFact(recorded: recorded, eventType: type, at: at)) }
        }
        return found
    }

    private func identities(of user: UserID) throws(StorageError) -> [IdentityView] {
        // A link counts while it is the newest of its customer.
        let statement = try database.prepare(
            """
            SELECT provider, external_id, at, 1 FROM claim WHERE user_id = ?1
            UNION ALL
            SELECT provider, customer, at, 0 FROM link WHERE user_id = ?1
                AND user_id = (SELECT newest.user_id FROM link AS newest
                    WHERE newest.provider = link.provider AND newest.customer = link.customer
                    ORDER BY newest.at DESC, newest.event_id DESC, newest.user_id DESC LIMIT 1)
            ORDER BY 3, 4 DESC
            """
        )
        statement.bind(1, user.value)
        var found: [IdentityView] = []
        while try statement.step() {
            let (provider, externalID) = (ProviderID(statement.text(0)), statement.text(1))
            // A claim is also a link of the same id; once is enough.
            if found.contains(where: { $0.provider == provider && $0.externalID == externalID }) { continue }
            found.append(
                IdentityView(
                    provider: provider,
                    externalID: externalID,
                    at: UnixMillis(statement.integer(2)),
                    isClaim: statement.integer(3) != 0
                )
            )
        }
        return found
    }

    func grants(of user: UserID) throws(StorageError) -> [GrantView] {
        let statement = try database.prepare(
            """
            SELECT grant_id, until, reason, entitlement, created_at, ended_at FROM manual_grant WHERE user_id = ?
            ORDER BY created_at, grant_id
            """
        )
        statement.bind(1, user.value)
        var found: [GrantView] = []
        while try statement.step() {
            found.append(
                GrantView(
                    grantID: statement.text(0),
                    until: statement.optionalInteger(1).map(UnixMillis.init),
                    reason: statement.text(2),
                    entitlement: statement.text(3),
                    createdAt: UnixMillis(statement.integer(4)),
                    endedAt: statement.optionalInteger(5).map(UnixMillis.init)
                )
            )
        }
        return found
    }
}
