internal import Crypto
internal import Entitlements
internal import Licensing
internal import ProviderKit

@testable internal import Gateway

extension FuzzTarget {
    static let tokens = [
        FuzzTarget(name: "jws", check: Tokens.checkJWS),
        FuzzTarget(name: "jwt", check: Tokens.checkJWT),
        FuzzTarget(name: "licence-keys", check: Tokens.checkLicenceKey),
    ]
}

private enum Tokens {
    private static let secret = Array("a secret that no fuzzer finds out".utf8)
    private static let now = UnixMillis(1_798_761_600_000)

    private static let issuer: TokenIssuer = {
        var issuer = TokenIssuer(issuer: "https://a", audiences: ["b"], algorithms: [.hs256, .rs256, .es256, .edDSA])
        issuer.secrets = [secret]
        return issuer
    }()

    // MARK: JWS

    static let checkJWS: @Sendable ([UInt8]) -> Void = { input in
        let text = String(decoding: input, as: UTF8.self)
        guard let jws = CompactJWS(text) else { return }
        // One text for one value: whoever changes a letter changes what is signed, or the signature.
        let written = String(decoding: jws.signed, as: UTF8.self) + "." + Base64.encodeURL(jws.signature)
        require(written == text, "a signed text has one form")
        require(!jws.isSigned(bySecret: secret), "nobody guesses a signature")
        require(CompactJWS(written)?.payload == jws.payload, "what is read twice is the same")
    }

    // MARK: JWT

    private static func sign(_ payload: [UInt8], _ secret: [UInt8]) -> String {
        let signed = Base64.encodeURL(Array(#"{"alg":"HS256"}"#.utf8)) + "." + Base64.encodeURL(payload)
        return signed + "." + Base64.encodeURL(Digest.hmacSHA256(key: secret, message: Array(signed.utf8)))
    }

    private static func user(_ token: String, _ verifier: inout UserTokenVerifier) -> SignedInUser? {
        let verdict = Array(token.utf8).withUnsafeBytes { verifier.verify($0, now: now) }
        guard case .user(let user) = verdict else { return nil }
        return user
    }

    /// As it came, which nobody signed; and as claims that are signed well.
    static let checkJWT: @Sendable ([UInt8]) -> Void = { input in
        var verifier = UserTokenVerifier([issuer])
        require(user(String(decoding: input, as: UTF8.self), &verifier) == nil, "nobody guesses a signature")

        let token = sign(input, secret)
        let first = user(token, &verifier)
        let second = user(token, &verifier)
        require(first?.user == second?.user && first?.until == second?.until, "a token says the same twice")
        require(user(sign(input, secret + [1]), &verifier) == nil, "another secret is none")
        guard let first else { return }
        require(UserID(first.user.value) == first.user, "a token names a user that can be one")
        require(first.until > now, "a token that is over says nothing")
        require(JSON(input)?["iss"]?.string == issuer.issuer, "the issuer is the one that is configured")
    }

    // MARK: Licence keys

    static let checkLicenceKey: @Sendable ([UInt8]) -> Void = { input in
        let typed = String(decoding: input, as: UTF8.self)
        let digests = LicenseKey.digests(ofTyped: typed)
        require(digests.count <= 2, "a key is looked for in two ways at most")
        if let imported = LicenseKey.imported(typed) {
            require(LicenseKey.imported(imported) == imported, "a key that is kept is kept as it is")
            require(digests.contains(LicenseKey.digest(imported)), "a key that is kept is found again")
        }
        guard let key = LicenseKey.canonical(typed) else { return }
        require(LicenseKey.canonical(key) == key, "the written form of a key is its own")
        require(LicenseKey.canonical(key.lowercased()) == key, "case makes no difference")
        require(LicenseKey.canonical(key.filter { $0 != "-" }) == key, "hyphens make no difference")
        // One wrong character is found.
        var choices = Choices(Digest.sha256(input))
        var letters = Array(key.utf8)
        let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
        let places = letters.indices.filter { letters[$0] != UInt8(ascii: "-") }
        let place = places[choices.index(places.count)]
        let other = alphabet[choices.index(alphabet.count)]
        guard letters[place] != other else { return }
        letters[place] = other
        require(LicenseKey.canonical(String(decoding: letters, as: UTF8.self)) == nil, "a slip is found")
    }
}
