internal import COpenSSL

/// A public key that checks signatures.
@safe
public final class PublicKey: @unchecked Sendable {
    // The key is never changed once it is made, and OpenSSL lets many threads read one key.
    private let key: OpaquePointer

    /// Takes the key over.
    init(owning key: OpaquePointer) {
        unsafe self.key = key
    }

    deinit {
        unsafe EVP_PKEY_free(key)
    }

    /// From DER (SubjectPublicKeyInfo, RFC 5280 section 4.1.2.7); nil when it is none.
    public convenience init?(der: [UInt8]) {
        let key = unsafe der.withUnsafeBufferPointer { bytes in
            var place = bytes.baseAddress
            return unsafe d2i_PUBKEY(nil, &place, bytes.count)
        }
        guard let key = unsafe key else { return nil }
        unsafe self.init(owning: key)
    }

    /// SubjectPublicKeyInfo.
    public var der: [UInt8] {
        var der: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_PUBKEY(key, &der)
        guard count > 0, let start = unsafe der else { return [] }
        defer { unsafe CRYPTO_free(start, #file, #line) }
        return unsafe [UInt8](UnsafeBufferPointer(start: start, count: Int(count)))
    }

    /// Whether `signature` is this key's of `message`. A key of another kind than the algorithm's never fits, so that a
    /// signer cannot choose how their key is used.
    public func isSignature(_ signature: [UInt8], of message: [UInt8], with algorithm: SignatureAlgorithm) -> Bool {
        guard fits(algorithm) else { return false }
        var signature = signature
        if algorithm == .es256 {
            guard let der = ECDSASignature.der(raw: signature) else { return false }
            signature = der
        }
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        let digest = unsafe algorithm == .edDSA ? nil : EVP_sha256()
        guard unsafe EVP_DigestVerifyInit(context, nil, digest, nil, key) == 1 else { return false }
        // Both buffers are held for the length of the call.
        let result = unsafe signature.withUnsafeBufferPointer { sent in
            unsafe message.withUnsafeBufferPointer { text in
                unsafe EVP_DigestVerify(context, sent.baseAddress, sent.count, text.baseAddress, text.count)
            }
        }
        if result != 1 { ERR_clear_error() }
        return result == 1
    }

    /// Smallest RSA key that is believed (RFC 7518 section 3.3).
    private static let bitsMin: Int32 = 2048

    /// Whether this is the kind of key the algorithm signs with.
    public func fits(_ algorithm: SignatureAlgorithm) -> Bool {
        switch algorithm {
        case .es256: unsafe KeyKind.isP256(key)
        case .rs256: unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA && EVP_PKEY_get_bits(key) >= Self.bitsMin
        case .edDSA: unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519
        }
    }
}

/// What kind a key of OpenSSL is.
enum KeyKind {
    static func isP256(_ key: OpaquePointer) -> Bool {
        guard unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_EC else { return false }
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        // OpenSSL writes at most the given number of bytes, a closing zero among them.
        let isKnown = unsafe name.withUnsafeMutableBufferPointer { buffer in
            unsafe EVP_PKEY_get_group_name(key, buffer.baseAddress, buffer.count, &count) == 1
        }
        guard isKnown, count < name.count else { return false }
        let text = String(decoding: name[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text == "prime256v1" || text == "P-256"
    }
}
