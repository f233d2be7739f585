internal import COpenSSL

/// Whose signature a chain of certificates vouches for, and when.
public struct VerifiedSigner: Sendable {
    public let key: PublicKey
    /// The seconds since 1970 in which every certificate of the chain is valid.
    public let validity: ClosedRange<Int64>

    /// Whether the whole chain was valid at a moment.
    ///
    /// - Parameter millis: Milliseconds since 1970.
    public func isValid(atMillis millis: Int64) -> Bool {
        validity.contains(millis >= 0 ? millis / 1000 : (millis + 1) / 1000 - 1)
    }
}

/// Checks chains of exactly three certificates: a leaf, an intermediate, and one of the roots it was made with.
///
/// The root in a chain that was sent is never looked at: trust comes from the configured ones alone. Leaf and intermediate
/// carry a marker extension each, because a root may stand above many kinds of certificates and only one kind may sign here.
@safe
public final class CertificateChainVerifier: @unchecked Sendable {
    // The store of roots is filled once, and OpenSSL locks it where it counts references.
    /// Certificates of a chain, as it is sent and as it is checked.
    public static let length = 3

    private let store: OpaquePointer
    private let roots: [Certificate]
    private let leafMarker: String
    private let intermediateMarker: String
    /// Stands for the roots and the markers in a cache.
    let id: [UInt8]

    /// At least 112 bits everywhere: no SHA-1, no short keys.
    private static let securityLevel: Int32 = 2

    /// - Parameters: Markers are object identifiers, numbers with dots between them.
    /// - Throws: When OpenSSL takes one of the roots not.
    public init(roots: [Certificate], leafMarker: String, intermediateMarker: String) throws(KeyError) {
        guard let store = unsafe X509_STORE_new() else { throw KeyError("OpenSSL has no memory") }
        unsafe self.store = store
        self.roots = roots
        self.leafMarker = leafMarker
        self.intermediateMarker = intermediateMarker
        id = Digest.sha256(roots.flatMap { Digest.sha256($0.der) } + Array("\(leafMarker) \(intermediateMarker)".utf8))
        for root in roots where unsafe X509_STORE_add_cert(store, root.certificate) != 1 {
            throw KeyError("a root cannot be used")
        }
    }

    deinit {
        unsafe X509_STORE_free(store)
    }

    /// The signer of a chain as a JWS header tells it (`x5c`), looked up in the cache first. Nil when it is not believed.
    ///
    /// Only chains that were believed are kept, so strangers cannot fill the cache. Time is no part of this check: whether
    /// the chain was valid at a moment is the signer's to say.
    public func signer(of x5c: [String], cache: VerifiedSignerCache?) -> VerifiedSigner? {
        guard x5c.count == Self.length else { return nil }
        guard let cache else { return signer(leaf: x5c[0], intermediate: x5c[1]) }
        let key = Digest.sha256(id + Array(x5c[0].utf8) + [UInt8(ascii: ".")] + Array(x5c[1].utf8))
        if let known = cache.signer(key) { return known }
        guard let found = signer(leaf: x5c[0], intermediate: x5c[1]) else { return nil }
        cache.keep(found, key)
        return found
    }

    private func signer(leaf: String, intermediate: String) -> VerifiedSigner? {
        guard let leaf = Base64.decode(leaf).flatMap(Certificate.init(der:)),
            let intermediate = Base64.decode(intermediate).flatMap(Certificate.init(der:)),
            leaf.hasExtension(leafMarker), intermediate.hasExtension(intermediateMarker),
            let root = root(above: intermediate, of: leaf), let key = leaf.publicKey,
            let times = validity(of: [leaf, intermediate, root])
        else { return nil }
        return VerifiedSigner(key: key, validity: times)
    }

    /// The time in which all of them are valid.
    private func validity(of chain: [Certificate]) -> ClosedRange<Int64>? {
        var (start, end) = (Int64.min, Int64.max)
        for certificate in chain {
            guard let own = certificate.validity else { return nil }
            (start, end) = (max(start, own.lowerBound), min(end, own.upperBound))
        }
        return start <= end ? start...end : nil
    }

    /// The configured root that signed the intermediate that signed the leaf.
    private func root(above intermediate: Certificate, of leaf: Certificate) -> Certificate? {
        // All that is made here is freed before the function ends; the certificates outlive it.
        guard let context = unsafe X509_STORE_CTX_new() else { return nil }
        defer { unsafe X509_STORE_CTX_free(context) }
        guard let others = unsafe openssl_certificates_new() else { return nil }
        defer { unsafe openssl_certificates_free(others) }
        guard unsafe openssl_certificates_push(others, intermediate.certificate) > 0,
            unsafe X509_STORE_CTX_init(context, store, leaf.certificate, others) == 1,
            let parameters = unsafe X509_STORE_CTX_get0_param(context)
        else { return nil }
        unsafe X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_NO_CHECK_TIME))
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, Self.securityLevel)
        guard unsafe X509_verify_cert(context) == 1, let chain = unsafe X509_STORE_CTX_get0_chain(context),
            unsafe Int(openssl_certificates_count(chain)) == Self.length,
            let second = unsafe openssl_certificates_at(chain, 1), let third = unsafe openssl_certificates_at(chain, 2),
            unsafe X509_cmp(second, intermediate.certificate) == 0
        else {
            ERR_clear_error()
            return nil
        }
        return roots.first { unsafe X509_cmp($0.certificate, third) == 0 }
    }
}

/// Chains that were believed, so that the same one is not checked for every message. Belongs to one thread.
public final class VerifiedSignerCache {
    /// A provider signs with a handful of certificates; more means that they have changed.
    public static let countMax = 32

    private var signers: [[UInt8]: VerifiedSigner] = [:]

    public init() {}

    /// How many are kept.
    public var count: Int { signers.count }

    func signer(_ key: [UInt8]) -> VerifiedSigner? { signers[key] }

    func keep(_ signer: VerifiedSigner, _ key: [UInt8]) {
        if signers.count >= Self.countMax { signers.removeAll() }
        signers[key] = signer
    }
}
