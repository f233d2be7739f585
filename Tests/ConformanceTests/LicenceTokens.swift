import COpenSSL
import Foundation
import TestSupport

/// `verify_token`: a licence token is taken apart, and its signature checked by the gateway's published keys.
struct VerifyTokenStep: Sendable {
    let token: String
    let header: JSONObject
    let claims: JSONObject

    init(_ reader: inout ObjectReader) throws(ConformanceError) {
        token = try reader.required("verify_token")
        header = try reader.object("expect_header") ?? JSONObject()
        claims = try reader.object("expect_claims") ?? JSONObject()
    }
}

/// Checks licence tokens straight with OpenSSL: the gateway's own code must not judge itself.
enum LicenceTokens {
    static func open(
        _ token: String,
        by keySet: [UInt8]
    ) throws(ConformanceError) -> (header: JSONValue, claims: JSONValue) {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let header = try? JSONValue(parsing: bytes(parts[0])),
            let claims = try? JSONValue(parsing: bytes(parts[1]))
        else { throw .mismatch("the token is no JWS") }
        guard case .object(let names) = header, names["alg"] == "EdDSA", let kid = names["kid"] else {
            throw .mismatch("the token's header is \(header.compact)")
        }
        guard let document = try? JSONValue(parsing: keySet), case .object(let set) = document,
            case .array(let keys)? = set["keys"]
        else { throw .mismatch("no key set") }
        for key in keys {
            guard case .object(let members) = key, members["kid"] == kid, let x = members["x"]?.string else { continue }
            guard isSigned(bytes(parts[2]), of: Array((parts[0] + "." + parts[1]).utf8), by: bytes(x)) else {
                throw .mismatch("the signature is not the published key's")
            }
            return (header, claims)
        }
        throw .mismatch("no published key has the id \(kid.compact)")
    }

    private static func isSigned(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
        guard let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, key, key.count) else { return false }
        defer { EVP_PKEY_free(key) }
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { return false }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    private static func bytes(_ text: String) -> [UInt8] {
        let standard = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        let padded = standard + String(repeating: "=", count: (4 - text.count % 4) % 4)
        return Data(base64Encoded: padded).map { [UInt8]($0) } ?? []
    }
}
