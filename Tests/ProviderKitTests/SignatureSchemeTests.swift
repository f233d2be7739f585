internal import Crypto
internal import Entitlements
internal import Testing

@testable internal import ProviderKit

/// What is believed and what is not.
struct SignatureSchemeTests {
    private static let now = UnixMillis(1_796_083_200_000)
    private static let seconds = now.value / 1000
    private static let body = Array("{\"id\":1}".utf8)

    private static let stripe = SignatureScheme(
        header: "Stripe-Signature",
        layout: .pairs(separator: ",", timestamp: "t", signature: "v1"),
        encoding: .hex,
        signed: [.timestamp, .text("."), .body],
        keys: [.utf8],
        secondsPast: 300,
        secondsAhead: 300
    )
    private static let whole = SignatureScheme(
        header: "creem-signature",
        layout: .whole,
        encoding: .hex,
        signed: [.body],
        keys: [.utf8]
    )
    private static let standard = SignatureScheme(
        header: "webhook-signature",
        layout: .list(separator: " ", prefix: "v1,"),
        encoding: .base64,
        signed: [.id, .text("."), .timestamp, .text("."), .body],
        keys: [.base64AfterPrefix("whsec_"), .utf8],
        timestampHeader: "webhook-timestamp",
        idHeader: "webhook-id",
        secondsPast: 300,
        secondsAhead: 300
    )

    private static func mac(_ key: String, _ text: String) -> [UInt8] {
        Digest.hmacSHA256(key: Array(key.utf8), message: Array(text.utf8))
    }

    private static func hex(_ key: String, at seconds: Int64 = seconds) -> String {
        Hex.encode(mac(key, "\(seconds).{\"id\":1}"))
    }

    private func verify(_ scheme: SignatureScheme, _ headers: [String: String], secrets: [String] = ["one", "two"])
        -> Result<VerifiedDelivery, VerificationFailure>
    {
        do throws(VerificationFailure) {
            return .success(
                try scheme.verify(
                    WebhookDelivery(body: Self.body, header: { headers[$0] }),
                    secrets: secrets,
                    now: Self.now
                )
            )
        } catch {
            return .failure(error)
        }
    }

    private func failure(_ result: Result<VerifiedDelivery, VerificationFailure>) -> VerificationFailure? {
        if case .failure(let failure) = result { failure } else { nil }
    }

    @Test(
        "pairs: any signature under any secret",
        arguments: [
            ("t=\(seconds),v1=\(hex("one"))", nil), ("t=\(seconds),v1=\(hex("two"))", nil),
            ("t=\(seconds),v1=\(hex("three")),v1=\(hex("two"))", nil), ("v1=\(hex("one")),t=\(seconds)", nil),
            ("t=\(seconds), v1=\(hex("one"))", nil), ("t=\(seconds),v0=00,v1=zz,v1=\(hex("one")),v2=x", nil),
            ("t=\(seconds),v1=\(hex("one").uppercased())", nil),
            ("t=\(seconds),v1=\(hex("three"))", .badSignature), ("t=\(seconds),v1=", .badSignature),
            ("t=\(seconds),v1=\(hex("one").dropLast(2))", .badSignature),
            ("t=\(seconds),v1=\(hex("one"))00", .badSignature),
            ("t=\(seconds),v1=\(hex("one").dropLast())", .unsigned),
            ("t=\(seconds),v1=\(hex("one").dropLast())g", .unsigned),
            ("t=\(seconds);v1=\(hex("one"))", .unsigned), ("t=\(seconds),v0=\(hex("one"))", .unsigned),
            ("t=\(seconds)", .unsigned), ("v1=\(hex("one"))", .unsigned), ("", .unsigned), (",,,=,==", .unsigned),
            ("t=,v1=\(hex("one"))", .unsigned), ("t=x,v1=\(hex("one"))", .unsigned),
            ("t=-1,v1=\(hex("one"))", .unsigned),
            ("t=99999999999999999999,v1=\(hex("one"))", .unsigned), ("t=\(seconds).0,v1=\(hex("one"))", .unsigned),
            (String(repeating: "v1=00,", count: 4000), .unsigned),
        ] as [(String, VerificationFailure?)]
    )
    func pairs(_ header: String, _ expected: VerificationFailure?) {
        #expect(failure(verify(Self.stripe, ["Stripe-Signature": header])) == expected)
    }

    @Test(
        "times: 300 seconds of tolerance on both sides",
        arguments: [
            (0, nil), (299, nil), (300, nil), (301, .stale), (86_400, .stale), (-300, nil), (-301, .stale),
        ] as [(Int64, VerificationFailure?)]
    )
    func times(_ age: Int64, _ expected: VerificationFailure?) {
        let time = Self.seconds - age
        #expect(
            failure(verify(Self.stripe, ["Stripe-Signature": "t=\(time),v1=\(Self.hex("one", at: time))"])) == expected
        )
    }

    @Test("the whole header is the signature")
    func wholeHeader() {
        let good = Hex.encode(Self.mac("one", "{\"id\":1}"))
        #expect(failure(verify(Self.whole, ["creem-signature": good])) == nil)
        #expect(failure(verify(Self.whole, ["creem-signature": "sha256=" + good])) == .unsigned)
        #expect(failure(verify(Self.whole, ["creem-signature": good + "," + good])) == .unsigned)
        #expect(failure(verify(Self.whole, [:])) == .unsigned)
        #expect(failure(verify(Self.whole, ["creem-signature": good], secrets: [])) == .badSignature)
    }

    @Test("a list of signatures, with the id and the time in headers of their own")
    func list() {
        let text = "msg_1.\(Self.seconds).{\"id\":1}"
        func signed(_ key: String) -> String { "v1," + Base64.encode(Self.mac(key, text)) }
        func headers(_ signature: String, id: String? = "msg_1", time: String? = "\(Self.seconds)") -> [String: String]
        {
            var headers = ["webhook-signature": signature]
            headers["webhook-id"] = id
            headers["webhook-timestamp"] = time
            return headers
        }
        let secrets = ["whsec_" + Base64.encode(Array("key".utf8)), "whole"]
        func result(_ headers: [String: String]) -> VerificationFailure? {
            failure(verify(Self.standard, headers, secrets: secrets))
        }
        #expect(result(headers(signed("key"))) == nil)
        #expect(result(headers(signed("whole"))) == nil)
        #expect(result(headers("v1a,AAAA v1,AAAA " + signed("key"))) == nil)
        #expect(result(headers("v1,%%% , v1, " + signed("key"))) == nil)
        #expect(result(headers(signed("other"))) == .badSignature)
        #expect(result(headers(signed("key"), id: "msg_2")) == .badSignature)
        #expect(result(headers(signed("key"), id: nil)) == .unsigned)
        #expect(result(headers(signed("key"), id: "")) == .unsigned)
        #expect(result(headers(signed("key"), time: nil)) == .unsigned)
        #expect(result(headers(signed("key"), time: "\(Self.seconds - 1)")) == .badSignature)
        #expect(result(headers(signed("key"), time: "\(Self.seconds - 301)")) == .stale)
        #expect(result(headers(signed("key").replacing("v1,", with: "v1a,"))) == .unsigned)
        #expect(result(headers("")) == .unsigned)
        if case .success(let delivery) = verify(Self.standard, headers(signed("key")), secrets: secrets) {
            #expect(delivery.eventID == "msg_1")
        }
    }

    @Test("an empty key signs nothing", arguments: ["", "whsec_"])
    func emptyKey(_ secret: String) {
        let text = "msg_1.\(Self.seconds).{\"id\":1}"
        let forged = "v1," + Base64.encode(Digest.hmacSHA256(key: [], message: Array(text.utf8)))
        let headers = ["webhook-signature": forged, "webhook-id": "msg_1", "webhook-timestamp": "\(Self.seconds)"]
        let result = failure(verify(Self.standard, headers, secrets: [secret]))
        #expect(result == .badSignature)
    }
}
