internal import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import COpenSSL
#endif

/// Signatures by Ed25519 (RFC 8032), checked by what the system has.
enum Ed25519Signature {
    static func isGood(_ signature: Data, of message: Data, by key: Data) -> Bool {
        #if canImport(CryptoKit)
            guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: key) else { return false }
            return key.isValidSignature(signature, for: message)
        #else
            let (key, signature, message) = ([UInt8](key), [UInt8](signature), [UInt8](message))
            guard
                let publicKey = unsafe key.withUnsafeBufferPointer({ bytes in
                    unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes.baseAddress, bytes.count)
                }), let context = unsafe EVP_MD_CTX_new()
            else { return false }
            defer {
                unsafe EVP_MD_CTX_free(context)
                unsafe EVP_PKEY_free(publicKey)
            }
            guard unsafe EVP_DigestVerifyInit(context, nil, nil, nil, publicKey) == 1 else { return false }
            return unsafe signature.withUnsafeBufferPointer { signed in
                unsafe message.withUnsafeBufferPointer { bytes in
                    unsafe EVP_DigestVerify(
                        context,
                        signed.baseAddress,
                        signed.count,
                        bytes.baseAddress,
                        bytes.count
                    ) == 1
                }
            }
        #endif
    }
}
