/// A purchase as the election sees it.
public struct Candidate: Hashable, Sendable {
    /// The provider's id of the purchase.
    public var purchaseID: String
    public var outcome: PurchaseOutcome

    public init(purchaseID: String, outcome: PurchaseOutcome) {
        self.purchaseID = purchaseID
        self.outcome = outcome
    }
}

/// The user's one row of an environment: for each entitlement its whole winner.
public struct Subscription: Hashable, Sendable {
    /// Ascending by entitlement name.
    public var entitlements: [Entitlement]

    public init(entitlements: [Entitlement] = []) {
        self.entitlements = entitlements
    }

    public struct Entitlement: Hashable, Sendable {
        public var name: String
        public var provider: ProviderID
        public var purchaseID: String
        public var productID: String?
        public var store: String?
        public var managementURL: String?
        public var willRenew: Bool
        /// `access_until`; nil is never.
        public var end: UnixMillis?
        public var periodEnd: UnixMillis?
        public var live: Status
        public var graceFrom: UnixMillis?
        public var ended: Status

        public init(
            name: String,
            provider: ProviderID,
            purchaseID: String,
            productID: String?,
            store: String?,
            managementURL: String?,
            willRenew: Bool,
            end: UnixMillis?,
            periodEnd: UnixMillis?,
            live: Status,
            graceFrom: UnixMillis?,
            ended: Status
        ) {
            self.name = name
            self.provider = provider
            self.purchaseID = purchaseID
            self.productID = productID
            self.store = store
            self.managementURL = managementURL
            self.willRenew = willRenew
            self.end = end
            self.periodEnd = periodEnd
            self.live = live
            self.graceFrom = graceFrom
            self.ended = ended
        }

        public func isEntitled(at moment: UnixMillis) -> Bool {
            Gate.isEntitled(end: end, at: moment)
        }

        public func status(at moment: UnixMillis) -> Status {
            Gate.status(end: end, graceFrom: graceFrom, live: live, ended: ended, at: moment)
        }
    }
}

extension EntitlementPolicy {
    /// Rules 2 to 4: for each entitlement by itself the purchase with the latest end, null being later than any date.
    ///
    /// The row is a maximum over the user's purchases, so no purchase shortens another and none is forgotten: when the
    /// winner ends, the next call gives the purchase that is then the latest.
    public func elect(_ candidates: [Candidate]) -> Subscription {
        var winners: [String: Subscription.Entitlement] = [:]
        for candidate in candidates {
            for line in candidate.outcome.lines {
                guard let grant = grant(for: line, of: candidate.outcome.provider) else { continue }
                var end = line.end
                if line.isOneTime, let days = grant.days, let began = line.purchasedAt {
                    end = min(end ?? .latest, began.adding(days: days))
                }
                let periodEnd =
                    line.isOneTime && line.periodEnd == nil && grant.days != nil
                    ? line.purchasedAt?.adding(days: grant.days ?? 0) : line.periodEnd
                // Reset by the clock alone when the days of a product, not an event, end it.
                let ended = end == line.end ? line.ended : Status.expired
                for name in grant.entitlements {
                    let entry = Subscription.Entitlement(
                        name: name,
                        provider: candidate.outcome.provider,
                        purchaseID: candidate.purchaseID,
                        productID: line.products.last,
                        store: candidate.outcome.store,
                        managementURL: candidate.outcome.managementURL,
                        willRenew: candidate.outcome.willRenew,
                        end: end,
                        periodEnd: periodEnd,
                        live: line.live,
                        graceFrom: line.graceFrom,
                        ended: ended
                    )
                    if let known = winners[name], !beats(entry, known) { continue }
                    winners[name] = entry
                }
            }
        }
        return Subscription(entitlements: winners.values.sorted { $0.name < $1.name })
    }

    /// Rule 4: the later end; without a closing event before with; the provider's place; the purchase's id.
    private func beats(_ left: Subscription.Entitlement, _ right: Subscription.Entitlement) -> Bool {
        let (leftEnd, rightEnd) = (left.end ?? .never, right.end ?? .never)
        if leftEnd != rightEnd { return leftEnd > rightEnd }
        if left.ended.isClosedByEvent != right.ended.isClosedByEvent { return !left.ended.isClosedByEvent }
        let (leftPlace, rightPlace) = (precedence(of: left.provider), precedence(of: right.provider))
        if leftPlace != rightPlace { return leftPlace < rightPlace }
        if left.purchaseID != right.purchaseID { return left.purchaseID < right.purchaseID }
        // One purchase that gives the same twice: any order will do that the values alone decide.
        let (first, second) = (left.tieBreak, right.tieBreak)
        return first.texts != second.texts
            ? first.texts.lexicographicallyPrecedes(second.texts)
            : first.numbers.lexicographicallyPrecedes(second.numbers)
    }
}

extension Subscription.Entitlement {
    fileprivate var tieBreak: (texts: [String], numbers: [Int64]) {
        (
            [productID ?? "", store ?? "", managementURL ?? ""],
            [
                Int64(live.rawValue), Int64(ended.rawValue), willRenew ? 0 : 1, periodEnd?.value ?? .max,
                graceFrom?.value ?? .max,
            ]
        )
    }
}

extension UnixMillis {
    /// Later than every date (rule 2: null is later than any date).
    static let never = UnixMillis(.max)
}
