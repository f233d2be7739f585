#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Macros that Swift does not see.

static inline STACK_OF(X509) *openssl_certificates_new(void) { return sk_X509_new_null(); }

/// The list does not own what is pushed to it.
static inline int openssl_certificates_push(STACK_OF(X509) *list, X509 *certificate) {
    return sk_X509_push(list, certificate);
}

static inline void openssl_certificates_free(STACK_OF(X509) *list) { sk_X509_free(list); }

static inline int openssl_certificates_count(const STACK_OF(X509) *list) { return sk_X509_num(list); }

/// The list keeps what is looked at.
static inline X509 *openssl_certificates_at(const STACK_OF(X509) *list, int index) {
    return sk_X509_value(list, index);
}

/// A public RSA key of its two numbers, or NULL. Here because the parameters keep pointers to their names, and only C has
/// names that stay where they are.
static inline EVP_PKEY *openssl_rsa_public_key(const unsigned char *modulus, int modulus_count,
                                               const unsigned char *exponent, int exponent_count) {
    EVP_PKEY *key = NULL;
    BIGNUM *n = BN_bin2bn(modulus, modulus_count, NULL);
    BIGNUM *e = BN_bin2bn(exponent, exponent_count, NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM *parameters = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    if (n && e && builder && context && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) &&
        (parameters = OSSL_PARAM_BLD_to_param(builder)) != NULL && EVP_PKEY_fromdata_init(context) == 1) {
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
    }
    OSSL_PARAM_free(parameters);
    OSSL_PARAM_BLD_free(builder);
    EVP_PKEY_CTX_free(context);
    BN_free(n);
    BN_free(e);
    return key;
}

/// Gives an HMAC its key and SHA-256. Here because the parameter keeps a pointer to the digest's name, as above.
static inline int openssl_hmac_begin(EVP_MAC_CTX *context, const unsigned char *key, size_t key_count) {
    char digest[] = "SHA256";
    OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                               OSSL_PARAM_construct_end()};
    return EVP_MAC_init(context, key, key_count, parameters);
}

/// SHA-256 of two pieces, one behind the other, in no memory but the stack's. OpenSSL's newer interface (EVP) asks the allocator
/// for every digest, and the gate makes one with every request; this one is deprecated there, and does the same.
static inline void copenssl_sha256(
    const void *_Nullable first, size_t first_count, const void *_Nullable second, size_t second_count, void *_Nullable digest
) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, first, first_count);
    SHA256_Update(&context, second, second_count);
    SHA256_Final((unsigned char *)digest, &context);
#pragma clang diagnostic pop
}

#endif
