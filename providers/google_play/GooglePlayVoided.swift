internal import Crypto
internal import Entitlements
public import ProviderKit

/// Purchases that were voided: paid back, charged back or taken away. Google keeps the list for thirty days; each entry is taken
/// up as if its notification had come, so that one that got lost does not leave access that nobody pays for.
///
/// Source: https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.voidedpurchases/list
extension GooglePlayAPI {
    static let voidedList = "voidedpurchases"
    private static let daysKept = 30
    /// As many as Google gives at most.
    private static let pageMax = 1000

    public var lists: [APIList] { [APIList(name: Self.voidedList, days: Self.daysKept)] }

    func voided(_ page: APIListPage, _ answers: [APIRequest: APIAnswer]) throws(Stop) -> APIReading {
        var query = [
            ("startTime", String(page.from.value)), ("endTime", String(page.until.value)),
            // Subscriptions as well as what is bought once.
            ("type", "1"), ("includeQuantityBasedPartialRefund", "true"), ("maxResults", String(Self.pageMax)),
        ]
        if let token = page.token { query.append(("token", APIRequest.encode(token))) }
        let text = query.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        let answer = try answer(to: APIRequest(path("voidedpurchases?\(text)")), answers)
        guard answer.status < 300, let body = answer.body else {
            throw .failure(.notUnderstood("Google answered \(answer.status) when asked for voided purchases"))
        }
        // A list without entries has no member for them.
        guard let entries = body["voidedPurchases"].map({ $0.array }) ?? [] else {
            throw .failure(.notUnderstood("Google's list of voided purchases has no entries"))
        }
        let next = body["tokenPagination"]?["nextPageToken"]?.string ?? ""
        return APIReading(followUps: entries.compactMap(reading), nextPage: next.isEmpty ? nil : next)
    }

    /// The notification that Google sends for an entry, to be read as that is. Nil for one that names no purchase.
    private func reading(of entry: JSON) -> APIFollowUp? {
        guard let token = entry["purchaseToken"]?.string, !token.isEmpty,
            let millis = entry["voidedTimeMillis"].flatMap({ $0.integer ?? $0.string.flatMap { Int64($0) } })
        else { return nil }
        let isInPart = entry["voidedQuantity"].map { !$0.isNull } ?? false
        let notification = JSON.object([
            "version": .string("1.0"), "packageName": .string(adapter.package),
            "eventTimeMillis": .string(String(millis)),
            "voidedPurchaseNotification": .object([
                "purchaseToken": .string(token), "orderId": entry["orderId"] ?? .null,
                "refundType": .integer(isInPart ? 2 : 1),
            ]),
        ])
        // The same entry is listed for thirty days.
        let digest = Hex.encode(Array(Digest.sha256(notification.bytes).prefix(16)))
        let id = "voided:\(digest)"
        return .read(id: id, body: GooglePlayPush.body(of: notification, id: id))
    }
}
