internal import Testing

@testable internal import Crypto

struct HMACKeyTests {
    @Test("the same as OpenSSL in one call, again and again with one key", arguments: [0, 1, 20, 63, 64, 65, 200])
    func asInOneCall(_ count: Int) {
        let key = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let ready = HMACKey(key)
        for length in [0, 1, 55, 56, 64, 1000, 3, 0] {
            let message = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            #expect(ready.code(of: message) == Digest.hmacSHA256(key: key, message: message), "\(length)")
        }
    }

    /// RFC 4231 section 4.3.
    @Test func aPublishedCase() {
        let code = HMACKey(Array("Jefe".utf8)).code(of: Array("what do ya want for nothing?".utf8))
        #expect(Hex.encode(code) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test("many threads with one key")
    func together() async {
        let key = HMACKey([1, 2, 3])
        let expected = Digest.hmacSHA256(key: [1, 2, 3], message: [4, 5, 6])
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<500).allSatisfy { _ in key.code(of: [4, 5, 6]) == expected } }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
