package import Entitlements
package import Storage

/// Somebody, or something, that providers are to be asked about.
package enum SweepSubject: Hashable, Sendable {
    case user(UserID)
    /// A purchase that nobody is known to own.
    case parked(PurchaseKey)
}

/// Whom a look at everyone has to look at.
extension SQLReading {
    /// What is kept under a name of the gateway's own.
    package func remembered(_ memory: StoreMemory) throws(StorageError) -> String? {
        letGo()
        let query = try database.prepare("SELECT value FROM meta WHERE name = ?")
        query.bind(1, memory.rawValue)
        return try query.step() ? String(decoding: query.blob(0), as: UTF8.self) : nil
    }

    /// How many people own a purchase, and how many purchases nobody owns.
    package func sweepSize() throws(StorageError) -> Int {
        letGo()
        let owners = try database.integer("SELECT count(DISTINCT owner) FROM purchase WHERE owner IS NOT NULL")
        return Int(owners + (try database.integer("SELECT count(*) FROM purchase WHERE owner IS NULL")))
    }

    /// The next people who own a purchase, in the order of their ids, and who of them must be looked at: those with a
    /// purchase that a provider may still change.
    ///
    /// - Parameters:
    ///   - since: What ended before is over.
    ///   - includesLifetime: Also those who have bought for good only.
    package func sweptUsers(
        after user: String,
        limit: Int,
        since: UnixMillis,
        includesLifetime: Bool
    ) throws(StorageError) -> (passed: [UserID], chosen: [UserID]) {
        letGo()
        let owners = try database.prepare(
            "SELECT DISTINCT owner FROM purchase WHERE owner > ? ORDER BY owner LIMIT ?"
        )
        let purchases = try database.prepare("SELECT provider, outcome FROM purchase WHERE owner = ?")
        owners.bind(1, user)
        owners.bind(2, Int64(limit))
        var (passed, chosen): ([UserID], [UserID]) = ([], [])
        while try owners.step() {
            let owner = UserID(unchecked: owners.text(0))
            passed.append(owner)
            purchases.bind(1, owner.value)
            var isChosen = false
            while !isChosen {
                guard try purchases.step() else { break }
                isChosen = try Self.mayChange(purchases, provider: 0, outcome: 1, since, includesLifetime)
            }
            purchases.reset()
            if isChosen { chosen.append(owner) }
        }
        return (passed, chosen)
    }

    /// The next purchases that nobody owns and that are not those of somebody who was erased.
    package func sweptParked(
        after key: PurchaseKey,
        limit: Int,
        since: UnixMillis
    ) throws(StorageError) -> (passed: [PurchaseKey], chosen: [PurchaseKey]) {
        letGo()
        let query = try database.prepare(
            """
            SELECT id, provider, outcome, EXISTS (SELECT 1 FROM dependency WHERE dependency.purchase = purchase.id
                AND node >= ?3 AND node < ?4)
            FROM purchase WHERE owner IS NULL AND id > ?1 ORDER BY id LIMIT ?2
            """
        )
        query.bind(1, key)
        query.bind(2, Int64(limit))
        query.bind(3, ErasedNodes.first)
        query.bind(4, ErasedNodes.end)
        var (passed, chosen): ([PurchaseKey], [PurchaseKey]) = ([], [])
        while try query.step() {
            let key = query.integer(0)
            passed.append(key)
            guard query.integer(3) == 0 else { continue }
            // One that was bought for good waits for its owner for good.
            if try Self.mayChange(query, provider: 1, outcome: 2, since, true) { chosen.append(key) }
        }
        return (passed, chosen)
    }

    private static func mayChange(
        _ row: any SQLStatement,
        provider: Int32,
        outcome: Int32,
        _ since: UnixMillis,
        _ includesLifetime: Bool
    ) throws(StorageError) -> Bool {
        guard row.text(provider) != ManualProvider.id.name, let bytes = row.optionalBlob(outcome) else { return false }
        return try OutcomeCoding.decode(bytes).lines.contains { line in
            // A pause ends when the provider says so, however long it has been.
            line.ended == .paused || line.live == .paused || line.end.map { $0 > since } ?? includesLifetime
        }
    }

    /// What questions to providers about a purchase without an owner are made from.
    package func knownPurchase(_ key: PurchaseKey) throws(StorageError) -> KnownPerson {
        letGo()
        var known = KnownPerson(users: [], customers: [], purchases: [])
        let purchase = try database.prepare("SELECT environment FROM purchase WHERE id = ?")
        purchase.bind(1, key)
        guard try purchase.step() else { return known }
        let environment = StoreEnvironment(rawValue: UInt8(truncatingIfNeeded: purchase.integer(0))) ?? .sandbox
        known.purchases = [.init(environment: environment, ids: try identifiers(of: key))]
        var customers: Set<CustomerID> = []
        for told in try recordedFacts(of: key) {
            switch told.fact {
            case .customer(let customer): customers.insert(customer)
            case .owner(let statement): customers.formUnion(statement.anonymous)
            case .state, .payment, .adjustment, .superseded: continue
            }
        }
        known.customers = customers.sorted { ($0.provider, $0.value) < ($1.provider, $1.value) }
        return known
    }

    func recordedFacts(of key: PurchaseKey) throws(StorageError) -> [RecordedFact] {
        let facts = try database.prepare(
            """
            SELECT event.provider, event.event_id, fact.body FROM fact JOIN event ON event.seq = fact.event
            WHERE fact.purchase = ? ORDER BY fact.event, fact.place
            """
        )
        facts.bind(1, key)
        defer { facts.reset() }
        var found: [RecordedFact] = []
        while try facts.step() {
            found += try FactCoding.decode(
                facts.blob(2),
                provider: ProviderID(facts.text(0)),
                eventID: facts.text(1)
            )
        }
        return found
    }

    func identifiers(of key: PurchaseKey) throws(StorageError) -> [PurchaseReference.Identifier] {
        let names = try database.prepare("SELECT namespace, value, rank FROM external_id WHERE purchase = ?")
        names.bind(1, key)
        defer { names.reset() }
        var ids: [PurchaseReference.Identifier] = []
        while try names.step() {
            let id = ExternalID(namespace: names.text(0), value: names.text(1))
            let rank = ExternalIDRank(rawValue: UInt8(truncatingIfNeeded: names.integer(2))) ?? .reference
            ids.append(.init(id: id, rank: rank))
        }
        return ids
    }
}
