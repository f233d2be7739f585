internal import Entitlements
internal import ProviderKit

/// One transaction and what is known of its renewal: the purchase an event is about.
///
/// Source: https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload and
/// https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload
struct AppStoreTransaction {
    typealias Failure = AppStoreFields.Failure

    enum Kind {
        case subscription
        case nonConsumable
        /// Bought again and again, or for a time that only the seller knows: gives nothing without a product map.
        case consumable
    }

    let fields: AppStoreFields
    let renewal: AppStoreFields?
    let kind: Kind
    let id: String
    let originalID: String
    let productID: String
    let purchasedAt: UnixMillis
    /// The end of the period; always there for a subscription.
    let expires: UnixMillis?

    init(_ fields: AppStoreFields, renewal: AppStoreFields?) throws(Failure) {
        self.fields = fields
        self.renewal = renewal
        id = try fields.required("transactionId", try fields.text("transactionId"))
        originalID = try fields.required("originalTransactionId", try fields.text("originalTransactionId"))
        productID = try fields.required("productId", try fields.text("productId"))
        purchasedAt = try fields.required("purchaseDate", try fields.time("purchaseDate"))
        expires = try fields.time("expiresDate")
        switch try fields.text("type") {
        case "Auto-Renewable Subscription":
            kind = .subscription
            _ = try fields.required("expiresDate", expires)
        case "Non-Consumable": kind = .nonConsumable
        case "Consumable", "Non-Renewing Subscription": kind = .consumable
        default:
            // A kind nobody knows yet is understood only if it says itself when it ends.
            kind = .subscription
            guard expires != nil else {
                throw Failure(reason: "\(fields.place)/type is not known, and there is no expiresDate")
            }
        }
    }

    /// All transactions of a chain share the original one, whatever the product.
    func reference(_ environment: StoreEnvironment) -> PurchaseReference {
        let namespace = AppStoreAdapter.name.name
        let rank: ExternalIDRank = kind == .subscription ? .subscription : .oneTime
        var ids = [PurchaseReference.Identifier(id: ExternalID(namespace: namespace, value: originalID), rank: rank)]
        if id != originalID {
            ids.append(.init(id: ExternalID(namespace: namespace, value: id), rank: .reference))
        }
        return PurchaseReference(environment: environment, ids: ids)
    }

    /// The user the app named at the purchase; a UUID by Apple's own rule, and not the one that stands for nothing.
    func user() throws(Failure) -> UserID? {
        for source in [fields, renewal] {
            guard let token = try source?.text("appAccountToken"), UserID.isUUID(Array(token.utf8)),
                token.contains(where: { $0 != "0" && $0 != "-" })
            else { continue }
            return UserID(token)
        }
        return nil
    }

    // MARK: - Facts

    /// - Parameters:
    ///   - standing: How Apple says the subscription stands; a one-time purchase has none.
    ///   - at: The moment the event speaks of.
    func state(_ standing: AppStoreStanding, at moment: UnixMillis) throws(Failure) -> PurchaseState {
        var state = PurchaseState(
            periodStart: purchasedAt,
            version: moment,
            condition: try isTrial() ? .trialing : .active,
            items: [.init(products: [productID], end: expires)],
            purchasedAt: purchasedAt,
            store: AppStoreAdapter.name.name
        )
        guard kind == .subscription, let expires else {
            state.periodStart = nil
            state.condition = .active
            state.willRenew = false
            state.isOneTime = true
            state.entitlements = kind == .consumable ? [] : nil
            return state
        }
        state.willRenew = try renewal?.number("autoRenewStatus").map { $0 == 1 }
        state.managementURL = Self.managementURL
        switch standing {
        case .active(let tellsOfPayment): state.tellsOfPayment = tellsOfPayment
        case .expired: state.condition = .ended(at: moment)
        case .retrying:
            state.condition = .failing(.init(grace: .store(until: nil), periodIsUnpaid: false))
            // A grace that was promised before ends with these words.
            state.limit = max(expires, moment)
        case .grace:
            guard let until = try renewal?.time("gracePeriodExpiresDate") else {
                throw Failure(reason: "\(renewal?.place ?? "/data/renewalInfo")/gracePeriodExpiresDate is missing")
            }
            state.condition = .failing(.init(grace: .store(until: until), periodIsUnpaid: false))
        }
        return state
    }

    /// Where everyone manages their subscriptions.
    /// Source: https://developer.apple.com/documentation/storekit/handling-subscriptions-billing
    private static let managementURL = "https://apps.apple.com/account/subscriptions"

    private func isTrial() throws(Failure) -> Bool {
        // Older payloads tell an introductory offer and its price, but not what kind of offer it is.
        guard fields.value["offerType"]?.integer == 1 else { return false }
        guard let discount = fields.value["offerDiscountType"]?.string else {
            return fields.value["price"]?.integer == 0
        }
        return discount == "FREE_TRIAL"
    }

    /// A refund or a withdrawal of this transaction; nil when it stands.
    ///
    /// - Parameter revoke: Whether the event itself says that the transaction is taken back, and how.
    func revocation(_ revoke: Revocation?, at moment: UnixMillis) throws(Failure) -> Adjustment? {
        let date = try fields.time("revocationDate")
        guard revoke != nil || date != nil else { return nil }
        // What an upgrade replaced is paid back in part; the period that took its place says the rest.
        if try fields.bool("isUpgraded") == true { return nil }
        let kind = try fields.text("revocationType")
        let isOfFamily = try fields.text("inAppOwnershipType") == "FAMILY_SHARED"
        let isWithdrawn = revoke == .family || kind == "FAMILY_REVOKE" || isOfFamily
        if kind == "REFUND_PRORATED", revoke != .whole, revoke != .family,
            let part = try fields.number("revocationPercentage"), part < Self.wholeMilliunits
        {
            return nil
        }
        return adjustment(isWithdrawn ? .dispute : .refund, .effective, at: min(date ?? moment, moment), moment)
    }

    /// That a refund of this transaction was taken back.
    func reversal(at moment: UnixMillis) -> Adjustment {
        adjustment(.refund, .withdrawn, at: moment, moment)
    }

    /// How an event says that a transaction is taken back.
    enum Revocation {
        case refund
        /// The subscription as a whole is revoked, in Apple's own words.
        case whole
        case family
    }

    /// 100 % in thousandths of a percent, as Apple counts.
    private static let wholeMilliunits: Int64 = 100_000

    private func adjustment(
        _ kind: Adjustment.Kind,
        _ standing: Adjustment.Standing,
        at end: UnixMillis,
        _ moment: UnixMillis
    ) -> Adjustment {
        Adjustment(
            id: "revocation of \(id)",
            kind: kind,
            standing: standing,
            size: .full,
            version: moment,
            at: end,
            periodStart: self.kind == .subscription ? purchasedAt : nil
        )
    }
}

/// How a subscription stands.
enum AppStoreStanding: Equatable {
    /// - tellsOfPayment: False when only the wish to renew changed.
    case active(tellsOfPayment: Bool)
    case expired
    /// A payment failed, Apple tries again, and gives no access meanwhile.
    case retrying
    case grace
}
