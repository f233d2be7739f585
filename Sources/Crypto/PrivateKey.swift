internal import COpenSSL

/// A private key that signs.
@safe
public final class PrivateKey: @unchecked Sendable {
    // The key is never changed once it is made, and OpenSSL lets many threads sign with one key.
    private let key: OpaquePointer

    /// From PEM (PKCS#8 or the older forms, without a pass phrase).
    ///
    /// - Throws: When the text holds no private key that can be read.
    public init(pem: [UInt8]) throws(KeyError) {
        // A key with a pass phrase would make OpenSSL ask at the terminal; an empty answer makes it fail instead.
        let key = unsafe pem.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let memory = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else {
                return nil
            }
            defer { unsafe BIO_free(memory) }
            return unsafe PEM_read_bio_PrivateKey(memory, nil, { _, _, _, _ in 0 }, nil)
        }
        guard let key = unsafe key else {
            ERR_clear_error()
            throw KeyError("there is no private key in it")
        }
        unsafe self.key = key
    }

    deinit {
        unsafe EVP_PKEY_free(key)
    }

    /// Whether this is the kind of key the algorithm signs with.
    public func fits(_ algorithm: SignatureAlgorithm) -> Bool {
        switch algorithm {
        case .es256: unsafe KeyKind.isP256(key)
        case .rs256: unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA
        case .edDSA: unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519
        }
    }

    /// The signature as a JWS has it: for ES256 r and s of 32 bytes each.
    ///
    /// - Throws: When the key is of another kind.
    public func signature(of message: [UInt8], with algorithm: SignatureAlgorithm) throws(KeyError) -> [UInt8] {
        let signature = try signatureAsMade(of: message, with: algorithm)
        guard algorithm == .es256 else { return signature }
        guard let raw = ECDSASignature.raw(der: signature) else { throw KeyError("the signature cannot be read") }
        return raw
    }

    /// The signature as OpenSSL makes it: for ES256 the DER sequence of r and s.
    ///
    /// - Throws: When the key is of another kind.
    public func signatureAsMade(of message: [UInt8], with algorithm: SignatureAlgorithm) throws(KeyError) -> [UInt8] {
        guard fits(algorithm) else { throw KeyError("the key is of another kind than \(algorithm.rawValue) needs") }
        guard let context = unsafe EVP_MD_CTX_new() else { throw KeyError("OpenSSL has no memory") }
        defer { unsafe EVP_MD_CTX_free(context) }
        let digest = unsafe algorithm == .edDSA ? nil : EVP_sha256()
        guard unsafe EVP_DigestSignInit(context, nil, digest, nil, key) == 1 else {
            throw KeyError("OpenSSL cannot sign with this key")
        }
        // The first call tells the longest signature, the second writes one into a buffer of that size.
        let signature = unsafe message.withUnsafeBufferPointer { text -> [UInt8]? in
            var count = 0
            guard unsafe EVP_DigestSign(context, nil, &count, text.baseAddress, text.count) == 1 else { return nil }
            var signature = [UInt8](repeating: 0, count: count)
            let isMade = unsafe signature.withUnsafeMutableBufferPointer { out in
                unsafe EVP_DigestSign(context, out.baseAddress, &count, text.baseAddress, text.count) == 1
            }
            return isMade ? Array(signature.prefix(count)) : nil
        }
        guard let signature else { throw KeyError("OpenSSL cannot sign with this key") }
        return signature
    }
}
