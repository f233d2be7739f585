internal import Entitlements
internal import ProviderKit

/// One answer of `purchases.subscriptionsv2.get`, in the product's own words.
///
/// Source: https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2
struct GooglePlaySubscription {
    typealias Failure = GooglePlayReading.Failure

    let token: String
    let answer: JSON
    let told: GooglePlayTold

    func translate(into event: inout NormalizedEvent) throws(Failure) {
        let environment: StoreEnvironment = answer["testPurchase"]?.object != nil ? .sandbox : .production
        event.environment = environment
        guard let word = answer["subscriptionState"]?.string else {
            throw Failure(reason: "/subscriptionState is missing")
        }
        guard let standing = Standing(rawValue: word) else {
            event.verdict = .observed("subscriptionState \(word) is not known")
            return
        }
        switch standing {
        case .pending:
            event.verdict = .observed("the purchase is not paid yet")
            return
        case .pendingCanceled:
            event.verdict = .observed("the purchase was cancelled before it was paid")
            return
        default: break
        }
        var facts: [Fact] = [.state(try state(standing))]
        facts += takenBack(standing).map(Fact.adjustment)
        let user = Self.user(of: answer)
        if let user { facts.append(.owner(OwnerStatement(source: .own, at: told.at, users: [user]))) }
        event.effects = [.facts(reference(environment), facts)]
        if let user { event.effects.append(.link(GooglePlayReading.customer(token), user)) }
        if let replaced = answer["linkedPurchaseToken"]?.string, !replaced.isEmpty, replaced != token {
            let id = ExternalID(namespace: GooglePlayAdapter.tokenNamespace, value: replaced)
            let old = PurchaseReference(environment: environment, ids: [.init(id: id, rank: .subscription)])
            event.effects.append(.facts(old, [.superseded(at: try time(answer["startTime"], "/startTime") ?? told.at)]))
        }
    }

    // MARK: - State

    private enum Standing: String {
        case pending = "SUBSCRIPTION_STATE_PENDING"
        case active = "SUBSCRIPTION_STATE_ACTIVE"
        case paused = "SUBSCRIPTION_STATE_PAUSED"
        case grace = "SUBSCRIPTION_STATE_IN_GRACE_PERIOD"
        case onHold = "SUBSCRIPTION_STATE_ON_HOLD"
        case canceled = "SUBSCRIPTION_STATE_CANCELED"
        case expired = "SUBSCRIPTION_STATE_EXPIRED"
        case pendingCanceled = "SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED"

        var givesAccess: Bool {
            switch self {
            case .active, .grace, .canceled: true
            case .pending, .paused, .onHold, .expired, .pendingCanceled: false
            }
        }
    }

    private func state(_ standing: Standing) throws(Failure) -> PurchaseState {
        let items = try items()
        guard let end = items.compactMap(\.end).max() else { throw Failure(reason: "no line item has an expiryTime") }
        let closing = min(end, told.at)
        // The answer names no period, only the end: the newest answer applies.
        var state = PurchaseState(
            version: told.at,
            condition: .active,
            items: items,
            willRenew: willRenew(standing),
            purchasedAt: try time(answer["startTime"], "/startTime"),
            store: "play_store",
            managementURL: Self.managementURL
        )
        switch standing {
        case .active, .canceled: state.condition = isTrial ? .trialing : .active
        case .grace:
            // The end is already the extended one.
            state.condition = .failing(.init(grace: .store(until: end), periodIsUnpaid: false))
        case .onHold:
            state.condition = .failing(.init(grace: .store(until: nil), periodIsUnpaid: false))
            state.limit = closing
        case .paused: state.condition = .paused(at: closing)
        case .expired: state.condition = .ended(at: end <= told.at ? end : told.happenedAt)
        case .pending, .pendingCanceled: state.condition = .incomplete
        }
        return state
    }

    private var lineItems: [JSON] { answer["lineItems"]?.array ?? [] }

    /// Items that have a time; one without is still to be paid.
    private func items() throws(Failure) -> [PurchaseState.Item] {
        var items: [PurchaseState.Item] = []
        for (index, item) in lineItems.enumerated() {
            guard let product = item["productId"]?.string, !product.isEmpty else {
                throw Failure(reason: "/lineItems/\(index)/productId is missing")
            }
            guard let end = try time(item["expiryTime"], "/lineItems/\(index)/expiryTime") else { continue }
            // A map may name the base plan as other providers write it, or the product.
            let plan = item["offerDetails"]?["basePlanId"]?.string.map { ["\(product):\($0)"] } ?? []
            items.append(.init(products: plan + [product], end: end))
        }
        return items
    }

    private func willRenew(_ standing: Standing) -> Bool {
        guard standing != .canceled, standing != .expired else { return false }
        return lineItems.contains { $0["autoRenewingPlan"]?["autoRenewEnabled"]?.bool == true }
    }

    private var isTrial: Bool {
        lineItems.contains { $0["offerPhase"]?["freeTrial"]?.object != nil }
    }

    /// Where everyone manages their subscriptions.
    /// Source: https://developer.android.com/google/play/billing/subscriptions#use-deep
    private static let managementURL = "https://play.google.com/store/account/subscriptions"

    private func time(_ value: JSON?, _ place: String) throws(Failure) -> UnixMillis? {
        guard let value, !value.isNull else { return nil }
        guard let text = value.string, let moment = UnixMillis(rfc3339: text) else {
            throw Failure(reason: "\(place) is no RFC 3339 time")
        }
        return moment.clamped
    }

    // MARK: - Refunds

    /// What was paid back or taken back, where the notification says so and the answer shows that the subscription is over;
    /// and that nothing was, where a purchase is seen to go on. A refund of an older order leaves the present period.
    private func takenBack(_ standing: Standing) -> [Adjustment] {
        let isRevoked = told.isOf(GooglePlayNotification.revokedType)
        if standing == .expired, isRevoked || told.isVoidedInFull {
            let ends = lineItems.compactMap { $0["expiryTime"]?.string.flatMap { UnixMillis(rfc3339: $0) } }
            let end = ends.max().map { $0 <= told.at ? $0 : told.happenedAt } ?? told.happenedAt
            return [adjustment(isRevoked ? .dispute : .refund, .effective, at: end)]
        }
        let goesOn = ["RECOVERED", "RENEWED", "PURCHASED", "RESTARTED"].contains { told.isOf("SUBSCRIPTION_" + $0) }
        guard standing.givesAccess, goesOn || told.notification == nil else { return [] }
        // An answer that says nothing of money back may be older than the word that it was given back.
        let version = goesOn ? told.at : told.at.adding(millis: -Self.silenceMillis)
        return [Adjustment.Kind.dispute, .refund].map { adjustment($0, .withdrawn, at: told.at, version: version) }
    }

    /// So much older than its answer is what silence says.
    private static let silenceMillis: Int64 = 3_600_000

    private func adjustment(
        _ kind: Adjustment.Kind,
        _ standing: Adjustment.Standing,
        at end: UnixMillis,
        version: UnixMillis? = nil
    ) -> Adjustment {
        Adjustment(
            id: kind == .dispute ? "revocation" : "void",
            kind: kind,
            standing: standing,
            size: .full,
            version: version ?? told.at,
            at: end
        )
    }

    // MARK: - Names

    /// The token, and the orders by which others know the purchase: a renewal's order is the first one with `..N` behind it.
    private func reference(_ environment: StoreEnvironment) -> PurchaseReference {
        let name = ExternalID(namespace: GooglePlayAdapter.tokenNamespace, value: token)
        var ids = [PurchaseReference.Identifier(id: name, rank: .subscription)]
        let told =
            lineItems.compactMap { $0["latestSuccessfulOrderId"]?.string }
            + [answer["latestOrderId"]?.string].compactMap { $0 }
        var orders: Set<String> = []
        for order in told where !order.isEmpty {
            orders.insert(order.firstRange(of: "..").map { String(order[..<$0.lowerBound]) } ?? order)
        }
        for order in orders.sorted() {
            ids.append(
                .init(id: ExternalID(namespace: GooglePlayAdapter.orderNamespace, value: order), rank: .reference)
            )
        }
        return PurchaseReference(environment: environment, ids: ids)
    }

    /// The user the app named at the purchase, or at the one it goes on from.
    static func user(of answer: JSON) -> UserID? {
        let named = [
            answer["externalAccountIdentifiers"],
            answer["outOfAppPurchaseContext"]?["expiredExternalAccountIdentifiers"],
        ]
        for identifiers in named {
            guard let text = identifiers?["obfuscatedExternalAccountId"]?.string, let user = UserID(text) else {
                continue
            }
            return user
        }
        return nil
    }
}
