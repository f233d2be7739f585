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

    /// The claims as JSON, written by hand: a licence is validated about as often as the gate is asked.
    private var claims: String {
        let entitlements = entitlements.sorted { $0.key < $1.key }.map {
            "\(Self.quoted($0.key)):\(Self.text($0.value))"
        }
        return """
            {"access_until":\(Self.text(accessUntil)),"aud":"\(Self.audience)","dev":\(Self.quoted(deviceID)),\
            "ent":{\(entitlements.joined(separator: ","))},"exp":\(Self.seconds(expiresAt)),"iat":\(Self.seconds(issuedAt)),\
            "iss":\(Self.quoted(issuer)),"lic":\(Self.quoted(licenseID)),\
            "nbf":\(Self.seconds(issuedAt) - Self.clockMillis / 1000),"sub":\(Self.quoted(user.value))}
            """
    }

    private static func seconds(_ moment: UnixMillis) -> Int64 { moment.value / 1000 }

    private static func text(_ moment: UnixMillis?) -> String { moment.map { "\"\($0.rfc3339)\"" } ?? "null" }

    /// A text as JSON. Foundation writes the few that need an escape.
    private static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        guard !isPlain else { return "\"\(text)\"" }
        return (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }

    /// The token as a compact JWS.
    ///
    /// - Throws: When the key cannot sign.
    public func signed(by keys: SigningKeys) throws(SigningKeyError) -> String {
        guard let key = keys.keys.first else { throw SigningKeyError("there is no key to sign with") }
        do throws(KeyError) {
            return try CompactJWS.sign(Array(claims.utf8), encodedHeader: key.tokenHeader, by: key.key, with: .edDSA)
        } catch {
            throw SigningKeyError(error.reason)
        }
    }
}
