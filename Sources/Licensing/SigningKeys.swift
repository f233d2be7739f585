internal import Crypto
public import Entitlements
internal import Foundation

/// A key pair that signs offline tokens. Its id is the thumbprint of its public key (RFC 7638).
public struct SigningKey: Sendable {
    public let kid: String
    public let createdAt: UnixMillis
    /// Nil while it signs. Afterwards the moment until which clients may still hold tokens of it.
    public var publishedUntil: UnixMillis?
    /// The longest life of a token that it has signed, in days.
    public internal(set) var tokenDaysMax: Int
    /// The public key in base64url, as a key set has it.
    let x: String
    let seed: [UInt8]
    let key: PrivateKey
    /// The header of its tokens, as it stands in them.
    let tokenHeader: String

    init(
        seed: [UInt8],
        createdAt: UnixMillis,
        publishedUntil: UnixMillis?,
        tokenDaysMax: Int
    ) throws(SigningKeyError) {
        self.tokenDaysMax = tokenDaysMax
        self.seed = seed
        self.createdAt = createdAt
        self.publishedUntil = publishedUntil
        do throws(KeyError) {
            key = try Ed25519.privateKey(ofSeed: seed)
            x = Base64.encodeURL(try Ed25519.publicKey(ofSeed: seed))
            let thumbprint = "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"\(x)\"}"
            kid = Base64.encodeURL(Digest.sha256(Array(thumbprint.utf8)))
            tokenHeader = try CompactJWS.encode(["kid": kid, "typ": OfflineToken.type], .edDSA)
        } catch {
            throw SigningKeyError(error.reason)
        }
    }
}

/// Why signing keys cannot be used.
public struct SigningKeyError: Error, Sendable, CustomStringConvertible {
    public let reason: String

    public init(_ reason: String) {
        self.reason = reason
    }

    public var description: String { reason }
}

/// The key that signs, and the ones that signed before and are still needed to check.
public struct SigningKeys: Sendable {
    /// The newest first; it signs.
    public private(set) var keys: [SigningKey]

    /// A first key.
    ///
    /// - Throws: When OpenSSL has no Ed25519.
    public static func make(at now: UnixMillis) throws(SigningKeyError) -> SigningKeys {
        SigningKeys(keys: [try fresh(now)])
    }

    private static func fresh(_ now: UnixMillis) throws(SigningKeyError) -> SigningKey {
        try SigningKey(seed: RandomBytes.make(Ed25519.size), createdAt: now, publishedUntil: nil, tokenDaysMax: 0)
    }

    private init(keys: [SigningKey]) {
        self.keys = keys
    }

    /// A new key signs from now on. The old one is published until its last token has run out; what has run out is dropped.
    ///
    /// - Parameter tokenDays: How long a token lives at most by what is configured now.
    /// - Throws: When OpenSSL has no Ed25519.
    public func rotated(at now: UnixMillis, tokenDays: Int) throws(SigningKeyError) -> SigningKeys {
        var old = keys
        if !old.isEmpty, old[0].publishedUntil == nil {
            // A day more: a gateway that runs may sign with the old key for a moment after this.
            old[0].publishedUntil = now.adding(days: max(tokenDays, old[0].tokenDaysMax) + 1)
        }
        return SigningKeys(keys: [try Self.fresh(now)] + old.filter { Self.isPublished($0, at: now) })
    }

    /// The same keys, knowing that tokens of this life are signed; nil when they know already.
    public func signing(tokensOfDays days: Int) -> SigningKeys? {
        guard let first = keys.first, first.tokenDaysMax < days else { return nil }
        var known = self
        known.keys[0].tokenDaysMax = days
        return known
    }

    private static func isPublished(_ key: SigningKey, at now: UnixMillis) -> Bool {
        key.publishedUntil.map { now < $0 } ?? true
    }

    /// The public keys as a key set (RFC 7517 section 5).
    public func publicSet(at now: UnixMillis) -> [UInt8] {
        let entries = keys.filter { Self.isPublished($0, at: now) }.map { key in
            "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"use\":\"sig\",\"alg\":\"EdDSA\",\"kid\":\"\(key.kid)\",\"x\":\"\(key.x)\"}"
        }
        return Array("{\"keys\":[\(entries.joined(separator: ","))]}".utf8)
    }

    // MARK: - As a file

    private struct File: Codable {
        struct Entry: Codable {
            var kid: String
            var seed: String
            var createdAt: Int64
            var publishedUntil: Int64?
            var tokenDaysMax: Int?

            private enum CodingKeys: String, CodingKey {
                case kid, seed
                case createdAt = "created_at"
                case publishedUntil = "published_until"
                case tokenDaysMax = "token_days_max"
            }
        }

        var keys: [Entry]
    }

    /// The secret file's bytes.
    public var encoded: [UInt8] {
        let file = File(
            keys: keys.map { key in
                File.Entry(
                    kid: key.kid,
                    seed: Base64.encodeURL(key.seed),
                    createdAt: key.createdAt.value,
                    publishedUntil: key.publishedUntil?.value,
                    tokenDaysMax: key.tokenDaysMax
                )
            }
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return (try? encoder.encode(file)).map { [UInt8]($0) } ?? []
    }

    /// - Throws: When the bytes are no file of signing keys.
    public init(encoded: [UInt8]) throws(SigningKeyError) {
        guard let file = try? JSONDecoder().decode(File.self, from: Data(encoded)), !file.keys.isEmpty else {
            throw SigningKeyError("it holds no signing keys")
        }
        keys = []
        for entry in file.keys {
            guard let seed = Base64.decodeURL(entry.seed.utf8) else { throw SigningKeyError("a damaged key") }
            let key = try SigningKey(
                seed: seed,
                createdAt: UnixMillis(entry.createdAt),
                publishedUntil: entry.publishedUntil.map { UnixMillis($0) },
                tokenDaysMax: entry.tokenDaysMax ?? 0
            )
            guard key.kid == entry.kid else { throw SigningKeyError("a damaged key") }
            keys.append(key)
        }
    }
}
