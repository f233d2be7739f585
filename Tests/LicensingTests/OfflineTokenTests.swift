import Crypto
import Entitlements
import Foundation
import Licensing
import Testing

@Suite("Offline tokens") struct OfflineTokenTests {
    /// 2026-11-30T12:00:00.500Z.
    private static let now = UnixMillis(1_796_040_000_500)

    private func token(until: UnixMillis?, days: Int = 14) -> OfflineToken {
        OfflineToken(
            issuer: "https://entitlements.example.com",
            user: UserID(unchecked: "u1"),
            licenseID: "lic_1",
            deviceID: "mac-1",
            entitlements: ["pro": until],
            accessUntil: until,
            issuedAt: Self.now,
            offlineDays: days
        )
    }

    @Test(
        "it ends with the earlier of the two",
        arguments: [
            (nil, 14, "2026-12-14T12:00:00.500Z"), ("2027-12-01T00:00:00Z", 14, "2026-12-14T12:00:00.500Z"),
            ("2026-12-01T00:00:00Z", 14, "2026-12-01T00:00:00Z"), ("2026-12-01T00:00:00Z", 1, "2026-12-01T00:00:00Z"),
        ] as [(String?, Int, String)]
    )
    func end(until: String?, days: Int, expected: String) {
        let token = token(until: until.map { UnixMillis(rfc3339: $0)! }, days: days)
        #expect(token.expiresAt == UnixMillis(rfc3339: expected)!)
    }

    @Test func itsClaimsAreTheContracts() throws {
        let keys = try SigningKeys.make(at: Self.now)
        let text = try token(until: UnixMillis(rfc3339: "2026-12-01T00:00:00Z")!).signed(by: keys)
        let jws = try #require(CompactJWS(text))
        #expect(jws.header.alg == "EdDSA" && jws.header.typ == "license+jwt" && jws.header.kid == keys.keys[0].kid)
        let claims = String(decoding: jws.payload, as: UTF8.self)
        #expect(
            claims
                == """
                {"access_until":"2026-12-01T00:00:00.000Z","aud":"device","dev":"mac-1",\
                "ent":{"pro":"2026-12-01T00:00:00.000Z"},"exp":1796083200,"iat":1796040000,\
                "iss":"https://entitlements.example.com","lic":"lic_1","nbf":1796039700,"sub":"u1"}
                """
        )
        let published = try #require(JWK.keys(ofSet: keys.publicSet(at: Self.now)))
        #expect(jws.isSigned(by: published[0].key, with: .edDSA))
    }

    @Test(
        "whatever ids hold, the claims are JSON that says the same",
        arguments: [#"a"b\c"#, "line\nand\u{1}", "π/🙂", "", #"","lic":"lic_2"#]
    )
    func textsAreKept(_ text: String) throws {
        var token = token(until: nil)
        token.deviceID = text
        token.user = UserID(unchecked: text)
        token.issuer = text
        token.entitlements = [text: nil, "pro": Self.now]
        let jws = try #require(CompactJWS(try token.signed(by: try SigningKeys.make(at: Self.now))))
        let claims = try #require(try JSONSerialization.jsonObject(with: Data(jws.payload)) as? [String: Any])
        #expect(claims["dev"] as? String == text && claims["iss"] as? String == text)
        #expect(claims["sub"] as? String == text)
        #expect(claims["lic"] as? String == "lic_1")
        let entitlements = try #require(claims["ent"] as? [String: Any])
        #expect(Set(entitlements.keys) == [text, "pro"] && entitlements[text] is NSNull)
    }

    @Test func aLifetimeIsNullAndNotMissing() throws {
        let text = try token(until: nil).signed(by: try SigningKeys.make(at: Self.now))
        let claims = String(decoding: try #require(CompactJWS(text)).payload, as: UTF8.self)
        #expect(claims.contains("\"access_until\":null") && claims.contains("\"ent\":{\"pro\":null}"))
    }

    @Test func anOldKeyIsPublishedUntilItsLastTokenHasRunOut() throws {
        let first = try SigningKeys.make(at: Self.now)
        let old = try token(until: nil).signed(by: first)
        let second = try first.rotated(at: Self.now, tokenDays: 14)
        #expect(second.keys.count == 2 && second.keys[0].kid != first.keys[0].kid)
        let new = try token(until: nil).signed(by: second)
        #expect(CompactJWS(new)?.header.kid == second.keys[0].kid)
        func kids(_ days: Int) -> [String?] {
            (JWK.keys(ofSet: second.publicSet(at: Self.now.adding(days: days))) ?? []).map(\.kid)
        }
        #expect(kids(14) == second.keys.map(\.kid))
        #expect(kids(16) == [second.keys[0].kid])
        let published = try #require(JWK.keys(ofSet: second.publicSet(at: Self.now)))
        #expect(CompactJWS(old)?.isSigned(by: published[1].key, with: .edDSA) == true)
        // What has run out is dropped with the next one.
        let third = try second.rotated(at: Self.now.adding(days: 30), tokenDays: 1)
        #expect(third.keys.map(\.kid).contains(first.keys[0].kid) == false && third.keys.count == 2)
    }

    /// A licence for a year, carried to a cellar, is checked for a year, whatever is configured when the key is replaced.
    @Test func theLongestTokenCounts() throws {
        let first = try SigningKeys.make(at: Self.now)
        let known = try #require(first.signing(tokensOfDays: 365))
        #expect(known.signing(tokensOfDays: 14) == nil)
        let read = try SigningKeys(encoded: known.encoded)
        let rotated = try read.rotated(at: Self.now, tokenDays: 14)
        let count = { (days: Int) in JWK.keys(ofSet: rotated.publicSet(at: Self.now.adding(days: days)))?.count }
        #expect(count(365) == 2 && count(367) == 1)
    }

    @Test func theFileGivesTheSameKeysBack() throws {
        let keys = try SigningKeys.make(at: Self.now).rotated(at: Self.now, tokenDays: 1)
        let read = try SigningKeys(encoded: keys.encoded)
        #expect(read.publicSet(at: Self.now) == keys.publicSet(at: Self.now) && read.encoded == keys.encoded)
        let damaged = String(decoding: keys.encoded, as: UTF8.self).replacing(keys.keys[0].kid, with: "other")
        for bytes in [Array(damaged.utf8), [], Array("{\"keys\":[]}".utf8)] {
            #expect(throws: SigningKeyError.self) { try SigningKeys(encoded: bytes) }
        }
    }

    @Test func aFileCarriesTheToken() throws {
        let text = try token(until: nil).signed(by: try SigningKeys.make(at: Self.now))
        let file = LicenseFile.armoured(text)
        #expect(file.hasPrefix("-----BEGIN LICENSE-----\n") && file.hasSuffix("\n-----END LICENSE-----\n"))
        #expect(file.split(separator: "\n").allSatisfy { $0.count <= 64 })
        #expect(LicenseFile.token(in: "Dear customer,\r\n" + file.replacing("\n", with: "\r\n") + "Yours") == text)
        #expect(LicenseFile.token(in: "-----BEGIN LICENSE-----\nabc") == nil)
    }
}
