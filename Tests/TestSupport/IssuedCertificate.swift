internal import COpenSSL
internal import Foundation

/// A certificate made for a test, with its key.
public final class IssuedCertificate: @unchecked Sendable {
    // The certificate is never changed once it is signed.
    public let key: SigningKey
    let certificate: OpaquePointer

    /// - Parameters:
    ///   - issuer: Who signs it; nil: itself.
    ///   - marker: An extension of this kind with a NULL in it, as Apple has them.
    ///   - days: From when to when it is valid, in days from now.
    public init(
        _ name: String,
        issuer: IssuedCertificate? = nil,
        isAuthority: Bool = false,
        marker: String? = nil,
        days: ClosedRange<Int> = -3650...3650,
        kind: SigningKey.Kind = .p256
    ) {
        key = SigningKey(kind)
        guard let made = X509_new() else { preconditionFailure("OpenSSL has no memory") }
        certificate = made
        X509_set_version(made, 2)
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(made), UInt64.random(in: 1...(1 << 62)))
        X509_time_adj_ex(X509_getm_notBefore(made), Int32(days.lowerBound), 0, nil)
        X509_time_adj_ex(X509_getm_notAfter(made), Int32(days.upperBound), 0, nil)
        X509_set_pubkey(made, key.key)
        X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", 0x1001, name, -1, -1, 0)
        X509_set_issuer_name(made, X509_get_subject_name(issuer?.certificate ?? made))
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer?.certificate ?? made, made, nil, nil, 0)
        let texts = [
            (NID_basic_constraints, "critical,CA:" + (isAuthority ? "TRUE" : "FALSE")),
            (NID_key_usage, "critical," + (isAuthority ? "keyCertSign,cRLSign" : "digitalSignature")),
            (NID_subject_key_identifier, "hash"),
        ]
        for (kind, text) in texts {
            let made = X509V3_EXT_conf_nid(nil, &context, kind, text)
            precondition(made != nil, text)
            X509_add_ext(certificate, made, -1)
            X509_EXTENSION_free(made)
        }
        if let marker {
            let object = OBJ_txt2obj(marker, 1)
            let value = ASN1_OCTET_STRING_new()
            ASN1_OCTET_STRING_set(value, [0x05, 0x00], 2)
            let made = X509_EXTENSION_create_by_OBJ(nil, object, 0, value)
            X509_add_ext(certificate, made, -1)
            X509_EXTENSION_free(made)
            ASN1_OCTET_STRING_free(value)
            ASN1_OBJECT_free(object)
        }
        precondition(X509_sign(made, (issuer?.key ?? key).key, EVP_sha256()) > 0, "OpenSSL signs no certificate")
    }

    deinit { X509_free(certificate) }

    public var der: [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(certificate, &bytes)
        defer { CRYPTO_free(bytes, #file, #line) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    public var base64: String { Data(der).base64EncodedString() }

    public var pem: String {
        "-----BEGIN CERTIFICATE-----\n" + Data(der).base64EncodedString(options: [.lineLength64Characters])
            + "\n-----END CERTIFICATE-----\n"
    }
}
