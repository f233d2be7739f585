internal import Crypto
internal import TestSupport
internal import Testing

/// Signed texts: what is taken apart, and whose signature is believed.
struct CompactJWSTests {
    private static let payload = Array(#"{"sub":"u1"}"#.utf8)

    @Test("the URL alphabet has one spelling for each value")
    func base64URL() {
        for count in 0..<40 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            #expect(Base64.decodeURL(Base64.encodeURL(bytes).utf8) == bytes)
        }
        #expect(Base64.decodeURL("_-8".utf8) == [0xff, 0xef])
        for wrong in ["a", "ab=", "ab==", "a+b/", "ab c", "ab\n", "_-9", "AB", "äb"] {
            #expect(Base64.decodeURL(wrong.utf8) == nil, "\(wrong)")
        }
    }

    @Test("what is no signed text is not taken apart")
    func malformed() {
        let head = SigningKey.base64URL(Array(#"{"alg":"ES256"}"#.utf8))
        let body = SigningKey.base64URL(Self.payload)
        #expect(CompactJWS("\(head).\(body).AAAA") != nil)
        let wrong = [
            "", ".", "..", "a.b.c", "a.b.c.d", "\(head).\(body)", "\(head).\(body).AAAA.", ".\(body).AAAA",
            "\(head)=.\(body).AAAA", "\(head).\(body).A*AA", " \(head).\(body).AAAA", "\(head).\(body).AAAA\n",
        ]
        for text in wrong { #expect(CompactJWS(text) == nil, "\(text)") }
        let headers = [
            "null", "[]", "{}", "3", #"{"alg":3}"#, #"{"alg":null}"#, #"{"alg":"ES256","crit":["exp"]}"#,
            #"{"alg":"ES256","crit":null}"#, #"{"alg":"ES256","x5c":"text"}"#, #"{"alg":"ES256","x5c":[1]}"#, "\u{ff}",
        ]
        for header in headers {
            #expect(CompactJWS("\(SigningKey.base64URL(Array(header.utf8))).\(body).AAAA") == nil, "\(header)")
        }
        #expect(CompactJWS(String(repeating: "A", count: CompactJWS.bytesMax + 1)) == nil)
    }

    @Test(
        "a key of a set checks its own algorithm and no other",
        arguments: [
            (SigningKey.Kind.p256, SignatureAlgorithm.es256), (.rsa, .rs256), (.ed25519, .edDSA),
        ]
    )
    func algorithms(_ kind: SigningKey.Kind, _ algorithm: SignatureAlgorithm) throws {
        let (own, other) = (SigningKey(kind), SigningKey(kind))
        let set = try #require(JWK.keys(ofSet: Array("{\"keys\":[\(own.jwk(kid: "a")),\(other.jwk(kid: "b"))]}".utf8)))
        #expect(set.map(\.kid) == ["a", "b"])
        let jws = try #require(
            CompactJWS(own.jws(header: "{\"alg\":\"\(algorithm.rawValue)\"}", payload: Self.payload))
        )
        #expect(jws.payload == Self.payload)
        for candidate in SignatureAlgorithm.allCases {
            #expect(jws.isSigned(by: set[0].key, with: candidate) == (candidate == algorithm))
            #expect(!jws.isSigned(by: set[1].key, with: candidate))
        }
        // The header names another algorithm than the key's.
        for name in ["none", "HS256", "ES384"] {
            let lie = try #require(CompactJWS(own.jws(header: "{\"alg\":\"\(name)\"}", payload: Self.payload)))
            #expect(!lie.isSigned(by: set[0].key, with: algorithm))
            #expect(!lie.isSigned(bySecret: own.publicDER))
        }
        #expect(set[0].key.der == own.publicDER)
        for index in [0, jws.signature.count / 2, jws.signature.count - 1] {
            var signature = jws.signature
            signature[index] ^= 1
            #expect(!set[0].key.isSignature(signature, of: jws.signed, with: algorithm))
        }
        #expect(!set[0].key.isSignature([], of: jws.signed, with: algorithm))
    }

    @Test("a shared secret signs with HS256 only")
    func sharedSecret() throws {
        let head = SigningKey.base64URL(Array(#"{"alg":"HS256","typ":"JWT","kid":"k"}"#.utf8))
        let signed = head + "." + SigningKey.base64URL(Self.payload)
        let secret = Array("a secret".utf8)
        let digest = Digest.hmacSHA256(key: secret, message: Array(signed.utf8))
        let jws = try #require(CompactJWS(signed + "." + SigningKey.base64URL(digest)))
        #expect(jws.header.kid == "k" && jws.header.typ == "JWT")
        #expect(jws.isSigned(bySecret: secret))
        #expect(!jws.isSigned(bySecret: Array("another".utf8)))
    }

    @Test("keys that are none, or of a kind nobody here uses, are passed over")
    func keySets() throws {
        #expect(JWK.keys(ofSet: Array("[]".utf8)) == nil)
        #expect(JWK.keys(ofSet: Array("{}".utf8)) == nil)
        let good = SigningKey().jwk(kid: "good")
        let zeros = SigningKey.base64URL([UInt8](repeating: 0, count: 32))
        let wrong = [
            "3", "{}", #"{"kty":"oct","k":"AAAA"}"#, #"{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}"#,
            "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"\(zeros)\",\"y\":\"\(zeros)\"}",
            #"{"kty":"RSA","n":"","e":"AQAB","use":"enc"}"#, #"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#,
        ]
        let text = "{\"keys\":[\((wrong + [good]).joined(separator: ","))]}"
        #expect(try #require(JWK.keys(ofSet: Array(text.utf8))).map(\.kid) == ["good"])
    }

    @Test(
        "what our own key signs is believed by its public half",
        arguments: [
            (SigningKey.Kind.p256, SignatureAlgorithm.es256), (.rsa, .rs256), (.ed25519, .edDSA),
        ]
    )
    func signing(_ kind: SigningKey.Kind, _ algorithm: SignatureAlgorithm) throws {
        let made = SigningKey(kind)
        let key = try PrivateKey(pem: Array(made.pem.utf8))
        let text = try CompactJWS.sign(Self.payload, header: ["kid": "a/b"], by: key, with: algorithm)
        let jws = try #require(CompactJWS(text))
        #expect(jws.header.alg == algorithm.rawValue && jws.header.kid == "a/b" && jws.payload == Self.payload)
        #expect(jws.isSigned(by: try #require(PublicKey(der: made.publicDER)), with: algorithm))
        for other in SignatureAlgorithm.allCases where other != algorithm {
            #expect(throws: KeyError.self) { try key.signature(of: [], with: other) }
        }
    }

    @Test("another curve does not sign with ES256, and a text without a key is told")
    func wrongKeys() throws {
        let key = try PrivateKey(pem: Array(SigningKey(.p384).pem.utf8))
        #expect(!key.fits(.es256))
        #expect(throws: KeyError.self) { try PrivateKey(pem: Array("no key".utf8)) }
        #expect(throws: KeyError.self) { try PrivateKey(pem: []) }
        #expect(PublicKey(der: [1, 2, 3]) == nil)
    }

    @Test("the two forms of an ECDSA signature are one")
    func signatureForms() throws {
        let key = SigningKey()
        // Leading zeros and high bits both come up within some signatures.
        for turn in 0..<40 {
            let der = key.signature(of: [UInt8(turn)])
            let raw = try #require(ECDSASignature.raw(der: der))
            #expect(raw.count == 64)
            #expect(ECDSASignature.der(raw: raw) == der)
        }
        #expect(ECDSASignature.der(raw: [UInt8](repeating: 1, count: 63)) == nil)
        #expect(ECDSASignature.raw(der: [0x30, 0x01]) == nil)
        #expect(ECDSASignature.raw(der: SigningKey(.p384).signature(of: [])) == nil)
    }
}
