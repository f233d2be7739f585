public import Entitlements
public import ProviderKit

/// The CSV file of "Export" on the Subscriptions page of Stripe's dashboard, one line a subscription, times in UTC to the
/// minute. The user is read from the metadata columns that the seller adds to the export, or comes by the customer later.
public struct StripeImport: ImportFormat {
    public static let name = ProviderID("stripe")

    public init() {}

    public var columns: [String] {
        ["id", "status", "current period start (utc)", "current period end (utc)"]
    }

    public func events(
        of row: ImportRow
    ) throws(ImportFailure) -> [(provider: ProviderID, event: NormalizedEvent)] {
        let word = try row.required("status").lowercased()
        let ended = try row.time("ended at (utc)")
        let start = try row.time("current period start (utc)")
        // The newest moment the line tells of; whatever Stripe says later is newer.
        let canceled = try row.time("canceled at (utc)")
        let moments = [try row.time("created (utc)"), start, canceled, ended].compactMap(\.self)
        guard let version = moments.max() else { throw ImportFailure("no time is in it") }
        var purchase = ImportedPurchase(
            provider: Self.name,
            id: try row.required("id"),
            namespace: Self.name.name,
            version: version
        )
        purchase.store = Self.name.name
        purchase.periodMovesUnpaid = true
        purchase.periodStart = start
        purchase.end = try row.end("current period end (utc)")
        purchase.products = ["plan", "price id", "product", "product id"].compactMap { row.text($0) }
        purchase.customer = row.text("customer id")
        purchase.willRenew = canceled == nil
        if let cancels = try row.flag("cancel at period end") { purchase.willRenew = !cancels }
        if let live = try row.flag("livemode") { purchase.environment = live ? .production : .sandbox }
        for name in Manifest.UserPlace.names {
            guard let text = row.text("\(name.lowercased()) (metadata)") else { continue }
            purchase.user = UserID(text)
            break
        }
        switch word {
        case "active", "trialing", "past_due", "unpaid", "paused": try purchase.setStatus(word, refundedAt: nil)
        case "canceled":
            try purchase.setStatus("ended", refundedAt: nil)
            if let ended { purchase.condition = .ended(at: ended) }
        case "incomplete", "incomplete_expired": try purchase.setStatus("incomplete", refundedAt: nil)
        default: throw ImportFailure("status \(word) is not known")
        }
        return [(Self.name, try purchase.event(content: row.record.content))]
    }
}
