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

/// Both halves of a key pair or, for a public key, the one there is.
static inline int openssl_public_key_selection(void) { return EVP_PKEY_PUBLIC_KEY; }

#endif
