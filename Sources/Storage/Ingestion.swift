public import Entitlements

/// An event as it comes to the store, its effects put together.
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
        self.event.effects = event.effectsTogether
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
    /// Purchases worked out by this ingestion, as they are now.
    package private(set) var workedOut: [PurchaseRecord] = []

    package init(policy: EntitlementPolicy, transaction: Transaction) {
        self.policy = policy
        self.transaction = transaction
    }

    /// An event more than this after its arrival counts as the arrival (rule 1).
    static var earlyMillis: Int64 { PurchaseState.believedMillis }

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
            ),
            expecting: expectedConclusion(of: event)
        )
        guard let sequence else { return .duplicate }
        var conclusion = expectedConclusion(of: event)
        if event.verdict == nil { conclusion = try apply(incoming, sequence, Reach(), at: incoming.receivedAt) }
        switch conclusion.outcome {
        case .parked, .unmapped, .quarantined: conclusion.payload = incoming.redactedPayload()
        case .applied, .unchanged, .duplicate, .stale, .observed: break
        }
        try transaction.conclude(sequence, conclusion)
        return conclusion.outcome
    }

    /// What an event without a meaning comes to, and what one with a meaning most often does: it is news of the first person it
    /// names.
    private func expectedConclusion(of event: NormalizedEvent) -> EventConclusion {
        switch event.verdict {
        case .observed(let reason): return EventConclusion(outcome: .observed, reason: reason)
        case .quarantined(let reason): return EventConclusion(outcome: .quarantined, reason: reason)
        case .counted: return EventConclusion(outcome: .observed)
        case nil: break
        }
        for effect in event.effects {
            switch effect {
            case .link(_, let user), .claim(_, _, let user): return EventConclusion(outcome: .applied, user: user)
            case .facts(_, let facts):
                for case .owner(let statement) in facts {
                    if let user = statement.users.first { return EventConclusion(outcome: .applied, user: user) }
                }
            case .samePerson, .transfer: continue
            }
        }
        return EventConclusion(outcome: .applied)
    }

    /// Takes a recorded event in again, with what its body says now, under its own id and times. Its facts replace the ones it
    /// had; what it told of links, claims and transfers stays, because others may have told the same.
    ///
    /// - Parameter moment: When it is replayed: the time of the rows that change.
    package mutating func replay(
        _ sequence: EventSequence,
        _ incoming: IncomingEvent,
        before: EventOutcome,
        at moment: UnixMillis
    ) throws(StorageError) -> EventOutcome {
        let event = incoming.event
        // A body that was understood once and is not any more takes nothing away from anyone.
        if case .quarantined = event.verdict, before != .quarantined { return before }
        try transaction.describe(
            sequence,
            EventRecord(
                provider: incoming.provider,
                eventID: event.eventID,
                type: event.type,
                environment: event.environment,
                occurredAt: event.occurredAt,
                receivedAt: incoming.receivedAt
            )
        )
        var reach = Reach()
        reach.dependents = Set(try transaction.removeFacts(of: sequence))
        var conclusion: EventConclusion
        switch event.verdict {
        case .observed(let reason):
            _ = try settle(reach, moment)
            conclusion = EventConclusion(outcome: .observed, reason: reason)
        case .counted:
            _ = try settle(reach, moment)
            conclusion = EventConclusion(outcome: .observed)
        case .quarantined(let reason): conclusion = EventConclusion(outcome: .quarantined, reason: reason)
        case nil: conclusion = try apply(incoming, sequence, reach, at: moment)
        }
        switch conclusion.outcome {
        case .parked, .unmapped, .quarantined: conclusion.payload = incoming.redactedPayload()
        case .unchanged, .stale:
            // What did not count when it came counts now, even when a new map or link has brought it into the row already.
            if before == .unmapped || before == .parked { conclusion.outcome = .applied }
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
            workedOut.append(change.after)
            owners.formUnion([change.before?.owner, change.after.owner].compactMap(\.self))
        }
        if let except { owners.remove(except) }
        return try elect(owners, in: Set(StoreEnvironment.allCases), now)
    }

    // MARK: - Effects

    /// What the effects of one event touch.
    struct Reach {
        /// What the event itself says of purchases, in its order.
        var mentions: [MentionKey] = []
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

    /// - Parameter reach: What is to be worked out again besides what the event itself touches.
    private mutating func apply(
        _ incoming: IncomingEvent,
        _ sequence: EventSequence,
        _ reach: Reach,
        at moment: UnixMillis
    ) throws(StorageError) -> EventConclusion {
        let time = min(
            incoming.event.occurredAt ?? incoming.receivedAt,
            incoming.receivedAt.adding(millis: Self.earlyMillis) < incoming.event.occurredAt ?? incoming.receivedAt
                ? incoming.receivedAt : .latest
        )
        var reach = reach
        reach.eventID = incoming.event.eventID
        var place = 0
        for effect in incoming.event.effects {
            switch effect {
            case .facts(let reference, let facts):
                let mention = try mention(reference, provider: incoming.provider, &reach)
                reach.mentions.append(mention.key)
                let recorded = facts.map { fact in
                    RecordedFact(
                        provider: incoming.provider,
                        eventID: incoming.event.eventID,
                        isSecondHand: reference.isSecondHand,
                        fact: arrived(fact, at: incoming.receivedAt)
                    )
                }
                for entry in recorded {
                    if case .state(let state) = entry.fact { reach.states.append(state) }
                    if case .adjustment = entry.fact { reach.hasAdjustment = true }
                }
                guard !recorded.isEmpty else { continue }
                try transaction.add(
                    recorded,
                    to: mention.purchase,
                    by: mention.key,
                    event: sequence,
                    place: place
                )
                place += recorded.count
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
        try joinClaimed(namedIn: incoming, &reach)
        return try settle(reach, moment)
    }

    /// A version or a time from the future is kept with the moment it arrived; a moment that cannot be is the arrival.
    private func arrived(_ fact: Fact, at arrival: UnixMillis) -> Fact {
        let horizon = arrival.adding(millis: Self.earlyMillis)
        let noticed = arrival.adding(millis: PurchaseState.noticedMillis)
        let absurd = arrival.adding(millis: PurchaseState.aheadMillis)
        func possible(_ moment: UnixMillis) -> UnixMillis { moment > absurd ? arrival : moment }
        switch fact {
        case .state(var state):
            if state.version > noticed { state.arrival = arrival }
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

    /// An id that an administrator has said is somebody's is the same person once its provider names it as a user.
    private func joinClaimed(namedIn incoming: IncomingEvent, _ reach: inout Reach) throws(StorageError) {
        var named: Set<UserID> = []
        for effect in incoming.event.effects {
            switch effect {
            case .facts(_, let facts):
                for case .owner(let statement) in facts { named.formUnion(statement.users) }
            case .samePerson(let users): named.formUnion(users)
            case .transfer(let transfer): named.formUnion(transfer.from.users + transfer.to.users)
            case .link, .claim: continue
            }
        }
        for user in named.sorted() {
            let spellings = [user.value, user.value.uppercased()]
            guard let claim = try transaction.newestClaim(of: spellings, providers: [incoming.provider]) else {
                continue
            }
            try join([user, claim.user], &reach)
        }
    }

    /// Those of the ids that are known as users.
    package func users(among ids: [UserID]) throws(StorageError) -> [UserID] {
        var users: [UserID] = []
        for id in ids where try isUser(id) { users.append(id) }
        return users
    }

    /// Whether an id is known as a user's, and as no purchase's.
    private func isUser(_ user: UserID) throws(StorageError) -> Bool {
        guard try transaction.purchases(carrying: user.value).isEmpty else { return false }
        if try !transaction.dependents(of: Ownership.Dependency.user(user).node).isEmpty { return true }
        for environment in StoreEnvironment.allCases {
            if try transaction.row(of: user, in: environment) != nil { return true }
        }
        return try transaction.person(of: user).count > 1
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
        var subjects: [PurchaseKey] = []
        for mention in reach.mentions {
            // A later part of the event may have moved it.
            if let key = try transaction.purchase(of: mention), !subjects.contains(key) { subjects.append(key) }
        }
        for key in subjects + reach.dependents.subtracting(subjects).sorted() {
            guard let change = try recompute(key) else { continue }
            workedOut.append(change.after)
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
        if let subject, !reach.mentions.isEmpty {
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
            version: state.countedVersion.value,
            told: state.version.value,
            severity: state.condition.severity,
            eventID: eventID
        )
        // Versions from the future are in the order they tell, not in the order they arrived.
        if state.arrival != nil, newest.told != newest.version {
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

    /// Works a purchase out from its facts and stores it; nil when there is no such purchase.
    package func recompute(_ key: PurchaseKey) throws(StorageError) -> PurchaseChange? {
        guard let (change, nodes) = try workOut(key) else { return nil }
        if change.after != change.before { try transaction.update(change.after) }
        try transaction.setDependencies(of: key, nodes)
        return change
    }

    /// Works a purchase out from its facts, and from which ids its owner follows; writes nothing.
    package func workOut(
        _ key: PurchaseKey
    ) throws(StorageError) -> (change: PurchaseChange, dependsOn: Set<String>)? {
        guard let before = try transaction.record(of: key) else { return nil }
        let facts = try transaction.facts(of: key)
        let identifiers = try transaction.identifiers(of: key)
        var after = before
        after.outcome = MergeRule.outcome(of: facts, pastDueDays: policy.pastDueDays)
        let best = Self.best(of: identifiers)
        after.purchaseID = best?.id.value ?? before.purchaseID
        after.provider = after.outcome?.provider ?? facts.map(\.provider).min() ?? before.provider
        let ownership = try owner(facts: facts, ids: identifiers.map(\.id), environment: before.environment)
        after.owner = ownership.owner
        // A purchase is new to everyone until it has facts.
        let isNew = before.outcome == nil && before.owner == nil && before.purchaseID.isEmpty
        return (
            PurchaseChange(before: isNew ? nil : before, after: after), Set(ownership.dependsOn.map { $0.node })
        )
    }

    /// The purchase's own id. Of two names of one rank that are of one provider, the one that says of what kind it is: a
    /// place that tells of the provider's purchases knows them by something less.
    private static func best(of identifiers: [PurchaseReference.Identifier]) -> PurchaseReference.Identifier? {
        let names = identifiers.filter { name in
            !identifiers.contains { $0.rank == name.rank && $0.id.namespace.hasPrefix(name.id.namespace + ":") }
        }
        return names.min { ($0.rank, $0.id.value, $0.id.namespace) < ($1.rank, $1.id.value, $1.id.namespace) }
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
        // What was told last is never judged again at an earlier moment, whatever the clock of the event's arrival says.
        let moment = max(now, known?.judgedAt ?? now)
        var before: RowRecord?
        if let known { before = try transaction.turned(known, upTo: moment, of: user, in: environment) }
        let row = RowRecord(
            version: try transaction.nextVersion(),
            updatedAt: now,
            body: body,
            judgedAt: moment
        )
        try transaction.setRow(row, replacing: before, of: user, in: environment)
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
