internal import Crypto
public import Entitlements
public import ProviderKit

/// The transactions file of RevenueCat's scheduled data exports, one line a transaction: each line is put in the words of
/// the webhooks that told of it, so that both mean the same.
///
/// Source: https://www.revenuecat.com/docs/integrations/scheduled-data-exports/transactions (columns, times in UTC).
public struct RevenueCatImport: ImportFormat {
    public static let name = RevenueCatAdapter.name

    private let adapter = RevenueCatAdapter(secrets: .init(authorization: nil, signing: []))
    private let hasMap: Bool

    /// - Parameter hasMap: The seller's product map decides what a product gives, so the file need not.
    public init(hasMap: Bool) {
        self.hasMap = hasMap
    }

    public var columns: [String] {
        ["rc_original_app_user_id", "product_identifier", "start_time", "end_time", "store", "store_transaction_id"]
            + (hasMap ? [] : ["entitlement_identifiers"])
    }

    public func events(
        of row: ImportRow
    ) throws(ImportFailure) -> [(provider: ProviderID, event: NormalizedEvent)] {
        guard let start = try row.time("start_time") else { throw ImportFailure("start_time is missing") }
        let end = try row.time("end_time")
        let refunded = try row.time("refunded_at")
        let unsubscribed = try row.time("unsubscribe_detected_at")
        let failed = try row.time("billing_issues_detected_at")
        let renews = try row.flag("is_auto_renewable") ?? (end != nil)
        guard end != nil || !renews else { throw ImportFailure("end_time is missing") }
        var fields = try common(row, start)
        fields["expiration_at_ms"] = end.map { .integer($0.value) } ?? .null
        let id = "import:" + Digest.sha256Hex(row.record.content).prefix(32)
        var events: [(provider: ProviderID, event: NormalizedEvent)] = []
        func say(_ type: String, at moment: UnixMillis, _ more: [String: JSON] = [:]) throws(ImportFailure) {
            var all = fields.merging(more) { $1 }
            all["type"] = .string(type)
            all["id"] = .string("\(id):\(type.lowercased())")
            all["event_timestamp_ms"] = .integer(moment.value)
            let body = JSON.object(["event": .object(all)]).bytes
            let event = adapter.normalize(VerifiedDelivery(verified: body))
            if case .quarantined(let reason) = event.verdict { throw ImportFailure(reason) }
            events.append((RevenueCatAdapter.name, event))
        }
        try say(renews ? "RENEWAL" : "NON_RENEWING_PURCHASE", at: start)
        if let unsubscribed, unsubscribed >= start {
            try say("CANCELLATION", at: unsubscribed, ["cancel_reason": .string("UNSUBSCRIBE")])
        }
        if let failed, failed >= start {
            let grace = try row.time("grace_period_end_time")
            let until: JSON = grace.map { .integer($0.value) } ?? .null
            try say("BILLING_ISSUE", at: failed, ["grace_period_expiration_at_ms": until])
        }
        if let refunded {
            let moved: JSON = end == nil ? .null : .integer(refunded.value)
            try say(
                "CANCELLATION",
                at: refunded,
                ["cancel_reason": .string("CUSTOMER_SUPPORT"), "expiration_at_ms": moved]
            )
        }
        return events
    }

    private func common(_ row: ImportRow, _ start: UnixMillis) throws(ImportFailure) -> [String: JSON] {
        let original = try row.required("rc_original_app_user_id")
        let transaction = try row.required("store_transaction_id")
        let isSandbox = try row.flag("is_sandbox") ?? false
        var fields: [String: JSON] = [
            "app_user_id": .string(row.text("rc_last_seen_app_user_id_alias") ?? original),
            "original_app_user_id": .string(original),
            "product_id": .string(try row.required("product_identifier")),
            "purchased_at_ms": .integer(start.value),
            "environment": .string(isSandbox ? "SANDBOX" : "PRODUCTION"),
            "store": .string(try row.required("store").uppercased()),
            "transaction_id": .string(transaction),
            "original_transaction_id": .string(row.text("original_store_transaction_id") ?? transaction),
            "entitlement_ids": .array(Self.names(row.text("entitlement_identifiers")).map { .string($0) }),
        ]
        if try row.flag("is_trial_period") == true { fields["period_type"] = .string("TRIAL") }
        return fields
    }

    /// A list as the versions of the export write it: `["pro","plus"]`, `[pro,plus]` or `{pro,plus}`.
    private static func names(_ text: String?) -> [String] {
        (text ?? "").split { "[]{},\"".contains($0) }
            .map { String($0.drop { $0 == " " }) }.filter { !$0.isEmpty }
    }
}
