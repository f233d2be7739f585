#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

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
