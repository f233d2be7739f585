internal import TestSupport
internal import Testing

/// The tools of these tests: a wrong one would make every other test here mean nothing.
@Suite("The tools of the gateway's tests", .ownThread)
struct OwnToolsTests {
    /// FIPS 180-4's "abc", and RFC 4231, test cases 1 and 2.
    @Test func digestsAreRight() {
        #expect(
            SHA256Digest.hex(SHA256Digest.digest(Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
        #expect(
            SHA256Digest.hex(SHA256Digest.hmac(key: [UInt8](repeating: 0x0b, count: 20), Array("Hi There".utf8)))
                == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        )
        #expect(
            SHA256Digest.hex(
                SHA256Digest.hmac(key: Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
            ) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        )
    }

    @Test func momentsAreWrittenAsTheContractDoes() {
        #expect(Clock.text(1_798_761_600_007) == "2027-01-01T00:00:00.007Z")
    }

    /// What `.ownThread` is for: a test that blocks, and expectations that still belong to it.
    @Test func expectationsKnowTheirTest() {
        #expect(Test.current?.name == "expectationsKnowTheirTest()")
    }
}
