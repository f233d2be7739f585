internal import COpenSSL

/// The two ways to write an ECDSA signature of P-256: r and s of 32 bytes each, as in a JWS (RFC 7518 section 3.4), and the
/// DER sequence of both, as OpenSSL and X.509 have it (RFC 3279 section 2.2.3).
public enum ECDSASignature {
    private static let numberSize = 32

    /// Nil when `raw` has not 64 bytes.
    public static func der(raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 2 * numberSize else { return nil }
        // The two numbers belong to the signature from `ECDSA_SIG_set0` on; everything is freed before the function ends.
        guard let signature = unsafe ECDSA_SIG_new() else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        let isSet = unsafe raw.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return false }
            let r = unsafe BN_bin2bn(base, Int32(numberSize), nil)
            let s = unsafe BN_bin2bn(base + numberSize, Int32(numberSize), nil)
            return unsafe ECDSA_SIG_set0(signature, r, s) == 1
        }
        guard isSet else { return nil }
        var der: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_ECDSA_SIG(signature, &der)
        guard count > 0, let start = unsafe der else { return nil }
        defer { unsafe CRYPTO_free(start, #file, #line) }
        return unsafe [UInt8](UnsafeBufferPointer(start: start, count: Int(count)))
    }

    /// Nil when `der` is no signature of P-256.
    public static func raw(der: [UInt8]) -> [UInt8]? {
        unsafe der.withUnsafeBufferPointer { bytes -> [UInt8]? in
            var place = bytes.baseAddress
            // The signature is freed before the buffer is let go.
            guard let signature = unsafe d2i_ECDSA_SIG(nil, &place, bytes.count) else { return nil }
            defer { unsafe ECDSA_SIG_free(signature) }
            var raw = [UInt8](repeating: 0, count: 2 * numberSize)
            let isWritten = unsafe raw.withUnsafeMutableBufferPointer { out in
                guard let base = out.baseAddress else { return false }
                return unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), base, Int32(numberSize)) > 0
                    && BN_bn2binpad(ECDSA_SIG_get0_s(signature), base + numberSize, Int32(numberSize)) > 0
            }
            return isWritten ? raw : nil
        }
    }
}
