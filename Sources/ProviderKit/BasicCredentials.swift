internal import Crypto
internal import Entitlements

/// HTTP Basic authentication (RFC 7617): a provider that signs nothing says a user and a password with every delivery.
///
/// A secret is `user:password`. Unlike a signature it proves nothing about the body and can be said again by whoever has
/// seen it, so it is only as good as the TLS in front of it.
struct BasicCredentials: Sendable {
    /// A header longer than this has no credentials of ours in it.
    private static let headerBytesMax = 8192

    /// Digests of the secrets: equal in length, so that comparing them tells nothing about the secrets' lengths.
    private let digests: [[UInt8]]

    init(secrets: [String]) {
        digests = secrets.filter(Self.canUse).map { Digest.sha256(Array($0.utf8)) }
    }

    /// Whether a secret is a user and a password, neither of them empty.
    static func canUse(_ secret: String) -> Bool {
        guard let colon = secret.firstIndex(of: ":") else { return false }
        return colon > secret.startIndex && secret.index(after: colon) < secret.endIndex
    }

    /// Every secret is compared, whatever the first ones gave.
    func verify(_ delivery: WebhookDelivery) throws(VerificationFailure) -> VerifiedDelivery {
        guard let header = delivery.header("Authorization"), header.utf8.count <= Self.headerBytesMax else {
            throw .unsigned
        }
        let parts = header.split(separator: " ", maxSplits: 1)
        // The scheme's name is compared without case (RFC 9110 section 11.1).
        guard parts.count == 2, parts[0].lowercased() == "basic",
            let said = Base64.decode(String(parts[1].drop { $0 == " " }))
        else { throw .unsigned }
        let digest = Digest.sha256(said)
        var matches = 0
        for expected in digests where ConstantTime.equal(expected, digest) { matches += 1 }
        guard matches > 0 else { throw .badSignature }
        return VerifiedDelivery(verified: delivery.body)
    }

    static func headers(secret: String) -> [(name: String, value: String)] {
        [("Authorization", "Basic " + Base64.encode(Array(secret.utf8)))]
    }
}
