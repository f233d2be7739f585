internal import Crypto
internal import Entitlements
internal import HTTPServer
internal import Platform
internal import ProviderKit

/// Who a user token speaks for.
struct SignedInUser: Sendable {
    var user: UserID
    /// The same as bytes, for the gate.
    var bytes: [UInt8]
    /// An address that the issuer has verified.
    var verifiedEmail: String?
    /// From when on the token says nothing any more.
    var until: UnixMillis
}

/// Checks user tokens (RFC 7519) against the issuers of the configuration. Lives on one loop.
///
/// A token that was checked is remembered until it ends, so that a page's many requests cost one signature check.
struct UserTokenVerifier {
    enum Verdict {
        case user(SignedInUser)
        case refused
        /// The token is right in everything else, and names a key of this issuer that is not known yet.
        case needsKeys(Int)
    }

    private struct Mark: Hashable {
        var words: (UInt64, UInt64, UInt64, UInt64)

        init(_ digest: [UInt8]) {
            func word(_ start: Int) -> UInt64 {
                var word: UInt64 = 0
                for index in start..<start + 8 { word = word << 8 | UInt64(digest[index]) }
                return word
            }
            words = (word(0), word(8), word(16), word(24))
        }

        static func == (left: Mark, right: Mark) -> Bool { left.words == right.words }

        func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
    }

    /// Longest token that is looked at.
    static let bytesMax = 16 * 1024
    private static let rememberedMax = 4096

    private let issuers: [TokenIssuer]
    private var keys: [[JWK]?]
    private var remembered: [Mark: SignedInUser] = [:]

    init(_ issuers: [TokenIssuer]) {
        self.issuers = issuers
        keys = issuers.map { _ in nil }
    }

    /// Keys of an issuer as they are published now. What was checked with others has to be checked again.
    mutating func set(_ published: [JWK], of issuer: Int) {
        keys[issuer] = published
        remembered.removeAll(keepingCapacity: true)
    }

    mutating func verify(_ token: UnsafeRawBufferPointer, now: UnixMillis) -> Verdict {
        guard !issuers.isEmpty, token.count > 0, token.count <= Self.bytesMax else { return .refused }
        let mark = Mark(unsafe Digest.sha256(token))
        if let known = remembered[mark] {
            if now < known.until { return .user(known) }
            remembered[mark] = nil
            return .refused
        }
        let verdict = check(unsafe String(decoding: token, as: UTF8.self), now)
        if case .user(let user) = verdict {
            if remembered.count >= Self.rememberedMax { remembered.removeAll(keepingCapacity: true) }
            remembered[mark] = user
        }
        return verdict
    }

    private func check(_ text: String, _ now: UnixMillis) -> Verdict {
        guard let token = CompactJWS(text), let claims = JSON(token.payload), claims.object != nil,
            let algorithm = TokenIssuer.Algorithm(rawValue: token.header.alg)
        else { return .refused }
        var missing: Int?
        for (index, issuer) in issuers.enumerated() where issuer.algorithms.contains(algorithm) {
            guard let user = Self.user(of: claims, by: issuer, now) else { continue }
            switch isSigned(token, algorithm, by: issuer, index) {
            case true?: return .user(user)
            case false?: continue
            case nil: missing = missing ?? index
            }
        }
        return missing.map { .needsKeys($0) } ?? .refused
    }

    /// Nil when the keys that are known say nothing about it.
    private func isSigned(
        _ token: CompactJWS,
        _ algorithm: TokenIssuer.Algorithm,
        by issuer: TokenIssuer,
        _ index: Int
    ) -> Bool? {
        let asymmetric: SignatureAlgorithm
        switch algorithm {
        case .hs256: return issuer.secrets.contains { token.isSigned(bySecret: $0) }
        case .rs256: asymmetric = .rs256
        case .es256: asymmetric = .es256
        case .edDSA: asymmetric = .edDSA
        }
        guard let keys = keys[index] else { return nil }
        let fitting = keys.filter {
            ($0.algorithm == nil || $0.algorithm == algorithm.rawValue) && $0.key.fits(asymmetric)
        }
        guard let kid = token.header.kid else {
            return fitting.contains { token.isSigned(by: $0.key, with: asymmetric) }
        }
        let named = fitting.filter { $0.kid == kid }
        guard !named.isEmpty else {
            // A set whose only key has no id, and a token that names one: the key decides.
            let nameless = fitting.filter { $0.kid == nil }
            if nameless.contains(where: { token.isSigned(by: $0.key, with: asymmetric) }) { return true }
            return nil
        }
        return named.contains { token.isSigned(by: $0.key, with: asymmetric) }
    }

    /// The user, when every claim is as this issuer's must be; the signature is another question.
    private static func user(of claims: JSON, by issuer: TokenIssuer, _ now: UnixMillis) -> SignedInUser? {
        guard claims["iss"]?.string == issuer.issuer else { return nil }
        let audiences = claims["aud"]?.string.map { [$0] } ?? claims["aud"]?.array?.compactMap(\.string) ?? []
        guard audiences.contains(where: issuer.audiences.contains) else { return nil }
        let leeway = issuer.leewaySeconds * 1000
        guard let end = moment(claims["exp"]) else { return nil }
        let until = end.adding(millis: leeway)
        guard now < until else { return nil }
        if let start = claims["nbf"], !start.isNull {
            guard let start = moment(start), start <= now.adding(millis: leeway) else { return nil }
        }
        guard let name = userID(claims, issuer), let user = UserID(issuer.userIDPrefix + name) else { return nil }
        var email: String?
        if claims["email_verified"]?.bool == true || claims["email_verified"]?.string == "true" {
            email = claims["email"]?.string
        }
        return SignedInUser(user: user, bytes: Array(user.value.utf8), verifiedEmail: email, until: until)
    }

    /// Seconds since 1970, whole or not (RFC 7519 section 2, NumericDate).
    private static func moment(_ value: JSON?) -> UnixMillis? {
        let seconds: Double
        switch value {
        case .integer(let whole): seconds = Double(whole)
        case .number(let number): seconds = number
        default: return nil
        }
        guard seconds.isFinite, abs(seconds) < 253_402_300_800 else { return nil }
        return UnixMillis(Int64(seconds * 1000))
    }

    private static func userID(_ claims: JSON, _ issuer: TokenIssuer) -> String? {
        var value: JSON? = claims
        if issuer.userIDClaim.hasPrefix("/") {
            for step in issuer.userIDClaim.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
                value = value?[String(step)]
            }
        } else {
            value = claims[issuer.userIDClaim]
        }
        switch value {
        case .string(let text): return text.isEmpty ? nil : text
        case .integer(let number): return String(number)
        default: return nil
        }
    }
}
