public import Entitlements
public import Storage

/// What is counted for whoever watches the store. The database keeps the large counts itself; the small ones have an index
/// of their own.
extension SQLiteReader {
    /// What is cheap to count, however many users there are.
    public func counts() throws(StorageError) -> StoreCounts {
        letGo()
        var counts = StoreCounts()
        let rows = try database.prepare("SELECT environment, count FROM row_count")
        while try rows.step() {
            guard let environment = StoreEnvironment(rawValue: UInt8(truncatingIfNeeded: rows.integer(0))) else {
                continue
            }
            counts.rows[environment] = Int(rows.integer(1))
        }
        // The purchase of a person who was erased waits for nobody. Compared as bytes: the mark begins with a NUL.
        let parked = try database.prepare(
            """
            SELECT count(*) FROM purchase INDEXED BY purchase_parked WHERE owner IS NULL AND NOT EXISTS (
                SELECT 1 FROM dependency WHERE dependency.purchase = purchase.id
                    AND substr(CAST(node AS BLOB), 1, ?2) = ?1)
            """
        )
        let erased = Array(Ownership.Dependency.user(UserID.erased(mark: "")).node.utf8)
        parked.bind(1, erased)
        parked.bind(2, Int64(erased.count))
        if try parked.step() { counts.parkedPurchases = Int(parked.integer(0)) }
        parked.reset()
        let events = try database.prepare(
            "SELECT outcome, count(*) FROM event INDEXED BY event_to_look_at WHERE outcome >= 5 GROUP BY outcome"
        )
        while try events.step() {
            switch EventOutcome(rawValue: UInt8(truncatingIfNeeded: events.integer(0))) {
            case .unmapped: counts.unmappedEvents = Int(events.integer(1))
            case .quarantined: counts.quarantinedEvents = Int(events.integer(1))
            default: continue
            }
        }
        counts.lastArrivals = try lastArrivals()
        counts.messages = try messageCounts()
        counts.oldestMessage = try oldestMessage()
        counts.waitingTasks = try waitingTasks()
        return counts
    }

    /// When the newest event of each provider came.
    public func lastArrivals() throws(StorageError) -> [ProviderID: UnixMillis] {
        letGo()
        let query = try database.prepare("SELECT provider, received_at FROM last_arrival")
        var arrivals: [ProviderID: UnixMillis] = [:]
        while try query.step() { arrivals[ProviderID(query.text(0))] = UnixMillis(query.integer(1)) }
        return arrivals
    }

    /// How many people have this entitlement, by the provider whose purchase gives it. Reads every row.
    ///
    /// - Parameter moment: What is live is judged at this time.
    public func activeUsers(of entitlement: String, at moment: UnixMillis) throws(StorageError) -> [ProviderID: Int] {
        letGo()
        // All ids of one person have the same row: the first of them stands for the person.
        let rows = try database.prepare(
            """
            SELECT body FROM subscription WHERE environment = 0 AND NOT EXISTS (
                SELECT 1 FROM person AS own JOIN person AS other ON other.person = own.person
                WHERE own.user_id = subscription.user_id AND other.user_id < own.user_id)
            """
        )
        defer { rows.reset() }
        var counts: [ProviderID: Int] = [:]
        while try rows.step() {
            let row = try SubscriptionRow.decode(rows.blob(0))
            guard let own = row.entitlements.first(where: { $0.name == entitlement }), own.isEntitled(at: moment) else {
                continue
            }
            counts[own.provider, default: 0] += 1
        }
        return counts
    }

    /// People with two or more live purchases that will renew: they pay twice. Goes through the index of all owners, and
    /// reads the purchases of those who have two: for a million users that takes a second, not a moment.
    ///
    /// - Parameter moment: What is live is judged at this time.
    /// - Parameter listed: So many of them are named.
    public func overlappingPeople(
        _ policy: EntitlementPolicy,
        at moment: UnixMillis,
        listed: Int = 500
    ) throws(StorageError) -> OverlappingPeople {
        letGo()
        let candidates = try database.prepare(
            """
            SELECT owner FROM purchase INDEXED BY purchase_of_owner WHERE owner IS NOT NULL AND environment = 0
                AND owner NOT IN (SELECT user_id FROM person)
            GROUP BY owner HAVING count(*) > 1
            UNION ALL
            SELECT min(person.user_id) FROM person
            JOIN purchase ON purchase.owner = person.user_id AND purchase.environment = 0
            GROUP BY person.person HAVING count(*) > 1
            """
        )
        let purchases = try database.prepare(
            """
            SELECT id, environment, provider, purchase_id, owner, outcome FROM purchase
            WHERE environment = 0 AND owner IN (SELECT ?1 UNION
                SELECT user_id FROM person WHERE person = (SELECT person FROM person WHERE user_id = ?1))
            """
        )
        var people = OverlappingPeople()
        while try candidates.step() {
            let user = candidates.text(0)
            purchases.bind(1, user)
            var found: [Candidate] = []
            var providers: [String: ProviderID] = [:]
            while try purchases.step() {
                let record = try SQLiteTransaction.record(purchases)
                guard let outcome = record.outcome else { continue }
                found.append(Candidate(purchaseID: record.purchaseID, outcome: outcome))
                providers[record.purchaseID] = record.provider
            }
            purchases.reset()
            let overlapping = policy.overlapping(found, at: moment)
            guard !overlapping.isEmpty else { continue }
            people.count += 1
            guard people.listed.count < listed else { continue }
            let live = overlapping.map { candidate in
                OverlappingPeople.Purchase(
                    purchaseID: candidate.purchaseID,
                    provider: providers[candidate.purchaseID],
                    end: policy.elect([candidate]).entitlements.compactMap(\.end).max()
                )
            }
            people.listed.append(OverlappingPeople.Person(user: user, purchases: live))
        }
        return people
    }
}
