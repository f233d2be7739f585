internal import COpenSSL
internal import Foundation

/// A private key made for a test, straight from OpenSSL: the product's own code is under test and must not judge itself.
public final class SigningKey: @unchecked Sendable {
    // The key is never changed once it is made, and OpenSSL lets many threads sign with one key.
    public enum Kind: Sendable { case p256, p384, rsa, ed25519 }

    let key: OpaquePointer
    public let kind: Kind

    public init(_ kind: Kind = .p256) {
        self.kind = kind
        let id =
            switch kind {
            case .p256, .p384: EVP_PKEY_EC
            case .rsa: EVP_PKEY_RSA
            case .ed25519: EVP_PKEY_ED25519
            }
        let context = EVP_PKEY_CTX_new_id(id, nil)
        defer { EVP_PKEY_CTX_free(context) }
        precondition(EVP_PKEY_keygen_init(context) == 1, "OpenSSL makes no keys")
        switch kind {
        case .p256: EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
        case .p384: EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_secp384r1)
        case .rsa: EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048)
        case .ed25519: break
        }
        var made: OpaquePointer?
        guard EVP_PKEY_generate(context, &made) == 1, let made else { preconditionFailure("OpenSSL makes no keys") }
        key = made
    }

    deinit { EVP_PKEY_free(key) }

    /// As OpenSSL makes it: DER for the curves.
    public func signature(of message: [UInt8]) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var count = 0
        precondition(EVP_DigestSignInit(context, nil, kind == .ed25519 ? nil : EVP_sha256(), nil, key) == 1)
        precondition(EVP_DigestSign(context, nil, &count, message, message.count) == 1)
        var signature = [UInt8](repeating: 0, count: count)
        precondition(EVP_DigestSign(context, &signature, &count, message, message.count) == 1)
        return Array(signature.prefix(count))
    }

    /// r and s of 32 bytes each, cut out of the DER by hand.
    public func rawSignature(of message: [UInt8]) -> [UInt8] {
        let der = signature(of: message)
        guard kind == .p256 else { return der }
        var (place, numbers): (Int, [UInt8]) = (2, [])
        for _ in 0..<2 {
            let count = Int(der[place + 1])
            let number = der[(place + 2)..<(place + 2 + count)].drop { $0 == 0 }
            numbers += [UInt8](repeating: 0, count: 32 - number.count) + number
            place += 2 + count
        }
        return numbers
    }

    /// SubjectPublicKeyInfo.
    public var publicDER: [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_PUBKEY(key, &bytes)
        defer { CRYPTO_free(bytes, #file, #line) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// PKCS#8.
    public var pem: String {
        let memory = BIO_new(BIO_s_mem())
        defer { BIO_free(memory) }
        PEM_write_bio_PKCS8PrivateKey(memory, key, nil, nil, 0, nil, nil)
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = BIO_read(memory, &bytes, Int32(bytes.count))
        return String(decoding: bytes.prefix(Int(count)), as: UTF8.self)
    }

    /// A number of an RSA key (`n`, `e`), as a JWK has it.
    private func number(_ name: String) -> String {
        var number: OpaquePointer?
        precondition(EVP_PKEY_get_bn_param(key, name, &number) == 1)
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: Int(BN_num_bits(number) + 7) / 8)
        BN_bn2bin(number, &bytes)
        return Self.base64URL(bytes)
    }

    /// The public key as JSON (RFC 7517).
    public func jwk(kid: String) -> String {
        switch kind {
        case .rsa:
            #"{"kty":"RSA","use":"sig","alg":"RS256","kid":"\#(kid)","n":"\#(number("n"))","e":"\#(number("e"))"}"#
        case .ed25519: #"{"kty":"OKP","crv":"Ed25519","kid":"\#(kid)","x":"\#(Self.base64URL(publicDER.suffix(32)))"}"#
        case .p256, .p384:
            #"{"kty":"EC","crv":"P-256","kid":"\#(kid)","x":"\#(Self.base64URL(publicDER.suffix(64).prefix(32)))","#
                + #""y":"\#(Self.base64URL(publicDER.suffix(32)))"}"#
        }
    }

    /// A compact JWS with this header.
    public func jws(header: String, payload: [UInt8]) -> String {
        let signed = Self.base64URL(Array(header.utf8)) + "." + Self.base64URL(payload)
        return signed + "." + Self.base64URL(rawSignature(of: Array(signed.utf8)))
    }

    public static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().filter { $0 != "=" }
            .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    }
}

extension SigningKey {
    /// Whether a DER signature is this key's.
    public func isSignature(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// The same for r and s of 32 bytes each.
    public func isRawSignature(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard signature.count == 64 else { return false }
        func number(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            if digits.first.map({ $0 > 127 }) ?? true { digits.insert(0, at: 0) }
            return [2, UInt8(digits.count)] + digits
        }
        let numbers = number(signature[..<32]) + number(signature[32...])
        return isSignature([0x30, UInt8(numbers.count)] + numbers, of: message)
    }
}
