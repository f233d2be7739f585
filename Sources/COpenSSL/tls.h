// What OpenSSL's TLS has as macros only, which Swift does not see.
#ifndef COPENSSL_TLS_H
#define COPENSSL_TLS_H

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

static inline uint64_t copenssl_tls_options(void) {
    return SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA;
}

static inline int copenssl_tls_reason(unsigned long error) { return ERR_GET_REASON(error); }

static inline void copenssl_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

static inline void copenssl_bio_retry_read(BIO *bio) { BIO_set_retry_read(bio); }

static inline void copenssl_bio_retry_write(BIO *bio) { BIO_set_retry_write(bio); }

// Prepares the cipher and the code of authentication of one session ticket (RFC 5077 section 4): AES-256-CBC and
// HMAC-SHA-256, with 32 bytes of key each. 1, or 0 when OpenSSL refuses.
static inline int copenssl_ticket_prepare(EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, const unsigned char *cipher_key,
                                          unsigned char *mac_key, const unsigned char *iv, int is_sealing) {
    OSSL_PARAM parameters[3];
    parameters[0] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, mac_key, 32);
    parameters[1] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0);
    parameters[2] = OSSL_PARAM_construct_end();
    return EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, cipher_key, iv, is_sealing) == 1 &&
           EVP_MAC_CTX_set_params(mac, parameters) == 1;
}

#endif
