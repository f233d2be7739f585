public import Foundation

/// Why a token lets nobody in.
public enum LicenseTokenFault: Error, Equatable, Sendable {
    /// It is no token of the kind that the gateway makes.
    case malformed
    /// Signed by a key that this app does not know.
    case unknownKey
    case badSignature
    /// Made for another device.
    case otherDevice
    /// Made by another gateway.
    case otherIssuer
    case notYetValid
    /// By the latest time that this device has seen: a clock that was set back does not make it good again.
    case expired
}

/// What a licensed device holds to work without a network: a JWT signed by the gateway, whose signature, device and times
/// were checked.
public struct LicenseToken: Equatable, Sendable {
    /// The user's id.
    public let userID: String
    public let licenseID: String
    public let deviceID: String
    /// Each entitlement of the person, and its end; nil is "for life".
    public let entitlements: [String: Date?]
    /// End of what was paid; nil is "for life".
    public let accessUntil: Date?
    public let issuedAt: Date
    /// Until when the device may go on without asking; never after ``accessUntil``.
    public let expiresAt: Date

    /// When to ask the gateway again, so that a renewal is there before this token ends: at half of its time.
    public var asksAgainAt: Date { issuedAt.addingTimeInterval(expiresAt.timeIntervalSince(issuedAt) / 2) }

    private struct Header: Decodable {
        var alg: String
        var kid: String
        var typ: String
        /// Extensions that a reader must know (RFC 7515 section 4.1.11): none is known here.
        var crit: [String]?
    }

    private struct Claims: Decodable {
        var iss: String
        var aud: String
        var sub: String
        var lic: String
        var dev: String
        var ent: [String: Date?]
        var accessUntil: Date?
        var iat: Double
        var nbf: Double
        var exp: Double

        private enum CodingKeys: String, CodingKey {
            case iss, aud, sub, lic, dev, ent, iat, nbf, exp
            case accessUntil = "access_until"
        }
    }

    /// Checks a token in this order: form, key, signature, and only then what it says.
    ///
    /// - Parameters:
    ///   - now: The latest time that is known, and not only what the clock shows.
    ///   - issuer: `public_url` of the gateway; nil accepts any that has the keys.
    public init(
        _ text: String,
        keys: LicenseKeys,
        deviceID: String,
        issuer: String? = nil,
        now: Date
    ) throws(LicenseTokenFault) {
        let claims = try Self.claims(text, keys: keys)
        guard claims.dev == deviceID else { throw .otherDevice }
        guard issuer == nil || claims.iss == issuer else { throw .otherIssuer }
        let seconds = now.timeIntervalSince1970
        guard seconds >= claims.nbf else { throw .notYetValid }
        guard seconds < claims.exp else { throw .expired }
        userID = claims.sub
        licenseID = claims.lic
        self.deviceID = claims.dev
        entitlements = claims.ent
        accessUntil = claims.accessUntil
        issuedAt = Date(timeIntervalSince1970: claims.iat)
        expiresAt = Date(timeIntervalSince1970: claims.exp)
    }

    /// When the gateway signed this token, whatever the time is now.
    static func issue(_ text: String, keys: LicenseKeys) throws(LicenseTokenFault) -> Date {
        Date(timeIntervalSince1970: try claims(text, keys: keys).iat)
    }

    private static func claims(_ text: String, keys: LicenseKeys) throws(LicenseTokenFault) -> Claims {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let head = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2]),
            let header = try? JSONDecoder().decode(Header.self, from: head), header.alg == "EdDSA",
            header.typ == "license+jwt", header.crit == nil
        else { throw .malformed }
        guard let key = keys.keys[header.kid] else { throw .unknownKey }
        guard Ed25519Signature.isGood(signature, of: Data((parts[0] + "." + parts[1]).utf8), by: key) else {
            throw .badSignature
        }
        guard let claims = try? GatewayTime.decoder().decode(Claims.self, from: payload), claims.aud == "device" else {
            throw .malformed
        }
        return claims
    }
}
