public import Foundation

/// The gateway's public keys, by which a device checks its token without a network: what `/.well-known/jwks.json` says.
public struct LicenseKeys: Codable, Equatable, Sendable {
    private struct Published: Decodable {
        struct Key: Decodable {
            var kty: String
            var crv: String?
            var kid: String?
            var x: String?
        }

        var keys: [Key]
    }

    private static let keyBytes = 32

    /// Ed25519 keys (RFC 8032), 32 bytes each, by their `kid`.
    let keys: [String: Data]

    /// Of a key set (RFC 7517) that is built into the app, or was fetched.
    ///
    /// - Throws: ``EntitlementClientError/unreadable(_:)`` when there is no Ed25519 key in it.
    public init(keySet: Data) throws(EntitlementClientError) {
        guard let published = try? JSONDecoder().decode(Published.self, from: keySet) else {
            throw .unreadable("a set of keys is expected")
        }
        var found: [String: Data] = [:]
        for key in published.keys where key.kty == "OKP" && key.crv == "Ed25519" {
            guard let kid = key.kid, let x = key.x.flatMap(Base64URL.decode), x.count == Self.keyBytes else { continue }
            found[kid] = x
        }
        guard !found.isEmpty else { throw .unreadable("the set has no Ed25519 key") }
        keys = found
    }
}
