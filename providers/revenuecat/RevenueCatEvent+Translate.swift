internal import Entitlements
internal import ProviderKit

extension RevenueCatEvent {
    /// What the event means for access. An unknown type is recorded and changes nothing.
    func translate(into event: inout NormalizedEvent) throws(Failure) {
        switch Meaning(type) {
        case .purchase: event.effects = try lifecycle()
        case .temporaryGrant:
            event.effects = try temporaryGrant()
            if event.effects.isEmpty { event.verdict = .observed("a temporary grant of nothing") }
        case .transfer: event.effects = try transfer(event.environment)
        case .identity:
            event.effects = identity(try holder())
            if event.effects.isEmpty { event.verdict = .observed("no ids to join in it") }
        case .redemption: try redeemed(into: &event)
        case .none:
            event.verdict = type.hasPrefix("PAYWALL_") ? .counted : .observed("this type means nothing for access")
        }
    }

    /// Which ids are one person: every anonymous id is a customer of the first user, and users named together read the
    /// same row.
    private func identity(_ holder: Holder) -> [Effect] {
        guard let user = holder.users.first else { return [] }
        var effects = holder.anonymous.map { Effect.link($0, user) }
        if holder.users.count > 1 { effects.append(.samePerson(holder.users)) }
        return effects
    }

    private func transfer(_ environment: StoreEnvironment?) throws(Failure) -> [Effect] {
        guard let from = try texts("transferred_from"), let to = try texts("transferred_to") else {
            throw Failure(reason: "/event/transferred_from or /event/transferred_to is missing")
        }
        let (source, target) = (Self.holder(from), Self.holder(to))
        let transfer = Transfer(at: time, eventID: id, from: source, to: target, environment: environment)
        return [.transfer(transfer)] + identity(target)
            + identity(source).filter { effect in
                if case .samePerson = effect { true } else { false }
            }
    }

    private func redeemed(into event: inout NormalizedEvent) throws(Failure) {
        guard try text("redemption_outcome") == "alias" else {
            event.verdict = .observed("a TRANSFER does the move")
            return
        }
        let by = try texts("redeemed_by") ?? []
        let from = try texts("redeemed_from") ?? []
        event.effects = identity(Self.holder(by + from))
        if event.effects.isEmpty { event.verdict = .observed("no user in it") }
    }

    // MARK: - Purchases

    /// RevenueCat's stores whose purchases the gateway may also know from the store itself: one purchase seen twice.
    static func namespace(ofStore store: String) -> String {
        switch store.lowercased() {
        case "app_store", "mac_app_store": "app_store"
        case "play_store": "google_play"
        case let other: "revenuecat:" + other
        }
    }

    /// Stores that an event may mean that names none.
    private static let stores =
        "app_store play_store amazon stripe rc_billing paddle roku paypal galaxy external promotional unknown_store"
        .split(separator: " ").map(String.init)

    /// A chain is known by its store and original transaction, never by product: a store keeps the original transaction
    /// over an upgrade. An event without a store refers to whichever chain has the transaction.
    private func reference(_ store: String) throws(Failure) -> PurchaseReference {
        let original = try text("original_transaction_id")
        let transaction = try text("transaction_id")
        guard let first = original ?? transaction else {
            throw Failure(reason: "/event/original_transaction_id is missing")
        }
        guard !store.isEmpty else {
            let values = [first] + (transaction.map { $0 == first ? [] : [$0] } ?? [])
            let ids = Self.stores.flatMap { store in
                values.map { PurchaseReference.Identifier(id: Self.id($0, of: store), rank: .reference) }
            }
            return PurchaseReference(environment: try environment(), ids: ids, isSecondHand: true)
        }
        // A transaction alone may be any of a chain's: it refers to the chain and names none.
        let rank: ExternalIDRank = original == nil ? .reference : .subscription
        var ids = [PurchaseReference.Identifier(id: Self.id(first, of: store), rank: rank)]
        if let transaction, transaction != first {
            ids.append(.init(id: Self.id(transaction, of: store), rank: .reference))
        }
        return PurchaseReference(environment: try environment(), ids: ids, isSecondHand: true)
    }

    private static func id(_ transaction: String, of store: String) -> ExternalID {
        ExternalID(namespace: namespace(ofStore: store), value: transaction)
    }

    /// Lifecycle events always carry an environment; a temporary grant never does, and is production.
    private func environment() throws(Failure) -> StoreEnvironment {
        if let environment = try RevenueCatEvent.environment(fields) { return environment }
        guard Meaning(type) == .temporaryGrant else { throw Failure(reason: "/event/environment is missing") }
        return .production
    }

    private func lifecycle() throws(Failure) -> [Effect] {
        let store = try text("store") ?? ""
        let reference = try reference(store)
        var facts: [Fact] = []
        if let adjustment = try adjustment() { facts.append(.adjustment(adjustment)) }
        if let state = try state(store) { facts.append(.state(state)) }
        return try with(holder(), facts, reference)
    }

    private func with(_ holder: Holder, _ facts: [Fact], _ reference: PurchaseReference) -> [Effect] {
        var facts = facts
        if !holder.users.isEmpty || !holder.anonymous.isEmpty {
            facts.append(
                .owner(OwnerStatement(source: .own, at: time, users: holder.users, anonymous: holder.anonymous))
            )
        }
        return [.facts(reference, facts)] + identity(holder)
    }

    /// A refund arrives as a cancellation by customer support; its reversal names the same transaction.
    private func adjustment() throws(Failure) -> Adjustment? {
        let standing: Adjustment.Standing
        switch type {
        case "CANCELLATION" where fields["cancel_reason"]?.string == "CUSTOMER_SUPPORT": standing = .effective
        case "REFUND_REVERSED": standing = .withdrawn
        default: return nil
        }
        let original = try text("original_transaction_id") ?? ""
        let transaction = try text("transaction_id") ?? original
        let start = try time("purchased_at_ms")
        // The end of the period is moved to the refund's moment, which may be a little before the event.
        let end = try time("expiration_at_ms")
        return Adjustment(
            id: "refund of \(transaction) at \(start?.value ?? 0)",
            kind: .refund,
            standing: standing,
            size: .full,
            version: time,
            at: min(end ?? time, time),
            payments: [],
            periodStart: end == nil ? nil : start,
            periodEnd: nil
        )
    }

    private func state(_ store: String) throws(Failure) -> PurchaseState? {
        let end = try time("expiration_at_ms")
        let start = try time("purchased_at_ms")
        guard let product = try text("product_id") else { throw Failure(reason: "/event/product_id is missing") }
        var state = PurchaseState(
            periodStart: start,
            version: time,
            condition: .active,
            items: [.init(products: [try text("price_id"), product].compactMap(\.self), end: end)],
            purchasedAt: start,
            entitlements: try entitlements(),
            store: store.lowercased()
        )
        if end == nil {
            // No end: a one-time purchase, or a subscription event that cannot be understood.
            switch type {
            case "NON_RENEWING_PURCHASE": break
            case "EXPIRATION": state.condition = .ended(at: time)
            case "CANCELLATION" where fields["cancel_reason"]?.string == "CUSTOMER_SUPPORT": return nil
            case "REFUND_REVERSED": return nil
            default: throw Failure(reason: "/event/expiration_at_ms is missing")
            }
            state.isOneTime = true
            state.periodStart = nil
            state.willRenew = false
            return state
        }
        guard start != nil else { throw Failure(reason: "/event/purchased_at_ms is missing") }
        switch type {
        case "INITIAL_PURCHASE", "RENEWAL", "UNCANCELLATION":
            state.tellsOfPayment = type != "UNCANCELLATION"
            // A prepaid plan is bought again, never renewed.
            state.willRenew = fields["period_type"]?.string != "PREPAID"
            if fields["period_type"]?.string == "TRIAL" { state.condition = .trialing }
        case "SUBSCRIPTION_EXTENDED", "REFUND_REVERSED":
            if fields["period_type"]?.string == "TRIAL" { state.condition = .trialing }
        case "NON_RENEWING_PURCHASE": state.willRenew = false
        case "SUBSCRIPTION_PAUSED":
            state.willRenew = false
            state.tellsOfPayment = false
        case "CANCELLATION":
            state.willRenew = false
            if fields["cancel_reason"]?.string == "BILLING_ERROR" {
                state.condition = .failing(.init(grace: .store(until: nil), periodIsUnpaid: false))
            } else {
                state.tellsOfPayment = false
                if fields["period_type"]?.string == "TRIAL" { state.condition = .trialing }
            }
        case "BILLING_ISSUE":
            // Null is "none": the store gives no grace, or (Stripe) it is already inside the end.
            let grace = try time("grace_period_expiration_at_ms")
            state.condition = .failing(.init(grace: .store(until: grace), periodIsUnpaid: false))
        case "EXPIRATION":
            let isPause = fields["expiration_reason"]?.string == "SUBSCRIPTION_PAUSED"
            state.condition = isPause ? .paused(at: time) : .ended(at: time)
            state.willRenew = false
        default: return nil
        }
        return state
    }

    /// RevenueCat's own names of what the product gives; none (null) when it is mapped to nothing.
    private func entitlements() throws(Failure) -> [String] {
        if let names = try texts("entitlement_ids") { return names }
        return try text("entitlement_id").map { [$0] } ?? []
    }

    /// A store could not be reached, so RevenueCat lets the buyer in for a day at most; a purchase or an expiration
    /// follows. Without a named entitlement there is nothing to give.
    private func temporaryGrant() throws(Failure) -> [Effect] {
        let holder = try holder()
        let entitlements = try entitlements()
        guard !entitlements.isEmpty || fields["product_id"]?.string != nil else { return identity(holder) }
        let store = try text("store") ?? ""
        let dayLater = time.adding(days: 1)
        let end = min(try time("expiration_at_ms") ?? dayLater, dayLater)
        let transaction = try text("transaction_id") ?? "temporary:" + id
        let reference = PurchaseReference(
            environment: try environment(),
            ids: [.init(id: Self.id(transaction, of: store), rank: .reference)],
            isSecondHand: true
        )
        let state = PurchaseState(
            // Before every period: whatever the store says of the purchase replaces the rest of the grant.
            periodStart: .earliest,
            version: time,
            condition: .active,
            items: [.init(products: try text("product_id").map { [$0] } ?? [], end: end)],
            willRenew: false,
            entitlements: entitlements,
            store: store.lowercased()
        )
        return with(holder, [.state(state)], reference)
    }
}
