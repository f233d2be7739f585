import COpenSSL

/// SHA-256 and HMAC-SHA-256, straight from OpenSSL: the product's own code is under test and must not judge itself.
enum Digests {
    static func sha256(_ message: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(message, message.count, &digest)
        return digest
    }

    static func hmacSHA256(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        var length = UInt32(digest.count)
        let done = HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &digest, &length)
        precondition(done != nil && Int(length) == digest.count, "OpenSSL cannot make an HMAC")
        return digest
    }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
