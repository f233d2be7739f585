internal import Crypto
public import Entitlements
internal import Foundation

/// What a client keeps to work without a network: who is entitled to what, on which device, until when.
public struct OfflineToken: Sendable {
    /// `typ` of the header, so that no other token of anybody is taken for one (RFC 8725 section 3.11).
    public static let type = "license+jwt"
    public static let audience = "device"
    /// A client whose clock is behind by this much still takes a fresh token.
    static let clockMillis: Int64 = 300_000

    public var issuer: String
    public var user: UserID
    public var licenseID: String
    public var deviceID: String
    /// What the person is entitled to now, and until when; nil is never.
    public var entitlements: [String: UnixMillis?]
    /// End of the licence's own entitlement; nil is never.
    public var accessUntil: UnixMillis?
    public var issuedAt: UnixMillis
    public var offlineDays: Int

    public init(
        issuer: String,
        user: UserID,
        licenseID: String,
        deviceID: String,
        entitlements: [String: UnixMillis?],
        accessUntil: UnixMillis?,
        issuedAt: UnixMillis,
        offlineDays: Int
    ) {
        self.issuer = issuer
        self.user = user
        self.licenseID = licenseID
        self.deviceID = deviceID
        self.entitlements = entitlements
        self.accessUntil = accessUntil
        self.issuedAt = issuedAt
        self.offlineDays = offlineDays
    }

    /// The earlier of now + `offlineDays` and the end of access: a token never outlives what was paid.
    public var expiresAt: UnixMillis {
        let offline = issuedAt.adding(millis: Int64(offlineDays) * UnixMillis.millisPerDay)
        return min(offline, accessUntil ?? .latest)
    }

    private struct Claims: Encodable {
        var token: OfflineToken

        private enum Name: String, CodingKey {
            case iss, aud, sub, lic, dev, ent, iat, nbf, exp
            case accessUntil = "access_until"
        }

        func encode(to encoder: any Encoder) throws {
            var claims = encoder.container(keyedBy: Name.self)
            try claims.encode(token.issuer, forKey: .iss)
            try claims.encode(OfflineToken.audience, forKey: .aud)
            try claims.encode(token.user.value, forKey: .sub)
            try claims.encode(token.licenseID, forKey: .lic)
            try claims.encode(token.deviceID, forKey: .dev)
            try claims.encode(token.entitlements.mapValues { $0.map(Self.text) }, forKey: .ent)
            try claims.encode(token.accessUntil.map(Self.text), forKey: .accessUntil)
            try claims.encode(Self.seconds(token.issuedAt), forKey: .iat)
            try claims.encode(Self.seconds(token.issuedAt) - OfflineToken.clockMillis / 1000, forKey: .nbf)
            try claims.encode(Self.seconds(token.expiresAt), forKey: .exp)
        }

        private static func seconds(_ moment: UnixMillis) -> Int64 { moment.value / 1000 }

        private static func text(_ moment: UnixMillis) -> String { moment.rfc3339 }
    }

    /// The token as a compact JWS.
    ///
    /// - Throws: When the key cannot sign.
    public func signed(by keys: SigningKeys) throws(SigningKeyError) -> String {
        guard let key = keys.keys.first else { throw SigningKeyError("there is no key to sign with") }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let claims = try? encoder.encode(Claims(token: self)) else { throw SigningKeyError("claims are no JSON") }
        do throws(KeyError) {
            return try CompactJWS.sign(
                [UInt8](claims),
                header: ["kid": key.kid, "typ": Self.type],
                by: key.key,
                with: .edDSA
            )
        } catch {
            throw SigningKeyError(error.reason)
        }
    }
}
