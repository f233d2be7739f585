internal import COpenSSL

/// SHA-256 of one text after the other, without asking the allocator for each: what OpenSSL needs is made once.
///
/// Belongs to the thread that made it.
@safe
public final class SHA256Hasher {
    private let context: OpaquePointer
    private let algorithm: OpaquePointer
    /// Where the last digest lies: 32 bytes, owned by this object.
    private let digest: UnsafeMutablePointer<UInt8>

    public init() {
        guard let context = unsafe EVP_MD_CTX_new(), let algorithm = unsafe EVP_MD_fetch(nil, "SHA256", nil) else {
            preconditionFailure("OpenSSL has no SHA-256")
        }
        unsafe self.context = context
        unsafe self.algorithm = algorithm
        unsafe digest = .allocate(capacity: Digest.sha256Size)
        unsafe digest.initialize(repeating: 0, count: Digest.sha256Size)
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
        unsafe EVP_MD_free(algorithm)
        unsafe digest.deallocate()
    }

    /// Calls `body` with the digest; its bytes are good for that call only.
    public func withDigest<Value>(
        of bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) -> Value
    ) -> Value {
        unsafe withDigest(of: bytes, UnsafeRawBufferPointer(start: nil, count: 0), body)
    }

    /// Calls `body` with the digest of the pieces put one behind the other; the bytes are good for that call only.
    public func withDigest<Value>(
        of first: UnsafeRawBufferPointer,
        _ second: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) -> Value
    ) -> Value {
        // The pointers live for the length of the calls, and the digest has the 32 bytes that SHA-256 writes.
        var done = unsafe EVP_DigestInit_ex(context, algorithm, nil)
        done &= unsafe EVP_DigestUpdate(context, first.baseAddress, first.count)
        done &= unsafe EVP_DigestUpdate(context, second.baseAddress, second.count)
        done &= unsafe EVP_DigestFinal_ex(context, digest, nil)
        precondition(done == 1, "OpenSSL has no SHA-256")
        return unsafe body(UnsafeRawBufferPointer(start: digest, count: Digest.sha256Size))
    }
}
