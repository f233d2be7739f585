/// Why a person has an entitlement, or has it not, in words and with times: for whoever answers a customer.
public struct Explanation: Hashable, Sendable {
    public var entitlement: String
    public var isEntitled: Bool
    public var status: Status
    /// Yes or no, and until or since when.
    public var answer: String
    /// The purchase that decides, why it does, and the event that made it so; nil when none ever gave this entitlement.
    public var winner: Reason?
    /// What every other purchase says, the latest end first.
    public var others: [Reason]
    /// What comes next by the clock or by the provider's word.
    public var next: Next

    /// What one purchase says.
    public struct Reason: Hashable, Sendable {
        public var provider: ProviderID
        public var purchaseID: String
        /// The event that made it so; nil where no single event did.
        public var event: Event?
        public var text: String
    }

    /// An event, as far as people need to find it.
    public struct Event: Hashable, Sendable {
        public var eventID: String
        public var type: String
        /// Its own time, or its arrival where it has none.
        public var at: UnixMillis
    }

    /// What will happen, and when.
    public struct Next: Hashable, Sendable {
        /// Nil when nothing happens by the clock.
        public var at: UnixMillis?
        public var text: String
    }

    /// The whole of it, a sentence or two a line.
    public var lines: [String] {
        var lines = [answer]
        if let winner { lines.append(winner.text) }
        return lines + others.map(\.text) + [next.text]
    }
}

/// A fact with what is known of the event that brought it.
public struct ToldFact: Hashable, Sendable {
    public var recorded: RecordedFact
    public var eventType: String
    /// The event's own time, or its arrival where it has none.
    public var at: UnixMillis

    public init(recorded: RecordedFact, eventType: String, at: UnixMillis) {
        self.recorded = recorded
        self.eventType = eventType
        self.at = at
    }
}

/// A purchase with everything that was said of it.
public struct PurchaseHistory: Hashable, Sendable {
    public var provider: ProviderID
    public var purchaseID: String
    public var environment: StoreEnvironment
    /// Nil when nothing said of it tells of access.
    public var outcome: PurchaseOutcome?
    public var facts: [ToldFact]
    /// What only a person can say of it, such as the reason of a grant.
    public var note: String?

    public init(
        provider: ProviderID,
        purchaseID: String,
        environment: StoreEnvironment,
        outcome: PurchaseOutcome?,
        facts: [ToldFact],
        note: String? = nil
    ) {
        self.provider = provider
        self.purchaseID = purchaseID
        self.environment = environment
        self.outcome = outcome
        self.facts = facts
        self.note = note
    }
}

extension EntitlementPolicy {
    /// Explains the row of a person: the asked entitlement first, then every other one the person has or had, by name.
    ///
    /// Says what ``elect(_:)`` decides and nothing else: the winner here is the winner there.
    ///
    /// - Parameter purchases: All purchases of the person, of both environments.
    /// - Parameter ids: All ids of the person.
    public func explain(
        _ purchases: [PurchaseHistory],
        of ids: [UserID],
        in environment: StoreEnvironment,
        asked: String,
        at moment: UnixMillis
    ) -> [Explanation] {
        let sandboxCounts = environment == .production && countsInProduction(sandboxPurchasesOf: ids)
        let counted = purchases.map { $0.environment == environment || sandboxCounts }
        let elected = elect(zip(purchases, counted).compactMap { $1 ? $0.candidate : nil })
        let names = [asked] + elected.entitlements.map(\.name).filter { $0 != asked }
        return names.map { name in
            Explainer(
                policy: self,
                purchases: purchases,
                counted: counted,
                winner: elected.entitlements.first { $0.name == name },
                name: name,
                isAsked: name == asked,
                environment: environment,
                moment: moment
            ).explanation
        }
    }
}

extension PurchaseHistory {
    var candidate: Candidate? {
        outcome.map { Candidate(purchaseID: purchaseID, outcome: $0) }
    }
}

/// Explains one entitlement.
private struct Explainer {
    let policy: EntitlementPolicy
    let purchases: [PurchaseHistory]
    /// Which of them are in the election.
    let counted: [Bool]
    let winner: Subscription.Entitlement?
    let name: String
    let isAsked: Bool
    let environment: StoreEnvironment
    let moment: UnixMillis

    private var words: PurchaseWords { PurchaseWords(moment: moment) }

    var explanation: Explanation {
        let place = winner.flatMap { winner in
            purchases.indices.first { counted[$0] && entry(of: purchases[$0]) == winner }
        }
        let others = purchases.indices.filter { $0 != place }.sorted { left, right in
            let (leftEnd, rightEnd) = (sortingEnd(left), sortingEnd(right))
            return leftEnd != rightEnd ? leftEnd > rightEnd : left < right
        }
        return Explanation(
            entitlement: name,
            isEntitled: winner?.isEntitled(at: moment) ?? false,
            status: winner?.status(at: moment) ?? .none,
            answer: "\(name): " + (winner.map(words.answer) ?? "no. \(nothing)"),
            winner: winner.flatMap { winner in place.map { reason(of: winner, at: $0) } },
            others: others.compactMap(other),
            next: winner.map(words.next) ?? Explanation.Next(text: "A purchase or a grant would give it.")
        )
    }

    /// What this purchase alone gives of the entitlement.
    private func entry(of purchase: PurchaseHistory) -> Subscription.Entitlement? {
        purchase.candidate.flatMap { policy.elect([$0]).entitlements.first { $0.name == name } }
    }

    private func sortingEnd(_ place: Int) -> UnixMillis {
        guard let entry = entry(of: purchases[place]) else { return .earliest }
        return entry.end ?? .never
    }

    private var nothing: String {
        purchases.isEmpty
            ? "Nothing was ever bought by this person or granted to them."
            : "No purchase of this person ever gave it in \(environment.name)."
    }

    private func reason(of winner: Subscription.Entitlement, at place: Int) -> Explanation.Reason {
        let purchase = purchases[place]
        let decides = winner.isEntitled(at: moment) ? "decides" : "decided last"
        return part(purchase, winner, "It \(decides), because \(why(winner, at: place)).")
    }

    private func why(_ winner: Subscription.Entitlement, at place: Int) -> String {
        let rest = purchases.indices.filter { $0 != place && counted[$0] }.compactMap { purchases[$0].candidate }
        guard let second = policy.elect(rest).entitlements.first(where: { $0.name == name }) else {
            return "no other purchase that counts gives \(name)"
        }
        let other = "\(second.provider.name) \(second.purchaseID)"
        guard let end = winner.end else {
            if second.end != nil { return "it has no end" }
            return tie(winner, second, "it has no end, and neither has \(other)")
        }
        guard second.end == end else {
            return
                "it \(moment < end ? "lasts" : "lasted") longest (the next, \(other), until \(words.text(second.end)))"
        }
        return tie(winner, second, "it ends at the same moment as \(other)")
    }

    private func tie(
        _ winner: Subscription.Entitlement,
        _ second: Subscription.Entitlement,
        _ start: String
    ) -> String {
        if winner.ended.isClosedByEvent != second.ended.isClosedByEvent {
            return start + ", which was refunded, taken back or paused"
        }
        if winner.provider != second.provider { return start + ", and its provider comes first" }
        return start + ", and its id comes first"
    }

    private func part(
        _ purchase: PurchaseHistory,
        _ entry: Subscription.Entitlement,
        _ more: String
    ) -> Explanation.Reason {
        let told = purchase.decidingFact(for: entry, at: moment)
        let event = told.map {
            Explanation.Event(eventID: $0.recorded.eventID, type: $0.eventType, at: $0.at)
        }
        var text = words.head(of: purchase, product: entry.productID) + " " + words.standing(of: entry) + "."
        if let event { text += " So says event \(event.eventID) (\(event.type)) of \(words.time(event.at))." }
        if !more.isEmpty { text += " " + more }
        return Explanation.Reason(
            provider: purchase.provider,
            purchaseID: purchase.purchaseID,
            event: event,
            text: text
        )
    }

    /// What a purchase that does not decide says; nil when it says nothing of this entitlement.
    private func other(_ place: Int) -> Explanation.Reason? {
        let purchase = purchases[place]
        func plain(_ text: String) -> Explanation.Reason {
            Explanation.Reason(
                provider: purchase.provider,
                purchaseID: purchase.purchaseID,
                event: nil,
                text: words.head(of: purchase, product: nil) + " " + text
            )
        }
        guard let entry = entry(of: purchase) else {
            guard isAsked, counted[place] else { return nil }
            guard let outcome = purchase.outcome else { return plain("says nothing of access yet.") }
            if policy.isUnmapped(outcome) {
                let products = Set(outcome.lines.flatMap(\.products)).sorted().joined(separator: ", ")
                return plain("gives nothing: the product map does not have its product (\(products)).")
            }
            // Of interest only to whoever looks for what would have given it.
            guard winner == nil else { return nil }
            let given = policy.elect([Candidate(purchaseID: purchase.purchaseID, outcome: outcome)])
                .entitlements.map(\.name)
            return plain(given.isEmpty ? "gives nothing." : "gives \(given.joined(separator: ", ")), not \(name).")
        }
        guard counted[place] else {
            let made = purchase.environment.name
            return part(
                purchase,
                entry,
                "It does not count here: it was made in \(made), and this is \(environment.name)."
            )
        }
        let bothRenew =
            entry.willRenew && entry.isEntitled(at: moment) && winner?.willRenew == true
            && winner?.isEntitled(at: moment) == true
        return part(purchase, entry, bothRenew ? "It will renew, too: the person pays twice." : "")
    }
}
