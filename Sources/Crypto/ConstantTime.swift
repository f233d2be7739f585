internal import COpenSSL

/// Comparison of secrets in a time that does not depend on where they differ (`CRYPTO_memcmp`).
public enum ConstantTime {
    /// Whether the two are equal. The time depends on their lengths only.
    public static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        // Both buffers hold `count` bytes for the length of the call.
        return unsafe left.withUnsafeBytes { a in
            unsafe right.withUnsafeBytes { b in unsafe CRYPTO_memcmp(a.baseAddress, b.baseAddress, a.count) == 0 }
        }
    }

    /// Whether the two are equal, without copying either.
    ///
    /// As `CRYPTO_memcmp` does it, eight bytes at a time: whatever the bytes are, the same instructions run.
    public static func equal(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt64 = 0
        var index = 0
        while index &+ 8 <= left.count {
            difference |=
                unsafe left.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                ^ right.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            index &+= 8
        }
        while index < left.count {
            difference |= unsafe UInt64(left[index] ^ right[index])
            index &+= 1
        }
        return difference == 0
    }

    /// Whether two texts are equal without telling their lengths: their digests are compared.
    public static func equal(_ left: String, _ right: String) -> Bool {
        equal(Digest.sha256(Array(left.utf8)), Digest.sha256(Array(right.utf8)))
    }
}
