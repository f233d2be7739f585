internal import Foundation

/// The App Store's side of a test: chains of certificates with Apple's markers, good and broken ones, and signed texts.
public final class AppleSigner: Sendable {
    /// How a text is signed.
    public enum Mode: String, Sendable, CaseIterable {
        case good, none, bad
        case wrongRoot = "wrong_root"
        case noLeafOID = "no_leaf_oid"
        case noIntermediateOID = "no_intermediate_oid"
        case expiredLeaf = "expired_leaf"
        case chainOfTwo = "chain_of_two"
        case algorithmNone = "alg_none"
        case hs256
    }

    public static let leafMarker = "1.2.840.113635.100.6.11.1"
    public static let intermediateMarker = "1.2.840.113635.100.6.2.1"

    /// The root that a gateway must trust.
    public let root: IssuedCertificate
    private let chains: [Mode: [IssuedCertificate]]
    private let otherKey = SigningKey()

    public init() {
        let root = IssuedCertificate("root", isAuthority: true)
        let otherRoot = IssuedCertificate("other root", isAuthority: true)
        func intermediate(_ issuer: IssuedCertificate, marker: String? = AppleSigner.intermediateMarker)
            -> IssuedCertificate
        {
            IssuedCertificate("intermediate", issuer: issuer, isAuthority: true, marker: marker)
        }
        func leaf(
            _ issuer: IssuedCertificate,
            marker: String? = AppleSigner.leafMarker,
            days: ClosedRange<Int> = -3650...3650
        ) -> IssuedCertificate {
            IssuedCertificate("leaf", issuer: issuer, marker: marker, days: days)
        }
        let (good, other, plain) = (intermediate(root), intermediate(otherRoot), intermediate(root, marker: nil))
        let signer = leaf(good)
        self.root = root
        chains = [
            .good: [signer, good, root],
            .wrongRoot: [leaf(other), other, otherRoot],
            .noLeafOID: [leaf(good, marker: nil), good, root],
            .noIntermediateOID: [leaf(plain), plain, root],
            .expiredLeaf: [leaf(good, days: -3650...(-3000)), good, root],
            .chainOfTwo: [signer, good],
        ]
    }

    /// What stands in `x5c`.
    public func chain(_ mode: Mode = .good) -> [IssuedCertificate] {
        chains[mode] ?? chains[.good] ?? []
    }

    public func jws(_ payload: [UInt8], _ mode: Mode = .good) -> String {
        let chain = chain(mode)
        let algorithm =
            switch mode {
            case .algorithmNone: "none"
            case .hs256: "HS256"
            default: "ES256"
            }
        let list = chain.map { "\"\($0.base64)\"" }.joined(separator: ",")
        let header = "{\"alg\":\"\(algorithm)\",\"x5c\":[\(list)]}"
        let text = (mode == .bad ? otherKey : chain[0].key).jws(header: header, payload: payload)
        guard mode == .none || mode == .algorithmNone else { return text }
        return text.split(separator: ".").prefix(2).joined(separator: ".") + "."
    }

    /// A notification as it is sent: `data.transaction`, `data.renewalInfo` and `appData.appTransaction` become the signed
    /// texts they are in the world.
    ///
    /// - Parameter nested: How what is inside is signed; nil: as the whole.
    public func body(_ notification: JSONValue, _ mode: Mode = .good, nested: Mode? = nil) -> [UInt8] {
        let parts = [
            "transaction": "signedTransactionInfo", "renewalInfo": "signedRenewalInfo",
            "appTransaction": "signedAppTransactionInfo",
        ]
        var notification = notification
        if case .object(var root) = notification {
            for name in ["data", "appData"] {
                guard case .object(var members)? = root[name] else { continue }
                for (opened, signed) in parts {
                    guard let part = members[opened], case .object = part else { continue }
                    members[opened] = nil
                    members[signed] = .string(jws(Array(part.compact.utf8), nested ?? mode))
                }
                root[name] = .object(members)
            }
            notification = .object(root)
        }
        let signed = jws(Array(notification.compact.utf8), mode)
        return Array("{\"signedPayload\":\"\(signed)\"}".utf8)
    }
}
