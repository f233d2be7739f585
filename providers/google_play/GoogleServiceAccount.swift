public import Crypto
internal import ProviderKit

/// The key of a service account, as Google gives it out in a file, and how it is exchanged for an access token.
///
/// Source: https://developers.google.com/identity/protocols/oauth2/service-account#httprest
public struct GoogleServiceAccount: Sendable {
    private let email: String
    private let keyID: String?
    private let key: PrivateKey
    private let tokenAddress: String

    private static let scope = "https://www.googleapis.com/auth/androidpublisher"
    /// Google takes no assertion that is good for longer.
    private static let secondsMax: Int64 = 3600

    /// - Throws: What of the file cannot be used.
    public init(file: [UInt8]) throws(KeyError) {
        guard let document = JSON(file), document["type"]?.string == "service_account" else {
            throw KeyError("it is no key file of a service account")
        }
        guard let email = document["client_email"]?.string, let pem = document["private_key"]?.string,
            let address = document["token_uri"]?.string
        else { throw KeyError("client_email, private_key or token_uri is missing") }
        guard address.hasPrefix("https://") || address.hasPrefix("http://127.0.0.1") else {
            throw KeyError("token_uri is no https address")
        }
        key = try PrivateKey(pem: Array(pem.utf8))
        guard key.fits(.rs256) else { throw KeyError("private_key is no RSA key") }
        self.email = email
        keyID = document["private_key_id"]?.string
        tokenAddress = address
    }

    /// The request that gives an access token.
    ///
    /// - Parameter seconds: Now, since 1970.
    /// - Throws: When OpenSSL cannot sign.
    func exchange(seconds: Int64) throws(KeyError) -> APICredentialExchange {
        let claims: JSON = .object([
            "iss": .string(email), "scope": .string(Self.scope), "aud": .string(tokenAddress),
            "iat": .integer(seconds), "exp": .integer(seconds + Self.secondsMax),
        ])
        var header = ["typ": "JWT"]
        header["kid"] = keyID
        let assertion = try CompactJWS.sign(claims.bytes, header: header, by: key, with: .rs256)
        let grant = APIRequest.encode("urn:ietf:params:oauth:grant-type:jwt-bearer")
        return APICredentialExchange(
            url: tokenAddress,
            form: "grant_type=\(grant)&assertion=\(APIRequest.encode(assertion))"
        )
    }
}
