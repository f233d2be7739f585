internal import COpenSSL
internal import Foundation

/// A public key as JSON (RFC 7517, RFC 7518 section 6, RFC 8037 section 2): P-256, RSA or Ed25519.
public struct JWK: Sendable {
    public let kid: String?
    public let key: PublicKey
    /// The algorithm the key is for, where it says so.
    public let algorithm: String?

    private struct Fields: Decodable {
        var kty: String
        var kid: String?
        var use: String?
        var alg: String?
        var crv: String?
        var x: String?
        var y: String?
        var n: String?
        var e: String?
    }

    private struct KeySet: Decodable {
        /// One key that cannot be read does not spoil the others.
        struct Entry: Decodable {
            var fields: Fields?

            init(from decoder: any Decoder) throws {
                fields = try? Fields(from: decoder)
            }
        }

        var keys: [Entry]
    }

    /// The keys of a set (RFC 7517 section 5) that can check signatures; others are passed over. Nil when it is no set.
    public static func keys(ofSet json: [UInt8]) -> [JWK]? {
        guard let set = try? JSONDecoder().decode(KeySet.self, from: Data(json)) else { return nil }
        return set.keys.compactMap { $0.fields.flatMap(JWK.init) }
    }

    private init?(_ fields: Fields) {
        guard fields.use == nil || fields.use == "sig", let key = Self.key(fields) else { return nil }
        self.key = key
        kid = fields.kid
        algorithm = fields.alg
    }

    private static func key(_ fields: Fields) -> PublicKey? {
        func number(_ text: String?) -> [UInt8]? { text.flatMap { Base64.decodeURL($0.utf8) } }
        switch (fields.kty, fields.crv) {
        case ("EC", "P-256"):
            guard let x = number(fields.x), let y = number(fields.y), x.count == 32, y.count == 32 else { return nil }
            // SubjectPublicKeyInfo of P-256 is a constant before the uncompressed point (RFC 5480).
            return PublicKey(der: p256Prefix + x + y)
        case ("OKP", "Ed25519"):
            guard let x = number(fields.x), x.count == 32 else { return nil }
            // The same for Ed25519 (RFC 8410).
            return PublicKey(der: ed25519Prefix + x)
        case ("RSA", _):
            guard let modulus = number(fields.n), let exponent = number(fields.e), modulus.count <= modulusBytesMax,
                exponent.count <= exponentBytesMax
            else { return nil }
            return rsaKey(modulus: modulus, exponent: exponent)
        default: return nil
        }
    }

    private static let p256Prefix: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
        0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
    ]
    private static let ed25519Prefix: [UInt8] = [
        0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
    ]

    /// 8192 bits: a longer key only makes checking slow.
    private static let modulusBytesMax = 1024
    private static let exponentBytesMax = 8

    private static func rsaKey(modulus: [UInt8], exponent: [UInt8]) -> PublicKey? {
        // Both buffers are held for the length of the call.
        let key = unsafe modulus.withUnsafeBufferPointer { n in
            unsafe exponent.withUnsafeBufferPointer { e in
                unsafe openssl_rsa_public_key(n.baseAddress, Int32(n.count), e.baseAddress, Int32(e.count))
            }
        }
        guard let key = unsafe key else {
            ERR_clear_error()
            return nil
        }
        return unsafe PublicKey(owning: key)
    }
}
