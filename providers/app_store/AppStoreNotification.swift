internal import Entitlements
internal import ProviderKit

/// A notification (version 2) that was checked and opened, in the product's own words.
///
/// Source: https://developer.apple.com/documentation/appstoreservernotifications/notificationtype
struct AppStoreNotification {
    typealias Failure = AppStoreFields.Failure

    let fields: AppStoreFields
    let type: String
    let subtype: String?
    /// When Apple signed it: the moment it speaks of. A repeated delivery is signed anew and tells the state of then.
    let moment: UnixMillis

    /// Sets the event's id, type, time and environment as far as they can be read.
    init(_ document: JSON, into event: inout NormalizedEvent) throws(Failure) {
        fields = AppStoreFields(value: document, place: "")
        let id = try fields.required("notificationUUID", try fields.text("notificationUUID"))
        event.eventID = id
        let type = try fields.required("notificationType", try fields.text("notificationType"))
        let subtype = try fields.text("subtype")
        (self.type, self.subtype) = (type, subtype)
        event.type = subtype.map { "\(type)/\($0)" } ?? type
        moment = try fields.required("signedDate", try fields.time("signedDate"))
        event.occurredAt = moment
        let part = ["data", "summary", "appData"].lazy.compactMap { document[$0]?.object }.first
        event.environment = Self.environment(part?["environment"])
    }

    static func environment(_ value: JSON?) -> StoreEnvironment? {
        switch value?.string {
        case "Production": .production
        case "Sandbox": .sandbox
        default: nil
        }
    }

    /// Types that say something of a purchase; all others are recorded and change nothing.
    private static let meaningful: Set<String> = [
        "SUBSCRIBED", "DID_RENEW", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "OFFER_REDEEMED",
        "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "EXPIRED", "REFUND", "REFUND_REVERSED", "REVOKE",
        "RENEWAL_EXTENDED", "ONE_TIME_CHARGE",
    ]

    func translate(into event: inout NormalizedEvent) throws(Failure) {
        guard Self.meaningful.contains(type) else {
            event.verdict = .observed("this type means nothing for access")
            return
        }
        let data = try fields.required("data", try fields.object("data"))
        guard let environment = event.environment else {
            throw Failure(reason: "/data/environment is neither Production nor Sandbox")
        }
        let transaction = try AppStoreTransaction(
            try data.required("transaction", try data.object("transaction")),
            renewal: try data.object("renewalInfo")
        )
        let status = try data.number("status")
        guard let standing = standing(status) else {
            event.verdict = .observed("status \(status ?? 0) is not known")
            return
        }
        var facts: [Fact] = []
        if type == "REFUND_REVERSED" {
            facts.append(.adjustment(transaction.reversal(at: moment)))
        } else if let taken = try transaction.revocation(revocation(status), at: moment) {
            facts.append(.adjustment(taken))
        }
        if !isOfAnOlderPeriod(status) { facts.append(.state(try transaction.state(standing, at: moment))) }
        guard !facts.isEmpty else {
            event.verdict = .observed("a refund that takes nothing away")
            return
        }
        event.effects = try AppStoreAdapter.effects(of: transaction, facts, environment, at: moment)
    }

    /// Apple's own answer where there is one; else what the type says. Nil for an answer nobody knows yet.
    private func standing(_ status: Int64?) -> AppStoreStanding? {
        // What is taken back is one transaction, and the answer is about the whole subscription.
        if type == "REFUND" || type == "REVOKE" { return .active(tellsOfPayment: false) }
        if let status { return AppStoreStanding(status: status) }
        switch type {
        case "DID_FAIL_TO_RENEW": return subtype == "GRACE_PERIOD" ? .grace : .retrying
        case "GRACE_PERIOD_EXPIRED": return .retrying
        case "EXPIRED": return .expired
        case "DID_CHANGE_RENEWAL_STATUS", "RENEWAL_EXTENDED", "REFUND_REVERSED":
            return .active(tellsOfPayment: false)
        case "DID_CHANGE_RENEWAL_PREF", "OFFER_REDEEMED": return .active(tellsOfPayment: subtype == "UPGRADE")
        default: return .active(tellsOfPayment: true)
        }
    }

    /// Where the subscription goes on, what was refunded is not what it goes on with: the refund is all that is told, and
    /// must not stand as the only period known of a purchase that another provider has told of before.
    private func isOfAnOlderPeriod(_ status: Int64?) -> Bool {
        type == "REFUND" && (status == 1 || status == 3 || status == 4)
    }

    private func revocation(_ status: Int64?) -> AppStoreTransaction.Revocation? {
        if type == "REVOKE" { return .family }
        if status == 5 { return .whole }
        return type == "REFUND" ? .refund : nil
    }
}
