public import Crypto
internal import ProviderKit

/// Signs what an app needs to give a customer an offer (contract section 9).
///
/// Source: https://developer.apple.com/documentation/storekit/generating-a-promotional-offer-signature-on-the-server and
/// https://developer.apple.com/documentation/storekit/generating-jws-to-sign-app-store-requests
public struct AppStoreOffers: Sendable {
    /// Key id of the In-App Purchase key in App Store Connect.
    public let keyID: String
    private let key: PrivateKey
    private let bundleID: String
    /// The team's issuer id; only the StoreKit 2 form names it.
    private let issuerID: String?

    /// - Throws: When the key is no P-256 key.
    public init(keyID: String, key: PrivateKey, bundleID: String, issuerID: String?) throws(KeyError) {
        guard key.fits(.es256) else { throw KeyError("the key is no P-256 key") }
        self.keyID = keyID
        self.key = key
        self.bundleID = bundleID
        self.issuerID = issuerID
    }

    /// Whether the StoreKit 2 form can be signed.
    public var signsJWS: Bool { issuerID != nil }

    /// What stands between the parts of the older form.
    private static let separator = "\u{2063}"

    /// The older form: a base64 text of the DER signature over the parts in their order.
    ///
    /// - Parameters:
    ///   - appAccountToken: The UUID the app gives at the purchase, or nothing.
    ///   - nonce: A UUID used once, in lower case.
    ///   - timestamp: Milliseconds since 1970; the signature is good for a day from then.
    /// - Throws: When OpenSSL cannot sign.
    public func promotionalOffer(
        productID: String,
        offerID: String,
        appAccountToken: String?,
        nonce: String,
        timestamp: Int64
    ) throws(KeyError) -> String {
        let parts = [
            bundleID, keyID, productID, offerID, appAccountToken?.lowercased() ?? "", nonce, String(timestamp),
        ]
        let text = parts.joined(separator: Self.separator)
        return Base64.encode(try key.signatureAsMade(of: Array(text.utf8), with: .es256))
    }

    /// What a StoreKit 2 request is about.
    public enum Request: Sendable {
        /// - transactionID: Any transaction of the customer; recommended, so that nobody else can use the text.
        case promotionalOffer(productID: String, offerID: String, transactionID: String?)
        case introductoryOffer(productID: String, isAllowed: Bool, transactionID: String)
    }

    /// The StoreKit 2 form: a signed text.
    ///
    /// - Parameter seconds: Since 1970, when it is signed.
    /// - Throws: When no issuer is known, or OpenSSL cannot sign.
    public func jws(_ request: Request, nonce: String, seconds: Int64) throws(KeyError) -> String {
        guard let issuerID else { throw KeyError("no issuer id is set") }
        var claims: [String: JSON] = [
            "iss": .string(issuerID), "iat": .integer(seconds), "bid": .string(bundleID), "nonce": .string(nonce),
        ]
        switch request {
        case .promotionalOffer(let productID, let offerID, let transactionID):
            claims["aud"] = .string("promotional-offer")
            claims["productId"] = .string(productID)
            claims["offerIdentifier"] = .string(offerID)
            claims["transactionId"] = transactionID.map(JSON.string)
        case .introductoryOffer(let productID, let isAllowed, let transactionID):
            claims["aud"] = .string("introductory-offer-eligibility")
            claims["productId"] = .string(productID)
            claims["allowIntroductoryOffer"] = .bool(isAllowed)
            claims["transactionId"] = .string(transactionID)
        }
        let header = ["kid": keyID, "typ": "JWT"]
        return try CompactJWS.sign(JSON.object(claims).bytes, header: header, by: key, with: .es256)
    }
}
