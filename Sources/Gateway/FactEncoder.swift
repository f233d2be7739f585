internal import Entitlements

/// Facts in words, for whoever asks what is kept about them.
extension JSONWriter {
    mutating func fact(_ recorded: RecordedFact) {
        raw("{")
        key("provider")
        string(recorded.provider.name)
        key("event_id")
        string(recorded.eventID)
        switch recorded.fact {
        case .state(let state): self.state(state)
        case .payment(let payment):
            kind("payment")
            texts("payment_ids", payment.ids)
            moment("paid_at", payment.paidAt)
            moment("period_start", payment.periodStart)
            moment("period_end", payment.periodEnd)
            number("amount", payment.amount)
            texts("products", payment.products)
        case .adjustment(let adjustment): self.adjustment(adjustment)
        case .owner(let owner):
            kind("owner")
            moment("at", owner.at)
            texts("users", owner.users.filter { !$0.isErased }.map(\.value))
            texts("customers", owner.anonymous.map(\.value))
        case .customer(let customer):
            kind("customer")
            text("customer", customer.value)
        case .superseded(let at):
            kind("superseded")
            moment("at", at)
        }
        raw("}")
    }

    private mutating func state(_ state: PurchaseState) {
        kind("state")
        text("condition", state.condition.word)
        moment("condition_at", state.condition.moment)
        moment("version", state.version)
        moment("arrival", state.arrival)
        moment("period_start", state.periodStart)
        moment("limit", state.limit)
        moment("purchased_at", state.purchasedAt)
        list("items", state.items) { json, item in
            json.raw("{")
            json.texts("products", item.products)
            json.moment("end", item.end)
            if let start = item.start { json.moment("start", start) }
            json.raw("}")
        }
        key("will_renew")
        if let willRenew = state.willRenew { bool(willRenew) } else { null() }
        key("one_time")
        bool(state.isOneTime)
        if let entitlements = state.entitlements { texts("entitlements", entitlements) }
        text("store", state.store)
        text("management_url", state.managementURL)
    }

    private mutating func adjustment(_ adjustment: Adjustment) {
        kind(adjustment.kind == .refund ? "refund" : "dispute")
        text("id", adjustment.id)
        switch adjustment.standing {
        case .pending: text("standing", "pending")
        case .effective: text("standing", "effective")
        case .withdrawn: text("standing", "withdrawn")
        }
        switch adjustment.size {
        case .full: text("size", "full")
        case .part(let amount): number("part", amount)
        case .soFar(let amount): number("so_far", amount)
        }
        moment("version", adjustment.version)
        moment("at", adjustment.at)
        texts("payment_ids", adjustment.payments)
        moment("period_start", adjustment.periodStart)
        moment("period_end", adjustment.periodEnd)
        number("total", adjustment.total)
    }

    private mutating func kind(_ word: StaticString) {
        key("fact")
        string(word)
    }

    private mutating func text(_ name: StaticString, _ value: String?) {
        key(name)
        optional(value)
    }

    private mutating func texts(_ name: String, _ values: [String]) {
        list(name, values) { $0.string($1) }
    }

    private mutating func moment(_ name: StaticString, _ value: UnixMillis?) {
        key(name)
        time(value)
    }

    private mutating func number(_ name: StaticString, _ value: Int64?) {
        key(name)
        if let value { integer(value) } else { null() }
    }
}

extension PurchaseState.Condition {
    fileprivate var word: String {
        switch self {
        case .incomplete: "incomplete"
        case .trialing: "trialing"
        case .active: "active"
        case .collectionPaused: "collection_paused"
        case .failing: "failing"
        case .unpaid: "unpaid"
        case .paused: "paused"
        case .ended: "ended"
        }
    }

    fileprivate var moment: UnixMillis? {
        switch self {
        case .incomplete, .trialing, .active, .collectionPaused: nil
        case .failing(let failure), .unpaid(let failure): failure.since
        case .paused(let at), .ended(let at): at
        }
    }
}
