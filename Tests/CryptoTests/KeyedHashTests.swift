internal import COpenSSL
internal import Testing

@testable internal import Crypto

/// The hash of tables in memory, against OpenSSL's SipHash.
struct KeyedHashTests {
    private func byOpenSSL(_ key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        let mac = EVP_MAC_fetch(nil, "SIPHASH", nil)
        let context = EVP_MAC_CTX_new(mac)
        defer {
            EVP_MAC_CTX_free(context)
            EVP_MAC_free(mac)
        }
        var size = 16
        var digest = [UInt8](repeating: 0, count: 16)
        withUnsafeMutablePointer(to: &size) { size in
            let parameters = [OSSL_PARAM_construct_size_t("size", size), OSSL_PARAM_construct_end()]
            #expect(EVP_MAC_init(context, key, key.count, parameters) == 1)
        }
        #expect(EVP_MAC_update(context, message, message.count) == 1)
        var written = 0
        #expect(EVP_MAC_final(context, &digest, &written, 16) == 1)
        return digest
    }

    private func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    @Test("it is SipHash-2-4 with 128 bits of one byte and the message", arguments: 0...70)
    func agrees(count: Int) {
        let key = (0..<16).map { UInt8($0 * 7 + count) }
        let message = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 200) }
        let hash = KeyedHash(key: (word(key[..<8]), word(key[8...])))
        let kind = UInt8(truncatingIfNeeded: count &* 3)
        let value = message.withUnsafeBytes { hash.hash(kind, $0) }
        let expected = byOpenSSL(key, [kind] + message)
        #expect(value.first == word(expected[..<8]) && value.second == word(expected[8...]))
    }

    @Test("two hashes have two keys")
    func keys() {
        let message: [UInt8] = [1, 2, 3]
        let values = message.withUnsafeBytes { bytes in (KeyedHash().hash(0, bytes), KeyedHash().hash(0, bytes)) }
        #expect(values.0 != values.1)
    }
}
