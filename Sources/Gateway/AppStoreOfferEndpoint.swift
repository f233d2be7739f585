internal import Crypto
internal import Entitlements
internal import Foundation
internal import HTTPServer
internal import Platform
internal import ProviderKit
internal import Providers

/// `POST /v1/app_store/promotional-offers` and `POST /v1/app_store/offer-jws` (contract section 9): signatures with which
/// an app gives a customer an offer. Nothing is stored.
extension GatewayHandler {
    private static let partBytesMax = 255

    /// Body: `{"product_id", "offer_id", "app_account_token"?}`.
    func signPromotionalOffer(
        _ asker: Asker,
        _ body: UnsafeRawBufferPointer,
        _ response: inout Response
    ) -> Disposition {
        guard let offers = offers(&response) else { return .done }
        let known: Set = ["product_id", "offer_id", "app_account_token"]
        guard let members = unsafe members(in: body, known: known, &response) else { return .done }
        guard let product = part(members["product_id"]), let offer = part(members["offer_id"]) else {
            return refuse("product_id, offer_id: expected the ids of App Store Connect", &response)
        }
        var token: String?
        if let value = members["app_account_token"], !value.isNull {
            guard let text = value.string, UserID.isUUID(Array(text.utf8)) else {
                return refuse("app_account_token: expected a UUID, as the app gives it at the purchase", &response)
            }
            // An offer of somebody else's is theirs.
            guard asker.bearer == nil || asker.bearer == UserID(text) else {
                return refuse("app_account_token: a user token speaks for its own user only", &response)
            }
            token = text
        }
        let nonce = UUID().uuidString.lowercased()
        let timestamp = now.value
        do throws(KeyError) {
            let signature = try offers.promotionalOffer(
                productID: product,
                offerID: offer,
                appAccountToken: token,
                nonce: nonce,
                timestamp: timestamp
            )
            json.reset()
            json.raw("{")
            json.key("key_id")
            json.string(offers.keyID)
            json.key("nonce")
            json.string(nonce)
            json.key("timestamp")
            json.integer(timestamp)
            json.key("signature")
            json.string(signature)
            json.raw("}")
            send(200, &response)
        } catch {
            cannotSign(error, &response)
        }
        return .done
    }

    /// Body: `{"product_id", "offer_id", "transaction_id"?}`, or for a first offer
    /// `{"product_id", "allow_introductory_offer", "transaction_id"}`.
    func signOfferJWS(
        _ asker: Asker,
        _ body: UnsafeRawBufferPointer,
        _ response: inout Response
    ) -> Disposition {
        guard let offers = offers(&response) else { return .done }
        guard offers.signsJWS else {
            write(Self.notConfigured("APP_STORE_ISSUER_ID is not set"), &response)
            return .done
        }
        let known: Set = ["product_id", "offer_id", "transaction_id", "allow_introductory_offer"]
        guard let members = unsafe members(in: body, known: known, &response) else { return .done }
        guard let product = part(members["product_id"]) else {
            return refuse("product_id: expected the id of App Store Connect", &response)
        }
        let transaction = part(members["transaction_id"])
        guard transaction != nil || members["transaction_id"]?.isNull ?? true else {
            return refuse("transaction_id: expected the id of a transaction of the customer", &response)
        }
        let wanted: AppStoreOffers.Request
        switch (members["offer_id"], members["allow_introductory_offer"]) {
        case (let offer?, nil):
            guard let offer = part(offer) else {
                return refuse("offer_id: expected the id of App Store Connect", &response)
            }
            wanted = .promotionalOffer(productID: product, offerID: offer, transactionID: transaction)
        case (nil, let allow?):
            guard let isAllowed = allow.bool, let transaction else {
                return refuse(
                    "allow_introductory_offer: expected true or false, and transaction_id with it",
                    &response
                )
            }
            // Whoever may say so of themselves begins with a free month again and again.
            guard asker.bearer == nil || !isAllowed else {
                var problem = Problem.forbidden
                problem.detail = "allow_introductory_offer: only a key may allow it"
                write(problem, &response)
                return .done
            }
            wanted = .introductoryOffer(productID: product, isAllowed: isAllowed, transactionID: transaction)
        default: return refuse("expected either offer_id or allow_introductory_offer", &response)
        }
        do throws(KeyError) {
            let text = try offers.jws(wanted, nonce: UUID().uuidString.lowercased(), seconds: now.value / 1000)
            json.reset()
            json.raw("{")
            json.key("key_id")
            json.string(offers.keyID)
            json.key("jws")
            json.string(text)
            json.raw("}")
            send(200, &response)
        } catch {
            cannotSign(error, &response)
        }
        return .done
    }

    private func offers(_ response: inout Response) -> AppStoreOffers? {
        guard let offers = context.registry.offers else {
            write(Self.notConfigured("APP_STORE_OFFER_KEY_ID is not set"), &response)
            return nil
        }
        return offers
    }

    private static func notConfigured(_ detail: String) -> Problem {
        Problem(404, "provider_not_configured", "Not Found", "offers are not signed here: \(detail)")
    }

    private func cannotSign(_ error: KeyError, _ response: inout Response) {
        Log.error("an offer could not be signed", ("reason", .string(error.reason)))
        write(Problem(500, "cannot_sign", "Internal Server Error", "the signature could not be made"), &response)
    }

    /// An id as it stands in App Store Connect. The separator of the signed text must not stand in one, or two texts would
    /// be one.
    private func part(_ value: JSON?) -> String? {
        guard let text = value?.string, !text.isEmpty, text.utf8.count <= Self.partBytesMax,
            !text.unicodeScalars.contains(where: { $0 == "\u{2063}" || $0.properties.generalCategory == .control })
        else { return nil }
        return text
    }
}
