internal import Entitlements
internal import ProviderKit

/// One answer of `purchases.productsv2.getproductpurchasev2`, in the product's own words: something bought once.
///
/// Source: https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.productsv2
struct GooglePlayProduct {
    typealias Failure = GooglePlayReading.Failure

    let token: String
    let answer: JSON
    let told: GooglePlayTold

    func translate(into event: inout NormalizedEvent) throws(Failure) {
        let environment: StoreEnvironment =
            answer["testPurchaseContext"]?["fopType"]?.string == "TEST" ? .sandbox : .production
        event.environment = environment
        guard let word = answer["purchaseStateContext"]?["purchaseState"]?.string else {
            throw Failure(reason: "/purchaseStateContext/purchaseState is missing")
        }
        var isCancelled = false
        switch word {
        case "PURCHASED": break
        case "CANCELLED", "CANCELED": isCancelled = true
        case "PENDING":
            event.verdict = .observed("the purchase is not paid yet")
            return
        default:
            event.verdict = .observed("purchaseState \(word) is not known")
            return
        }
        let paidAt = answer["purchaseCompletionTime"]?.string.flatMap { UnixMillis(rfc3339: $0) }
        if isCancelled, paidAt == nil || told.isOf("ONE_TIME_PRODUCT_CANCELED") {
            event.verdict = .observed("the purchase was cancelled before it was paid")
            return
        }
        var facts: [Fact] = [.state(try state(paidAt: paidAt))]
        if isCancelled || told.isVoidedInFull {
            let refund = Adjustment(
                id: "void",
                kind: .refund,
                standing: .effective,
                size: .full,
                version: told.at,
                at: told.happenedAt
            )
            facts.append(.adjustment(refund))
        }
        if let text = answer["obfuscatedExternalAccountId"]?.string, let user = UserID(text) {
            facts.append(.owner(OwnerStatement(source: .own, at: told.at, users: [user])))
        }
        var ids: [PurchaseReference.Identifier] = [
            .init(id: ExternalID(namespace: GooglePlayAdapter.tokenNamespace, value: token), rank: .oneTime)
        ]
        if let order = answer["orderId"]?.string, !order.isEmpty {
            ids.append(
                .init(id: ExternalID(namespace: GooglePlayAdapter.orderNamespace, value: order), rank: .reference)
            )
        }
        event.effects = [.facts(PurchaseReference(environment: environment, ids: ids), facts)]
    }

    private func state(paidAt: UnixMillis?) throws(Failure) -> PurchaseState {
        var items: [PurchaseState.Item] = []
        var isConsumed = false
        for (index, item) in (answer["productLineItem"]?.array ?? []).enumerated() {
            guard let product = item["productId"]?.string, !product.isEmpty else {
                throw Failure(reason: "/productLineItem/\(index)/productId is missing")
            }
            items.append(.init(products: [product], end: nil))
            let consumption = item["productOfferDetails"]?["consumptionState"]?.string
            isConsumed = isConsumed || consumption == "CONSUMPTION_STATE_CONSUMED"
        }
        guard !items.isEmpty else { throw Failure(reason: "/productLineItem is missing") }
        return PurchaseState(
            version: told.at,
            condition: .active,
            items: items,
            willRenew: false,
            isOneTime: true,
            purchasedAt: paidAt?.clamped ?? told.happenedAt,
            // What was used up gives nothing for life; only a product map says what it is good for.
            entitlements: isConsumed ? [] : nil,
            store: "play_store"
        )
    }
}
