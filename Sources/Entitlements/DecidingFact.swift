extension PurchaseHistory {
    /// The fact that makes an entitlement end when it does and stand as it does: the one whose own moment is the end.
    ///
    /// Where no fact names the end (days of grace, days of a product), the newest state is what everything was counted from.
    func decidingFact(for entry: Subscription.Entitlement, at moment: UnixMillis) -> ToldFact? {
        let status = entry.status(at: moment)
        if let end = entry.end, status == .refunded || status == .revoked, let told = adjustment(effectiveAt: end) {
            return told
        }
        let states = OrderedState.all(in: facts.map(\.recorded)).sorted { $0.order < $1.order }
        if status == .grace || status == .billingRetry, let failed = states.last(where: { $0.failure != nil }) {
            return told(by: failed)
        }
        if let end = entry.end {
            if let told = facts.first(where: { $0.recorded.fact == .superseded(at: end) }) { return told }
            if let state = states.last(where: { $0.names(end: end) }) { return told(by: state) }
            if let told = payment(upTo: end) { return told }
        }
        return states.last.flatMap(told) ?? payment(upTo: nil)
    }

    private func told(by state: OrderedState) -> ToldFact? {
        facts.first { told in
            told.recorded.fact.isState && told.recorded.eventID == state.order.eventID
                && told.recorded.provider == state.provider
        }
    }

    /// The first event that told of it: what is told again does not move the moment.
    private func adjustment(effectiveAt end: UnixMillis) -> ToldFact? {
        facts.filter { told in
            guard case .adjustment(let adjustment) = told.recorded.fact else { return false }
            return adjustment.standing == .effective && adjustment.at == end
        }.min { ($0.at, $0.recorded.eventID) < ($1.at, $1.recorded.eventID) }
    }

    /// The newest payment for a period that ends so, or for any.
    private func payment(upTo end: UnixMillis?) -> ToldFact? {
        facts.filter { told in
            guard case .payment(let payment) = told.recorded.fact, payment.paidAt != nil else { return false }
            return end == nil || payment.periodEnd == end
        }.max { ($0.at, $0.recorded.eventID) < ($1.at, $1.recorded.eventID) }
    }
}

extension OrderedState {
    /// Whether this moment is one the state itself names as an end.
    fileprivate func names(end: UnixMillis) -> Bool {
        switch state.condition {
        case .ended(at: end), .paused(at: end): return true
        default: return state.limit == end || state.items.contains { $0.end == end }
        }
    }
}
