internal import COpenSSL

/// A key of HMAC-SHA-256 (RFC 2104), made ready once by OpenSSL: for whoever checks many messages with one key.
@safe
public final class HMACKey: @unchecked Sendable {
    // Never used itself: every message begins with a copy of it, and OpenSSL lets many threads copy what none changes.
    private let ready: OpaquePointer

    public init(_ key: [UInt8]) {
        // A null pointer would mean "the key of the last call", and an empty array may be one.
        let bytes = key.isEmpty ? [0] : key
        let algorithm = unsafe EVP_MAC_fetch(nil, "HMAC", nil)
        defer { unsafe EVP_MAC_free(algorithm) }
        guard let context = unsafe EVP_MAC_CTX_new(algorithm),
            unsafe openssl_hmac_begin(context, bytes, key.count) == 1
        else { preconditionFailure("OpenSSL has no HMAC-SHA-256") }
        unsafe ready = context
    }

    deinit {
        unsafe EVP_MAC_CTX_free(ready)
    }

    /// The code of a message, 32 bytes.
    public func code(of message: [UInt8]) -> [UInt8] {
        guard let context = unsafe EVP_MAC_CTX_dup(ready) else { preconditionFailure("OpenSSL has no memory") }
        defer { unsafe EVP_MAC_CTX_free(context) }
        var count = 0
        // Both buffers are held for the length of their call, and the second has room for the 32 bytes of a digest.
        let code = unsafe [UInt8](unsafeUninitializedCapacity: Digest.sha256Size) { out, written in
            let isDone =
                unsafe EVP_MAC_update(context, message, message.count) == 1
                && EVP_MAC_final(context, out.baseAddress, &count, out.count) == 1
            precondition(isDone && count == Digest.sha256Size, "OpenSSL has no HMAC-SHA-256")
            written = count
        }
        return code
    }
}
