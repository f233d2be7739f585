internal import Crypto
internal import Foundation
internal import TestSupport
internal import Testing

/// Chains of certificates: only three under a configured root, with their markers.
struct CertificateChainTests {
    private static let apple = AppleSigner()

    private static func verifier(_ roots: [IssuedCertificate]) throws -> CertificateChainVerifier {
        try CertificateChainVerifier(
            roots: roots.map { try #require(Certificate(der: $0.der)) },
            leafMarker: AppleSigner.leafMarker,
            intermediateMarker: AppleSigner.intermediateMarker
        )
    }

    private static func x5c(_ mode: AppleSigner.Mode) -> [String] { apple.chain(mode).map(\.base64) }

    private static var nowMillis: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    @Test("a good chain gives the leaf's key; the root that was sent is not looked at")
    func good() throws {
        let verifier = try Self.verifier([Self.apple.root])
        let signer = try #require(verifier.signer(of: Self.x5c(.good), cache: nil))
        #expect(signer.key.der == Self.apple.chain()[0].key.publicDER)
        #expect(signer.isValid(atMillis: Self.nowMillis))
        for root in ["", "AAAA", "no base64 at all", Self.x5c(.wrongRoot)[2]] {
            #expect(verifier.signer(of: Array(Self.x5c(.good).prefix(2)) + [root], cache: nil) != nil)
        }
    }

    @Test(
        "broken chains are not believed",
        arguments: [
            AppleSigner.Mode.wrongRoot, .noLeafOID, .noIntermediateOID, .chainOfTwo,
        ]
    )
    func broken(_ mode: AppleSigner.Mode) throws {
        #expect(try Self.verifier([Self.apple.root]).signer(of: Self.x5c(mode), cache: nil) == nil)
    }

    @Test("nothing but three certificates in their order is a chain")
    func shapes() throws {
        let verifier = try Self.verifier([Self.apple.root])
        let good = Self.x5c(.good)
        let wrong = [
            [], [good[0]], good + [good[2]], [good[1], good[0], good[2]], [good[0], good[0], good[2]],
            [good[0], good[2], good[2]], [good[2], good[2], good[2]], [good[0] + "a", good[1], good[2]],
            ["AAAA", good[1], good[2]], ["", "", ""], [good[0], Self.x5c(.wrongRoot)[1], good[2]],
        ]
        for chain in wrong { #expect(verifier.signer(of: chain, cache: nil) == nil, "\(chain.count)") }
        // Bytes after a certificate are nobody's word.
        let longer = Data(Self.apple.chain()[0].der + [0]).base64EncodedString()
        #expect(verifier.signer(of: [longer, good[1], good[2]], cache: nil) == nil)
        // Without a root, nothing is believed.
        #expect(try Self.verifier([]).signer(of: good, cache: nil) == nil)
        // A root that stands where the intermediate should makes a chain of two.
        let root = Self.apple.root
        let direct = IssuedCertificate("direct", issuer: root, marker: AppleSigner.leafMarker)
        #expect(verifier.signer(of: [direct.base64, good[1], good[2]], cache: nil) == nil)
        #expect(verifier.signer(of: [direct.base64, root.base64, root.base64], cache: nil) == nil)
    }

    @Test("an intermediate that may not sign certificates vouches for nobody")
    func noAuthority() throws {
        let middle = IssuedCertificate("middle", issuer: Self.apple.root, marker: AppleSigner.intermediateMarker)
        let leaf = IssuedCertificate("leaf", issuer: middle, marker: AppleSigner.leafMarker)
        let verifier = try Self.verifier([Self.apple.root])
        #expect(verifier.signer(of: [leaf, middle, Self.apple.root].map(\.base64), cache: nil) == nil)
    }

    @Test("a chain is valid in the time of all its certificates, judged at the moment asked for")
    func time() throws {
        let signer = try #require(try Self.verifier([Self.apple.root]).signer(of: Self.x5c(.expiredLeaf), cache: nil))
        let day: Int64 = 86_400_000
        #expect(!signer.isValid(atMillis: Self.nowMillis))
        #expect(signer.isValid(atMillis: Self.nowMillis - 3300 * day))
        #expect(!signer.isValid(atMillis: Self.nowMillis - 2999 * day))
        #expect(!signer.isValid(atMillis: Self.nowMillis - 3651 * day))
        #expect(!signer.isValid(atMillis: .min) && !signer.isValid(atMillis: .max))
    }

    @Test("a believed chain is kept, a refused one never, and the cache stays small")
    func cache() throws {
        let verifier = try Self.verifier([Self.apple.root])
        let cache = VerifiedSignerCache()
        for mode in [AppleSigner.Mode.wrongRoot, .noLeafOID, .chainOfTwo] {
            _ = verifier.signer(of: Self.x5c(mode), cache: cache)
        }
        #expect(cache.count == 0)
        let first = try #require(verifier.signer(of: Self.x5c(.good), cache: cache))
        let again = try #require(verifier.signer(of: Self.x5c(.good), cache: cache))
        #expect(cache.count == 1 && first.key === again.key)
        // Another set of roots asks for itself.
        #expect(
            try Self.verifier([IssuedCertificate("root", isAuthority: true)]).signer(of: Self.x5c(.good), cache: cache)
                == nil
        )
        let middle = Self.apple.chain()[1]
        for number in 0..<VerifiedSignerCache.countMax + 5 {
            let leaf = IssuedCertificate("leaf \(number)", issuer: middle, marker: AppleSigner.leafMarker)
            #expect(verifier.signer(of: [leaf, middle, Self.apple.root].map(\.base64), cache: cache) != nil)
            #expect(cache.count <= VerifiedSignerCache.countMax)
        }
    }

    @Test("certificates are read from DER and from PEM, one or several")
    func files() {
        let (root, other) = (Self.apple.root, Self.apple.chain()[1])
        #expect(Certificate.all(in: root.der).map(\.der) == [root.der])
        #expect(Certificate.all(in: Array((root.pem + "\n" + other.pem).utf8)).map(\.der) == [root.der, other.der])
        for wrong in ["", "{}", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", root.key.pem] {
            #expect(Certificate.all(in: Array(wrong.utf8)).isEmpty)
        }
        #expect(Certificate.all(in: root.der).map(\.isAuthority) == [true])
        #expect(Certificate.all(in: Self.apple.chain()[0].der).map(\.isAuthority) == [false])
    }
}
