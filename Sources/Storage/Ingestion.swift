public import Entitlements

/// An event as it comes to the store.
public struct IncomingEvent: Sendable {
    public var provider: ProviderID
    public var event: NormalizedEvent
    public var receivedAt: UnixMillis
    /// The body without personal data; asked for only when the event may have to be read again.
    public var redactedPayload: @Sendable () -> [UInt8]?

    public init(
        provider: ProviderID,
        event: NormalizedEvent,
        receivedAt: UnixMillis,
        redactedPayload: @escaping @Sendable () -> [UInt8]?
    ) {
        self.provider = provider
        self.event = event
        self.receivedAt = receivedAt
        self.redactedPayload = redactedPayload
    }
}

/// A row that was written.
public struct ChangedRow: Hashable, Sendable {
    package init(user: UserID, environment: StoreEnvironment) {
        self.user = user
        self.environment = environment
    }

    public var user: UserID
    public var environment: StoreEnvironment
}

/// Takes events in: records them, adds their facts, works out the purchases they concern, and elects the rows, all in one
/// transaction. Whatever the order in which events come, the same set of them gives the same rows.
package struct Ingestion<Transaction: StorageTransaction> {
    let policy: EntitlementPolicy
    let transaction: Transaction
    /// Rows written by this ingestion.
    package private(set) var changedRows: [ChangedRow] = []

    package init(policy: EntitlementPolicy, transaction: Transaction) {
        self.policy = policy
        self.transaction = transaction
    }

    /// An event more than this after its arrival counts as the arrival (rule 1).
    static var earlyMillis: Int64 { UnixMillis.millisPerDay }

    package mutating func ingest(_ incoming: IncomingEvent) throws(StorageError) -> EventOutcome {
        if incoming.event.verdict == .counted { return .observed }
        let event = incoming.event
        let sequence = try transaction.insert(
            EventRecord(
                provider: incoming.provider,
                eventID: event.eventID,
                type: event.type,
                environment: event.environment,
                occurredAt: event.occurredAt,
                receivedAt: incoming.receivedAt
            )
        )
        guard let sequence else { return .duplicate }
        var conclusion: EventConclusion
        switch event.verdict {
        case .observed(let reason): conclusion = EventConclusion(outcome: .observed, reason: reason)
        case .quarantined(let reason): conclusion = EventConclusion(outcome: .quarantined, reason: reason)
        case .counted, nil: conclusion = try apply(incoming, sequence)
        }
        switch conclusion.outcome {
        case .parked, .unmapped, .quarantined: conclusion.payload = incoming.redactedPayload()
        case .applied, .unchanged, .duplicate, .stale, .observed: break
        }
        try transaction.conclude(sequence, conclusion)
        return conclusion.outcome
    }

    /// Takes a recorded event in again, with what its body says now. Its facts replace the ones it had.
    package mutating func replay(
        _ sequence: EventSequence,
        _ incoming: IncomingEvent,
        before: EventOutcome
    ) throws(StorageError) -> EventOutcome {
        var conclusion: EventConclusion
        switch incoming.event.verdict {
        case .observed(let reason): conclusion = EventConclusion(outcome: .observed, reason: reason)
        case .quarantined(let reason): conclusion = EventConclusion(outcome: .quarantined, reason: reason)
        case .counted, nil: conclusion = try apply(incoming, sequence)
        }
        switch conclusion.outcome {
        case .parked, .unmapped, .quarantined: conclusion.payload = incoming.redactedPayload()
        case .unchanged, .stale:
            // What could not count before counts now, even when a changed configuration has brought it into the row already.
            if before == .unmapped || before == .parked || before == .quarantined { conclusion.outcome = .applied }
        case .applied, .duplicate, .observed: break
        }
        try transaction.conclude(sequence, conclusion)
        return conclusion.outcome
    }

    /// Works purchases out again, and the rows of those who own them or did.
    ///
    /// - Parameter except: A person whose row is not to be made (one who is being erased).
    package mutating func recomputeAll(
        _ keys: [PurchaseKey],
        _ now: UnixMillis,
        except: UserID? = nil
    ) throws(StorageError) -> Bool {
        var owners: Set<UserID> = []
        for key in keys {
            guard let change = try recompute(key) else { continue }
            owners.formUnion([change.before?.owner, change.after.owner].compactMap(\.self))
        }
        if let except { owners.remove(except) }
        return try elect(owners, in: Set(StoreEnvironment.allCases), now)
    }

    // MARK: - Effects

    /// What the effects of one event touch.
    private struct Reach {
        /// Purchases the event itself is about, in its order.
        var subjects: [PurchaseKey] = []
        /// Purchases whose owner may be another now.
        var dependents: Set<PurchaseKey> = []
        var users: [UserID] = []
        /// People whose row must be elected anew because ids were joined or purchases merged.
        var joined: Set<UserID> = []
        var states: [PurchaseState] = []
        /// The event tells of a refund or a dispute, which has an order of its own.
        var hasAdjustment = false
        var eventID = ""
        /// A purchase that was something by itself has become part of another.
        var merged = false
    }

    private mutating func apply(
        _ incoming: IncomingEvent,
        _ sequence: EventSequence
    ) throws(StorageError) -> EventConclusion {
        let time = min(
            incoming.event.occurredAt ?? incoming.receivedAt,
            incoming.receivedAt.adding(millis: Self.earlyMillis) < incoming.event.occurredAt ?? incoming.receivedAt
                ? incoming.receivedAt : .latest
        )
        var reach = Reach()
        reach.eventID = incoming.event.eventID
        var place = 0
        for effect in incoming.event.effects {
            switch effect {
            case .facts(let reference, let facts):
                let key = try purchase(for: reference, provider: incoming.provider, &reach)
                if !reach.subjects.contains(key) { reach.subjects.append(key) }
                for fact in facts {
                    let dated = arrived(fact, at: incoming.receivedAt)
                    if case .state(let state) = dated { reach.states.append(state) }
                    if case .adjustment = dated { reach.hasAdjustment = true }
                    let recorded = RecordedFact(
                        provider: incoming.provider,
                        eventID: incoming.event.eventID,
                        isSecondHand: reference.isSecondHand,
                        fact: dated
                    )
                    try transaction.add(recorded, to: key, event: sequence, place: place)
                    place += 1
                }
            case .link(let customer, let user):
                reach.users.append(user)
                let link = CustomerLink(user: user, at: time, eventID: incoming.event.eventID)
                if try transaction.add(link, of: customer) {
                    reach.dependents.formUnion(
                        try transaction.dependents(of: Ownership.Dependency.customer(customer).node)
                    )
                }
            case .samePerson(let users): try join(users, &reach)
            case .transfer(var transfer):
                transfer.at = time
                reach.users += transfer.to.users.prefix(1)
                try transaction.add(transfer)
                for node in transfer.from.nodes {
                    reach.dependents.formUnion(try transaction.dependents(of: node))
                }
            case .claim(let provider, let externalID, let user):
                reach.users.append(user)
                let link = CustomerLink(user: user, at: time, eventID: incoming.event.eventID)
                try transaction.claim(provider: provider, externalID: externalID, by: link)
                reach.dependents.formUnion(try transaction.purchases(carrying: externalID))
            }
        }
        return try settle(reach, incoming.receivedAt)
    }

    /// A version or a time from the future is kept with the moment it arrived; a moment that cannot be is the arrival.
    private func arrived(_ fact: Fact, at arrival: UnixMillis) -> Fact {
        let horizon = arrival.adding(millis: Self.earlyMillis)
        let absurd = arrival.adding(millis: PurchaseState.aheadMillis)
        func possible(_ moment: UnixMillis) -> UnixMillis { moment > absurd ? arrival : moment }
        switch fact {
        case .state(var state):
            if state.version > arrival { state.arrival = arrival }
            return .state(state)
        case .owner(var statement):
            if statement.at > horizon { statement.at = arrival }
            return .owner(statement)
        case .payment(var payment):
            payment.paidAt = payment.paidAt.map(possible)
            return .payment(payment)
        case .adjustment(var adjustment):
            (adjustment.version, adjustment.at) = (possible(adjustment.version), possible(adjustment.at))
            return .adjustment(adjustment)
        case .superseded(let at): return .superseded(at: possible(at))
        case .customer: return fact
        }
    }

    /// The purchase an event names; purchases that turn out to be one are joined.
    private func purchase(
        for reference: PurchaseReference,
        provider: ProviderID,
        _ reach: inout Reach
    ) throws(StorageError) -> PurchaseKey {
        let known = try purchases(knownBy: reference)
        let key: PurchaseKey
        if let first = known.min() {
            key = first
            for other in known.sorted() where other != first {
                if let record = try transaction.record(of: other) {
                    if let owner = record.owner { reach.joined.insert(owner) }
                    reach.merged = reach.merged || record.outcome != nil
                }
                try transaction.merge(other, into: first)
                reach.subjects.removeAll { $0 == other }
                reach.dependents.remove(other)
            }
        } else {
            key = try transaction.createPurchase(in: reference.environment, provider: provider)
        }
        for identifier in reference.ids { try transaction.bind(identifier, in: reference.environment, to: key) }
        return key
    }

    /// The purchases that an event's ids lead to and that may be one: two chains stay two, even when an event of one refers
    /// to a transaction of the other, or refers to both. Of two that contradict each other the one with the smaller name is
    /// meant, whichever came first.
    private func purchases(knownBy reference: PurchaseReference) throws(StorageError) -> Set<PurchaseKey> {
        var candidates: [(key: PurchaseKey, names: [PurchaseReference.Identifier])] = []
        for identifier in reference.ids {
            guard let key = try transaction.purchase(known: identifier.id, in: reference.environment),
                !candidates.contains(where: { $0.key == key })
            else { continue }
            candidates.append((key, try transaction.identifiers(of: key).filter { $0.rank != .reference }))
        }
        func first(_ names: [PurchaseReference.Identifier]) -> PurchaseReference.Identifier? {
            names.min { ($0.rank, $0.id) < ($1.rank, $1.id) }
        }
        candidates.sort { left, right in
            switch (first(left.names), first(right.names)) {
            case (let left?, let right?): (left.rank, left.id) < (right.rank, right.id)
            case (nil, nil): left.key < right.key
            case (let left, _): left != nil
            }
        }
        var names = reference.ids.filter { $0.rank != .reference }
        var known: Set<PurchaseKey> = []
        for candidate in candidates where !contradicts(names, candidate.names) {
            known.insert(candidate.key)
            names += candidate.names
        }
        return known
    }

    /// Whether one of the two has a name of its own that the other has another of its kind for.
    private func contradicts(
        _ names: [PurchaseReference.Identifier],
        _ others: [PurchaseReference.Identifier]
    ) -> Bool {
        names.contains { own in
            let same = others.filter { $0.rank == own.rank && $0.id.namespace == own.id.namespace }
            return !same.isEmpty && !same.contains { other in names.contains { $0.id == other.id } }
        }
    }

    /// User ids that are one person read the same row from now on.
    private func join(_ users: [UserID], _ reach: inout Reach) throws(StorageError) {
        var members: Set<UserID> = []
        var people: Set<[UserID]> = []
        for user in users {
            let person = try transaction.person(of: user).sorted()
            people.insert(person)
            members.formUnion(person)
        }
        guard people.count > 1, let first = members.min() else { return }
        try transaction.setPerson(first, of: members.sorted())
        reach.joined.formUnion(members)
    }

    // MARK: - Purchases and rows

    private mutating func settle(_ reach: Reach, _ now: UnixMillis) throws(StorageError) -> EventConclusion {
        var hasChanged = reach.merged
        var owners = reach.joined
        var environments = Set(StoreEnvironment.allCases)
        if reach.joined.isEmpty { environments = [] }
        var subject: PurchaseRecord?
        for key in reach.subjects + reach.dependents.subtracting(reach.subjects).sorted() {
            guard let change = try recompute(key) else { continue }
            if subject == nil { subject = change.after }
            hasChanged = hasChanged || change.isVisible
            guard change.after != change.before else { continue }
            owners.formUnion([change.before?.owner, change.after.owner].compactMap(\.self))
            environments.insert(change.after.environment)
        }
        let rows = try elect(owners, in: environments, now)
        hasChanged = hasChanged || rows
        if !hasChanged { hasChanged = try endsGrace(reach, subject) }
        let user = subject?.owner ?? reach.users.first
        return EventConclusion(outcome: outcome(reach, subject: subject, hasChanged), user: user)
    }

    /// Whether the event takes back a grace that a store had promised: a change for the purchase, even where the clock had
    /// already come to its end.
    private func endsGrace(_ reach: Reach, _ subject: PurchaseRecord?) throws(StorageError) -> Bool {
        guard let subject, subject.outcome?.newest?.eventID == reach.eventID,
            reach.states.contains(where: { $0.isFailingWithoutGrace })
        else { return false }
        let before = try transaction.facts(of: subject.key).filter { $0.eventID != reach.eventID }
        return MergeRule.promisesGrace(before)
    }

    private func outcome(_ reach: Reach, subject: PurchaseRecord?, _ hasChanged: Bool) -> EventOutcome {
        if let subject, !reach.subjects.isEmpty {
            if let outcome = subject.outcome, policy.isUnmapped(outcome) { return .unmapped }
            if subject.owner == nil { return .parked }
        }
        if hasChanged { return .applied }
        if let newest = subject?.outcome?.newest, !reach.states.isEmpty, !reach.hasAdjustment,
            reach.states.allSatisfy({ isOlder($0, than: newest, reach.eventID) })
        {
            return .stale
        }
        return .unchanged
    }

    private func isOlder(_ state: PurchaseState, than newest: StateOrder, _ eventID: String) -> Bool {
        let order = StateOrder(
            period: state.periodStart?.value ?? newest.period,
            version: (state.countsAsArrival ? state.arrival ?? state.version : state.version).value,
            told: state.version.value,
            severity: state.condition.severity,
            eventID: eventID
        )
        // Versions from the future are in the order they tell, not in the order they arrived.
        if state.countsAsArrival, newest.told != newest.version {
            return (order.period, order.told, order.severity) < (newest.period, newest.told, newest.severity)
        }
        return order.isOlder(than: newest)
    }

    package struct PurchaseChange {
        package var before: PurchaseRecord?
        package var after: PurchaseRecord

        /// Whether anyone outside can see the difference.
        var isVisible: Bool {
            guard let before else { return after.outcome.map { !$0.lines.isEmpty } ?? false }
            if before.owner != after.owner || before.purchaseID != after.purchaseID { return true }
            switch (before.outcome, after.outcome) {
            case (nil, nil): return false
            case (let old?, let new?): return !old.looksLike(new)
            case (nil, let only?), (let only?, nil): return !only.lines.isEmpty
            }
        }
    }

    /// Works a purchase out from its facts and stores it; nil when it has none left.
    package func recompute(_ key: PurchaseKey) throws(StorageError) -> PurchaseChange? {
        guard let before = try transaction.record(of: key) else { return nil }
        let facts = try transaction.facts(of: key)
        let identifiers = try transaction.identifiers(of: key)
        var after = before
        after.outcome = MergeRule.outcome(of: facts, pastDueDays: policy.pastDueDays)
        let best = identifiers.min { ($0.rank, $0.id.value, $0.id.namespace) < ($1.rank, $1.id.value, $1.id.namespace) }
        after.purchaseID = best?.id.value ?? before.purchaseID
        after.provider = after.outcome?.provider ?? facts.map(\.provider).min() ?? before.provider
        let ownership = try owner(facts: facts, ids: identifiers.map(\.id), environment: before.environment)
        after.owner = ownership.owner
        if after != before { try transaction.update(after) }
        try transaction.setDependencies(of: key, Set(ownership.dependsOn.map { $0.node }))
        // A purchase is new to everyone until it has facts.
        let isNew = before.outcome == nil && before.owner == nil && before.purchaseID.isEmpty
        return PurchaseChange(before: isNew ? nil : before, after: after)
    }

    private func owner(
        facts: [RecordedFact],
        ids: [ExternalID],
        environment: StoreEnvironment
    ) throws(StorageError) -> Ownership {
        var providers = Set(facts.map(\.provider))
        for id in ids { providers.insert(ProviderID(String(id.namespace.prefix { $0 != ":" }))) }
        let identities = Identities(transaction: transaction, providers: providers)
        do {
            return try Ownership.resolve(facts: facts, ids: ids, environment: environment, identities: identities)
        } catch let error as StorageError {
            throw error
        } catch {
            throw .unavailable("\(error)")
        }
    }

    /// Elects the rows of the people behind `users`; true when one of them looks different now.
    package mutating func elect(
        _ users: Set<UserID>,
        in environments: Set<StoreEnvironment>,
        _ now: UnixMillis
    ) throws(StorageError) -> Bool {
        var hasChanged = false
        var done: Set<UserID> = []
        for user in users.sorted() where !done.contains(user) {
            let members = try transaction.person(of: user)
            done.formUnion(members)
            let countsSandbox = policy.countsInProduction(sandboxPurchasesOf: members)
            for environment in StoreEnvironment.allCases {
                let reaches = environment == .production && countsSandbox && environments.contains(.sandbox)
                guard environments.contains(environment) || reaches else { continue }
                let body = SubscriptionRow.encode(try subscription(of: members, in: environment))
                for member in members {
                    if try write(body, of: member, in: environment, now) { hasChanged = true }
                }
            }
        }
        return hasChanged
    }

    package func subscription(
        of members: [UserID],
        in environment: StoreEnvironment
    ) throws(StorageError) -> Subscription {
        var purchases = try transaction.purchases(ownedBy: members, in: environment)
        if environment == .production, policy.countsInProduction(sandboxPurchasesOf: members) {
            purchases += try transaction.purchases(ownedBy: members, in: .sandbox)
        }
        return policy.elect(
            purchases.compactMap { record in
                record.outcome.map { Candidate(purchaseID: record.purchaseID, outcome: $0) }
            }
        )
    }

    private mutating func write(
        _ body: [UInt8],
        of user: UserID,
        in environment: StoreEnvironment,
        _ now: UnixMillis
    ) throws(StorageError) -> Bool {
        let known = try transaction.row(of: user, in: environment)
        if let known, known.body == body { return false }
        // Nothing was ever given and nothing is: no row.
        if known == nil, body == SubscriptionRow.encode(Subscription()) { return false }
        let row = RowRecord(version: try transaction.nextVersion(), updatedAt: now, body: body)
        try transaction.setRow(row, of: user, in: environment)
        changedRows.append(ChangedRow(user: user, environment: environment))
        return true
    }
}

/// Asks the database what an owner depends on.
private struct Identities<Transaction: StorageTransaction>: IdentitySource {
    let transaction: Transaction
    let providers: Set<ProviderID>

    func newestClaim(of ids: [ExternalID]) throws -> CustomerLink? {
        try transaction.newestClaim(of: ids.map(\.value), providers: providers)
    }

    func newestLink(of customer: CustomerID) throws -> CustomerLink? {
        try transaction.newestLink(of: customer)
    }

    func transfers(from holder: Holder) throws -> [Transfer] {
        try transaction.transfers(fromAnyOf: holder.users.map(\.value) + holder.anonymous.map(\.value))
    }
}
