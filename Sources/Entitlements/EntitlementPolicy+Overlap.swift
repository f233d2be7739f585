extension EntitlementPolicy {
    /// Those of a person's purchases in production that are live at `moment` and will renew, when there are two or more: the
    /// person pays twice. A store purchase seen through two providers is one purchase.
    public func overlapping(_ purchases: [Candidate], at moment: UnixMillis) -> [Candidate] {
        let live = purchases.filter { purchase in
            purchase.outcome.willRenew && elect([purchase]).entitlements.contains { $0.isEntitled(at: moment) }
        }
        return live.count < 2 ? [] : live
    }
}
