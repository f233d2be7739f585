internal import Crypto
internal import Entitlements
internal import ProviderKit

/// What the lists of one customer say, in the product's words.
struct RevenueCatReading {
    /// What ids of the project stand for.
    struct Names {
        var products: [String: String] = [:]
        var entitlements: [String: String] = [:]
    }

    let customer: String
    /// The moment of the answer; deliveries of the last seconds before it are believed before it.
    let at: UnixMillis
    let names: Names

    private var version: UnixMillis { at.adding(millis: -RevenueCatAPI.deliveryWinsMillis) }

    /// One event for everything the customer has; none when there is nothing.
    func events(subscriptions: [JSON], purchases: [JSON]) -> [NormalizedEvent] {
        let effects = subscriptions.flatMap(subscription) + purchases.flatMap(purchase)
        guard !effects.isEmpty else { return [] }
        let content = JSON.array([.string(customer), .array(subscriptions), .array(purchases)])
        let digest = Hex.encode(Array(Digest.sha256(content.bytes).prefix(12)))
        return [
            NormalizedEvent(
                eventID: "api:\(digest):\(at.value)",
                type: "api.customer",
                occurredAt: version,
                environment: nil,
                effects: effects
            )
        ]
    }

    private func subscription(_ item: JSON) -> [Effect] {
        guard let reference = reference(item, "store_subscription_identifier", kind: "subscription"),
            let start = time(item, "current_period_starts_at") ?? time(item, "starts_at"),
            let end = time(item, "current_period_ends_at") ?? time(item, "ends_at"),
            let condition = condition(item, end)
        else { return [] }
        var state = PurchaseState(
            periodStart: start,
            version: version,
            condition: condition,
            items: [.init(products: products(item), end: end)],
            purchasedAt: start,
            entitlements: entitlements(item),
            store: item["store"]?.string?.lowercased(),
            managementURL: item["management_url"]?.string
        )
        switch item["auto_renewal_status"]?.string {
        case "will_renew", "will_change_product", "requires_price_increase_consent", "has_already_renewed":
            state.willRenew = true
        case "will_not_renew", "will_pause": state.willRenew = false
        default: break
        }
        return with(reference, [.state(state)])
    }

    /// Nil for a status that says nothing about access.
    private func condition(_ item: JSON, _ end: UnixMillis) -> PurchaseState.Condition? {
        let gives = item["gives_access"]?.bool
        switch item["status"]?.string {
        case "trialing" where gives != false: return .trialing
        case "active" where gives != false: return .active
        case "in_grace_period":
            // The end of the grace is told only where the subscription's end is later than its period's.
            let until = time(item, "ends_at").flatMap { $0 > end ? $0 : nil }
            let grace: PurchaseState.Grace = until.map { .store(until: $0) } ?? .configured
            return .failing(.init(grace: grace, periodIsUnpaid: false))
        case "in_billing_retry": return .failing(.init(grace: .store(until: nil), periodIsUnpaid: false))
        case "paused": return .paused(at: min(end, version))
        case "expired": return .ended(at: min(time(item, "ends_at") ?? end, version))
        case "incomplete": return .incomplete
        default:
            // More statuses may come: what counts then is whether it gives access.
            return gives.map { $0 ? .active : .ended(at: min(end, version)) }
        }
    }

    private func purchase(_ item: JSON) -> [Effect] {
        guard let reference = reference(item, "store_purchase_identifier", kind: "purchase"),
            let bought = time(item, "purchased_at")
        else { return [] }
        switch item["status"]?.string {
        case "owned":
            let state = PurchaseState(
                version: version,
                condition: .active,
                items: [.init(products: products(item), end: nil)],
                willRenew: false,
                isOneTime: true,
                purchasedAt: bought,
                entitlements: entitlements(item),
                store: item["store"]?.string?.lowercased()
            )
            return with(reference, [.state(state)])
        case "refunded":
            let transaction = item["store_purchase_identifier"]?.string ?? ""
            let refund = Adjustment(
                id: "refund of \(transaction) at \(bought.value)",
                kind: .refund,
                standing: .effective,
                size: .full,
                version: version,
                at: version,
                payments: [],
                periodStart: nil,
                periodEnd: nil
            )
            return with(reference, [.adjustment(refund)])
        default: return []
        }
    }

    // MARK: - Parts

    /// The store's transaction, and RevenueCat's own id, which stays when the transaction changes. Both only refer: which
    /// chain it is, the original transaction of a delivery tells.
    private func reference(_ item: JSON, _ name: String, kind: String) -> PurchaseReference? {
        let environment: StoreEnvironment
        switch item["environment"]?.string {
        case "production": environment = .production
        case "sandbox": environment = .sandbox
        default: return nil
        }
        var ids: [PurchaseReference.Identifier] = []
        if let transaction = item[name]?.string, !transaction.isEmpty {
            let namespace = RevenueCatEvent.namespace(ofStore: item["store"]?.string ?? "")
            ids.append(.init(id: ExternalID(namespace: namespace, value: transaction), rank: .reference))
        }
        if let own = item["id"]?.string, !own.isEmpty {
            ids.append(.init(id: ExternalID(namespace: "revenuecat:\(kind)", value: own), rank: .reference))
        }
        return ids.isEmpty ? nil : PurchaseReference(environment: environment, ids: ids, isSecondHand: true)
    }

    private func with(_ reference: PurchaseReference, _ facts: [Fact]) -> [Effect] {
        let holder = RevenueCatEvent.holder([customer])
        var facts = facts
        if !holder.users.isEmpty || !holder.anonymous.isEmpty {
            let statement = OwnerStatement(
                source: .own,
                at: version,
                users: holder.users,
                anonymous: holder.anonymous
            )
            facts.append(.owner(statement))
        }
        return [.facts(reference, facts)]
    }

    private func products(_ item: JSON) -> [String] {
        guard let id = item["product_id"]?.string else { return [] }
        return [names.products[id] ?? id]
    }

    /// The names; an id without a known name grants nothing, because nobody asks for it by its id.
    private func entitlements(_ item: JSON) -> [String] {
        (item["entitlements"]?["items"]?.array ?? []).compactMap { entitlement in
            entitlement["lookup_key"]?.string ?? entitlement["id"]?.string.flatMap { names.entitlements[$0] }
        }
    }

    private func time(_ item: JSON, _ name: String) -> UnixMillis? {
        item[name]?.integer.map { UnixMillis($0).clamped }
    }
}
