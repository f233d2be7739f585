public import Entitlements

/// How much of what the store holds, for whoever watches it.
public struct StoreCounts: Hashable, Sendable {
    /// Rows of each environment: users whom anything was ever given or taken.
    public var rows: [StoreEnvironment: Int] = [:]
    /// Purchases whose user is not known yet.
    public var parkedPurchases = 0
    /// Events whose product is in no map, and events that could not be understood.
    public var unmappedEvents = 0
    public var quarantinedEvents = 0
    /// When the newest event of each provider came.
    public var lastArrivals: [ProviderID: UnixMillis] = [:]

    public init() {}
}

extension EntitlementPolicy {
    /// Those of a person's purchases in production that are live at `moment` and will renew, when there are two or more: the
    /// person pays twice. A store purchase seen through two providers is one purchase.
    public func overlapping(_ purchases: [PurchaseView], at moment: UnixMillis) -> [PurchaseView] {
        let live = purchases.filter { purchase in
            guard purchase.environment == .production, let outcome = purchase.outcome, outcome.willRenew else {
                return false
            }
            return elect([Candidate(purchaseID: purchase.purchaseID, outcome: outcome)]).entitlements
                .contains { $0.isEntitled(at: moment) }
        }
        return live.count < 2 ? [] : live
    }
}
