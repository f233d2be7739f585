internal import COpenSSL

/// Ed25519 keys by their seed: 32 random bytes that everything else follows from (RFC 8032 section 5.1.5).
public enum Ed25519 {
    /// Bytes of a seed, and of a public key.
    public static let size = 32

    /// PKCS#8 of an Ed25519 key is a constant before the seed (RFC 8410 section 7).
    private static let pkcs8Prefix: [UInt8] = [
        0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
    ]

    /// The key that signs.
    ///
    /// - Throws: When the seed has not 32 bytes.
    public static func privateKey(ofSeed seed: [UInt8]) throws(KeyError) -> PrivateKey {
        guard seed.count == size else { throw KeyError("a seed of Ed25519 has \(size) bytes") }
        let text = Base64.encode(pkcs8Prefix + seed)
        return try PrivateKey(pem: Array("-----BEGIN PRIVATE KEY-----\n\(text)\n-----END PRIVATE KEY-----\n".utf8))
    }

    /// The public key's 32 bytes, as they stand in a key set (RFC 8037 section 2).
    ///
    /// - Throws: When the seed has not 32 bytes.
    public static func publicKey(ofSeed seed: [UInt8]) throws(KeyError) -> [UInt8] {
        guard seed.count == size else { throw KeyError("a seed of Ed25519 has \(size) bytes") }
        // OpenSSL copies the seed, and writes at most as many bytes as the count it is given says.
        let key = unsafe seed.withUnsafeBufferPointer { bytes in
            unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, bytes.baseAddress, bytes.count)
        }
        guard let key = unsafe key else { throw KeyError("OpenSSL has no Ed25519") }
        defer { unsafe EVP_PKEY_free(key) }
        var bytes = [UInt8](repeating: 0, count: size)
        var count = size
        let isWritten = unsafe bytes.withUnsafeMutableBufferPointer { out in
            unsafe EVP_PKEY_get_raw_public_key(key, out.baseAddress, &count) == 1
        }
        guard isWritten, count == size else { throw KeyError("OpenSSL gives no public key") }
        return bytes
    }
}
