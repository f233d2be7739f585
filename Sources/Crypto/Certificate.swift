internal import COpenSSL

/// An X.509 certificate (RFC 5280).
@safe
public final class Certificate: @unchecked Sendable {
    // The certificate is never changed once it is read, and OpenSSL lets many threads read one certificate.
    let certificate: OpaquePointer

    /// Takes the certificate over, and works out now what OpenSSL otherwise works out at the first look.
    private init(owning certificate: OpaquePointer) {
        unsafe self.certificate = certificate
        unsafe _ = X509_check_purpose(certificate, -1, 0)
    }

    deinit {
        unsafe X509_free(certificate)
    }

    /// Nil when the bytes are no certificate and nothing else.
    public convenience init?(der: [UInt8]) {
        let certificate = unsafe der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var place = bytes.baseAddress
            guard let read = unsafe d2i_X509(nil, &place, bytes.count) else { return nil }
            // Bytes after the certificate would be bytes that nobody has signed.
            guard let end = unsafe place, let start = bytes.baseAddress, unsafe end - start == bytes.count else {
                unsafe X509_free(read)
                return nil
            }
            return unsafe read
        }
        guard let certificate = unsafe certificate else {
            ERR_clear_error()
            return nil
        }
        unsafe self.init(owning: certificate)
    }

    /// Every certificate of a file: one in DER, or any number in PEM. Empty when there is none.
    public static func all(in file: [UInt8]) -> [Certificate] {
        if let only = Certificate(der: file) { return [only] }
        var found: [Certificate] = []
        // The memory is read while the array is held.
        unsafe file.withUnsafeBytes { bytes in
            guard bytes.count > 0, let memory = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
            else { return }
            defer { unsafe BIO_free(memory) }
            while let read = unsafe PEM_read_bio_X509(memory, nil, { _, _, _, _ in 0 }, nil) {
                found.append(unsafe Certificate(owning: read))
            }
        }
        ERR_clear_error()
        return found
    }

    public var der: [UInt8] {
        var der: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_X509(certificate, &der)
        guard count > 0, let start = unsafe der else { return [] }
        defer { unsafe CRYPTO_free(start, #file, #line) }
        return unsafe [UInt8](UnsafeBufferPointer(start: start, count: Int(count)))
    }

    /// SHA-256 of the DER, in lower-case hexadecimal.
    public var fingerprint: String { Digest.sha256Hex(der) }

    /// Whether it may sign other certificates.
    public var isAuthority: Bool { unsafe X509_check_ca(certificate) == 1 }

    /// Whether it has an extension of this kind, whatever its value.
    ///
    /// - Parameter oid: Numbers with dots between them.
    public func hasExtension(_ oid: String) -> Bool {
        guard let object = unsafe OBJ_txt2obj(oid, 1) else { return false }
        defer { unsafe ASN1_OBJECT_free(object) }
        return unsafe X509_get_ext_by_OBJ(certificate, object, -1) >= 0
    }

    /// Nil for a kind of key that OpenSSL does not know.
    public var publicKey: PublicKey? {
        // `X509_get_pubkey` gives a reference of its own, which the key takes over.
        guard let key = unsafe X509_get_pubkey(certificate) else { return nil }
        return unsafe PublicKey(owning: key)
    }

    /// The seconds since 1970 between which the certificate is valid, both ends included; nil when they cannot be read.
    public var validity: ClosedRange<Int64>? {
        guard let start = unsafe Self.seconds(X509_get0_notBefore(certificate)),
            let end = unsafe Self.seconds(X509_get0_notAfter(certificate)), start <= end
        else { return nil }
        return start...end
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        guard let epoch = unsafe ASN1_TIME_set(nil, 0) else { return nil }
        defer { unsafe ASN1_TIME_free(epoch) }
        var (days, rest): (Int32, Int32) = (0, 0)
        guard unsafe ASN1_TIME_diff(&days, &rest, epoch, time) == 1 else { return nil }
        return Int64(days) * 86_400 + Int64(rest)
    }
}
