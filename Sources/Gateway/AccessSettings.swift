public import Licensing

/// Who may ask besides the holders of keys: signed-in people, licensed devices, web pages, and proxies in between.
public struct AccessSettings: Hashable, Sendable {
    /// Whose user tokens count.
    public var issuers: [TokenIssuer] = []
    public var licenses = LicenseSettings()
    /// Origins of web pages that may read `/v1/me/…` and the licence paths; `*` is every page, without cookies.
    public var origins: [String] = []
    /// Proxies whose word counts for where a request comes from.
    public var trustedProxies: [AddressRange] = []
    /// What offline tokens name as their issuer.
    public var publicURL: String?
    /// Whether a keyed hash of a buyer's address is kept.
    public var claimsByEmail = false

    public init() {}

    /// The settings that have another value there, by their names in `gateway.json`.
    func differences(from other: AccessSettings) -> [String] {
        [
            ("jwt", issuers != other.issuers), ("licenses", licenses != other.licenses),
            ("cors", origins != other.origins), ("trusted_proxies", trustedProxies != other.trustedProxies),
            ("public_url", publicURL != other.publicURL), ("claim_by_email", claimsByEmail != other.claimsByEmail),
        ]
        .filter(\.1).map(\.0)
    }

    /// `iss` of offline tokens.
    var tokenIssuer: String { publicURL ?? "entitlement-gateway" }
}

/// One issuer of user tokens (an entry of `jwt` in `gateway.json`).
public struct TokenIssuer: Hashable, Sendable {
    /// How tokens may be signed. The configuration says it, never the token.
    public enum Algorithm: String, Sendable, CaseIterable {
        case hs256 = "HS256"
        case rs256 = "RS256"
        case es256 = "ES256"
        case edDSA = "EdDSA"
    }

    /// Where an issuer publishes its keys.
    public enum KeySource: Hashable, Sendable {
        case url(String)
        case file(String)
    }

    public var issuer: String
    /// One of these must be in the token's `aud`.
    public var audiences: [String]
    public var algorithms: Set<Algorithm>
    public var keys: KeySource?
    /// Shared secrets that are valid at once.
    public var secrets: [[UInt8]] = []
    /// The claim with the user id.
    public var userIDClaim = "sub"
    /// What stands before the user ids of this issuer, to keep two issuers apart.
    public var userIDPrefix = ""
    /// A cookie that may hold the token, for reading.
    public var cookie: String?
    /// How far clocks may be apart, in seconds.
    public var leewaySeconds: Int64 = 30
}
