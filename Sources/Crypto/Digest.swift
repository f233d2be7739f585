internal import COpenSSL

/// SHA-256 and HMAC-SHA-256 by OpenSSL (FIPS 180-4, RFC 2104).
public enum Digest {
    /// Bytes of a SHA-256 digest.
    public static let sha256Size = 32

    public static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        unsafe bytes.withUnsafeBytes { unsafe sha256($0) }
    }

    public static func sha256(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var copy: [UInt8] = []
        unsafe withSHA256(of: bytes) { digest in copy = unsafe [UInt8](digest) }
        return copy
    }

    /// Calls `body` with the digest of the pieces put one behind the other, without asking the allocator; the digest's bytes
    /// are good for that call only.
    ///
    /// It gives nothing back and so is one function for all: a generic one looks its types up with every call from another
    /// module.
    public static func withSHA256(
        of first: UnsafeRawBufferPointer,
        _ second: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0),
        _ body: (UnsafeRawBufferPointer) -> Void
    ) {
        unsafe withUnsafeTemporaryAllocation(byteCount: sha256Size, alignment: 8) { digest in
            // The pieces live for the length of the call, and the room has the 32 bytes that are written.
            unsafe copenssl_sha256(
                first.baseAddress,
                first.count,
                second.baseAddress,
                second.count,
                digest.baseAddress
            )
            unsafe body(UnsafeRawBufferPointer(digest))
        }
    }

    /// The digest of `text` in lower-case hexadecimal.
    public static func sha256Hex(_ bytes: [UInt8]) -> String {
        Hex.encode(sha256(bytes))
    }

    public static func hmacSHA256(key: [UInt8], message: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: sha256Size)
        // OpenSSL reads the key and the message and writes 32 bytes while the three buffers are held. An empty key still
        // needs a pointer, because a null one would mean "the key of the last call".
        let done = unsafe (key.isEmpty ? [0] : key).withUnsafeBytes { keyBytes in
            unsafe message.withUnsafeBufferPointer { messageBytes in
                unsafe digest.withUnsafeMutableBufferPointer { out in
                    unsafe HMAC(
                        EVP_sha256(),
                        keyBytes.baseAddress,
                        Int32(key.count),
                        messageBytes.baseAddress,
                        messageBytes.count,
                        out.baseAddress,
                        nil
                    ) != nil
                }
            }
        }
        precondition(done, "OpenSSL has no HMAC-SHA-256")
        return digest
    }
}
