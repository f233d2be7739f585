internal import Crypto
public import Entitlements

/// A plain CSV file of subscribers, whatever system it comes from: one line a purchase.
///
/// Columns (those with a star must be there and filled): `provider`* (or named on the command line), `purchase_id`*, and
/// `updated_at`* or another moment the line was true at (`period_start`, `purchased_at`); `user_id`, `customer_id`,
/// `product_id` (several split by semicolons), `status` (`active`, `trialing`, `cancelled`, `past_due`, `unpaid`, `paused`,
/// `expired`, `refunded`), `access_until`, `period_start`, `purchased_at`, `will_renew`, `one_time`, `entitlements`, `store`,
/// `management_url`, `environment`, `refunded_at`, `event_id`. Further columns are not read.
public struct PlainImport: ImportFormat {
    /// Where a provider keeps the ids of its purchases: the namespaces its deliveries use, so that both are one purchase.
    public struct Place: Hashable, Sendable {
        public var subscription: String
        public var oneTime: String

        public init(subscription: String, oneTime: String) {
            self.subscription = subscription
            self.oneTime = oneTime
        }
    }

    private let places: [String: Place]
    private let provider: String?

    /// - Parameter places: The providers that lines may name.
    /// - Parameter provider: The provider of lines that name none.
    public init(places: [String: Place], provider: String?) {
        self.places = places
        self.provider = provider
    }

    public var columns: [String] { provider == nil ? ["provider", "purchase_id"] : ["purchase_id"] }

    public func events(
        of row: ImportRow
    ) throws(ImportFailure) -> [(provider: ProviderID, event: NormalizedEvent)] {
        guard let name = row.text("provider")?.lowercased() ?? provider else {
            throw ImportFailure("provider is missing")
        }
        guard let place = places[name] else { throw ImportFailure("no provider is called \(name)") }
        var purchase = ImportedPurchase(
            provider: ProviderID(name),
            id: try row.required("purchase_id"),
            namespace: place.subscription,
            version: try version(row)
        )
        purchase.eventID = row.text("event_id")
        purchase.store = row.text("store")?.lowercased() ?? name
        let word = row.text("status")?.lowercased() ?? "active"
        purchase.end = try row.end("access_until")
        purchase.isOneTime = try row.flag("one_time") ?? false
        if purchase.isOneTime { purchase.namespace = place.oneTime }
        if let environment = row.text("environment") {
            guard let known = StoreEnvironment(name: environment.lowercased()) else {
                throw ImportFailure("environment is neither production nor sandbox")
            }
            purchase.environment = known
        }
        purchase.products = row.list("product_id")
        if row.has("entitlements") { purchase.entitlements = row.list("entitlements") }
        if purchase.entitlements?.isEmpty == true { purchase.entitlements = nil }
        purchase.periodStart = try row.time("period_start")
        purchase.purchasedAt = try row.time("purchased_at")
        purchase.willRenew = try row.flag("will_renew")
        purchase.managementURL = row.text("management_url")
        purchase.customer = row.text("customer_id")
        if let text = row.text("user_id") {
            guard let user = UserID(text) else { throw ImportFailure("user_id is no user id") }
            purchase.user = user
        }
        try purchase.setStatus(word, refundedAt: try row.time("refunded_at"))
        return [(purchase.provider, try purchase.event(content: row.record.content))]
    }

    /// The moment the line was true at: its own, never that of the import, so that what a provider says later wins.
    private func version(_ row: ImportRow) throws(ImportFailure) -> UnixMillis {
        for column in ["updated_at", "period_start", "purchased_at"] {
            if let moment = try row.time(column) { return moment }
        }
        throw ImportFailure("updated_at is missing (and period_start and purchased_at, which could stand for it)")
    }
}

/// A purchase as a line of a file tells it.
public struct ImportedPurchase: Sendable {
    public var provider: ProviderID
    public var id: String
    public var namespace: String
    public var version: UnixMillis
    public var eventID: String?
    public var environment = StoreEnvironment.production
    public var user: UserID?
    public var customer: String?
    public var products: [String] = []
    public var entitlements: [String]?
    public var store: String?
    public var managementURL: String?
    public var condition = PurchaseState.Condition.active
    public var refundedAt: UnixMillis?
    public var end: UnixMillis?
    public var periodStart: UnixMillis?
    public var purchasedAt: UnixMillis?
    public var willRenew: Bool?
    public var isOneTime = false
    /// The provider moves the period before it is paid.
    public var periodMovesUnpaid = false

    public init(provider: ProviderID, id: String, namespace: String, version: UnixMillis) {
        self.provider = provider
        self.id = id
        self.namespace = namespace
        self.version = version
    }

    /// Sets what a word for the status means.
    public mutating func setStatus(_ word: String, refundedAt: UnixMillis?) throws(ImportFailure) {
        let failure = PurchaseState.Failure(grace: .configured, periodIsUnpaid: periodMovesUnpaid)
        switch word {
        case "active", "lifetime": condition = .active
        case "trialing", "trial": condition = .trialing
        case "cancelled", "canceled":
            condition = .active
            willRenew = false
        case "past_due": condition = .failing(failure)
        case "unpaid": condition = .unpaid(failure)
        case "paused": condition = .paused(at: version)
        case "expired", "ended":
            condition = .ended(at: min(end ?? version, version))
            willRenew = false
        case "refunded":
            condition = .active
            willRenew = false
        case "incomplete": condition = .incomplete
        default: throw ImportFailure("status \(word) is not known")
        }
        self.refundedAt = refundedAt ?? (word == "refunded" ? version : nil)
    }

    /// The event, known again by its own id or else by the line's content.
    public func event(content: [UInt8]) throws(ImportFailure) -> NormalizedEvent {
        switch condition {
        case .trialing, .active, .failing, .unpaid, .collectionPaused:
            guard isOneTime || end != nil else {
                throw ImportFailure(
                    "access_until is missing; what never ends is told by one_time = true"
                )
            }
        case .incomplete, .paused, .ended: break
        }
        var state = PurchaseState(
            periodStart: isOneTime ? nil : periodStart,
            version: version,
            condition: condition,
            items: [.init(products: products, end: end)],
            willRenew: isOneTime ? false : willRenew,
            isOneTime: isOneTime,
            purchasedAt: purchasedAt ?? (isOneTime ? version : nil),
            entitlements: entitlements,
            store: store,
            managementURL: managementURL
        )
        if state.willRenew == nil, condition == .active || condition == .trialing { state.willRenew = true }
        var facts: [Fact] = [.state(state)]
        if let refundedAt {
            facts.append(
                .adjustment(
                    Adjustment(
                        id: "imported refund of \(id)",
                        kind: .refund,
                        standing: .effective,
                        size: .full,
                        version: refundedAt,
                        at: refundedAt,
                        periodStart: isOneTime ? nil : periodStart
                    )
                )
            )
        }
        if let user { facts.append(.owner(OwnerStatement(source: .own, at: version, users: [user]))) }
        var effects: [Effect] = []
        if let customer {
            let customer = CustomerID(provider: provider, value: customer)
            facts.append(.customer(customer))
            if let user { effects.append(.link(customer, user)) }
        }
        let rank: ExternalIDRank = isOneTime ? .oneTime : .subscription
        let reference = PurchaseReference(
            environment: environment,
            ids: [.init(id: ExternalID(namespace: namespace, value: id), rank: rank)]
        )
        return NormalizedEvent(
            eventID: eventID ?? "import:" + Digest.sha256Hex(content).prefix(32),
            type: "import",
            occurredAt: version,
            environment: environment,
            effects: [.facts(reference, facts)] + effects
        )
    }
}
