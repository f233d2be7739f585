import Foundation
import TestSupport
import Testing

@Suite struct WebhookSignerTests {
    private func header(
        _ name: String,
        _ provider: String,
        mode: SignMode = .good,
        environment: [String: String] = [:],
        body: String = #"{"b":1,"a":2}"#,
        timestamp: Int64? = 1_700_000_000,
        secret: String? = nil,
        keyAs: KeyForm = .base64
    ) throws -> String? {
        let webhook = UnsignedWebhook(
            provider: provider,
            body: Array(body.utf8),
            mode: mode,
            environment: environment,
            eventID: "msg_1",
            secret: secret,
            keyAs: keyAs,
            timestamp: timestamp
        )
        return try WebhookSigners.headers(for: webhook).first { $0.isNamed(name) }?.value
    }

    private func hmac(_ key: String, _ message: String) -> String {
        Digests.hex(Digests.hmacSHA256(key: Array(key.utf8), Array(message.utf8)))
    }

    @Test func aKnownSignature() throws {
        let vector = try JSONValue(parsing: ConformanceRun.current.payload("revenuecat/hmac-vector.json"))
        let wanted = try #require(vector["header"]?.string)
        let value = try header(
            "X-RevenueCat-Webhook-Signature",
            "revenuecat",
            body: #require(vector["raw_body"]?.string),
            timestamp: 1_793_520_002,
            secret: #require(vector["secret"]?.string)
        )
        #expect(vector["t"] == 1_793_520_002)
        #expect(try "X-RevenueCat-Webhook-Signature: " + #require(value) == wanted)
    }

    /// RFC 4231, test case 2, and FIPS 180-2, appendix B.1.
    @Test func theDigestsAreTheKnownOnes() {
        #expect(
            hmac("Jefe", "what do ya want for nothing?")
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        )
        #expect(
            Digests.hex(Digests.sha256(Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
    }

    /// The example of the Standard Webhooks specification's reference libraries.
    @Test func aKnownStandardSignature() throws {
        let webhook = UnsignedWebhook(
            provider: "polar",
            body: Array(#"{"test": 2432232314}"#.utf8),
            mode: .good,
            environment: ["POLAR_WEBHOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
            eventID: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp: 1_614_265_330
        )
        let headers = try WebhookSigners.headers(for: webhook)
        #expect(headers.map(\.name) == ["webhook-id", "webhook-timestamp", "webhook-signature"])
        #expect(headers.last?.value == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func creemSignsTheBody() throws {
        let environment = ["CREEM_WEBHOOK_SECRET": "old,new"]
        let body = #"{"b":1,"a":2}"#
        #expect(try header("creem-signature", "creem", environment: environment) == hmac("old", body))
        #expect(try header("creem-signature", "creem", mode: .rotated, environment: environment) == hmac("new", body))
        #expect(
            try header("creem-signature", "creem", mode: .bad, environment: environment) == hmac("another-dlo", body)
        )
        #expect(try header("creem-signature", "creem", mode: .none, environment: environment) == nil)
        #expect(try header("creem-signature", "creem") == hmac("not-configured", body))
        #expect(
            try header("creem-signature", "creem", mode: .reserialized, environment: environment)
                == hmac("old", "{\n  \"a\": 2,\n  \"b\": 1\n}")
        )
    }

    @Test func stripeSignsTimeAndBody() throws {
        let environment = ["STRIPE_WEBHOOK_SECRET": "old,new"]
        let message = #"1700000000.{"b":1,"a":2}"#
        #expect(
            try header("Stripe-Signature", "stripe", environment: environment)
                == "t=1700000000,v1=" + hmac("old", message)
        )
        #expect(
            try header("Stripe-Signature", "stripe", mode: .rotated, environment: environment)
                == "t=1700000000,v1=" + hmac("another-wen", message) + ",v1=" + hmac("new", message)
        )
        #expect(
            try header("Stripe-Signature", "stripe", secret: "mine") == "t=1700000000,v1=" + hmac("mine", message)
        )
    }

    @Test func paddleHasItsOwnSeparators() throws {
        let message = #"1700000000:{"b":1,"a":2}"#
        #expect(
            try header("Paddle-Signature", "paddle", environment: ["PADDLE_WEBHOOK_SECRET": "s"])
                == "ts=1700000000;h1=" + hmac("s", message)
        )
    }

    @Test func lemonSqueezyNamesTheEvent() throws {
        let body = #"{"meta":{"event_name":"order_created"}}"#
        let environment = ["LEMONSQUEEZY_WEBHOOK_SECRET": "s"]
        #expect(try header("X-Signature", "lemonsqueezy", environment: environment, body: body) == hmac("s", body))
        #expect(try header("X-Event-Name", "lemonsqueezy", environment: environment, body: body) == "order_created")
    }

    @Test func aStandardSecretMayBeUsedAsItIs() throws {
        let environment = ["DODO_WEBHOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]
        let message = Array(#"msg_1.1700000000.{"b":1,"a":2}"#.utf8)
        let key = Array("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".utf8)
        #expect(
            try header("webhook-signature", "dodo", environment: environment, keyAs: .utf8)
                == "v1," + Data(Digests.hmacSHA256(key: key, message)).base64EncodedString()
        )
        #expect(try header("webhook-id", "dodo", mode: .none, environment: environment) == "msg_1")
        #expect(try header("webhook-signature", "dodo", mode: .none, environment: environment) == nil)
    }

    @Test func revenueCatHasTwoProofs() throws {
        let signature = "X-RevenueCat-Webhook-Signature"
        let both = ["REVENUECAT_WEBHOOK_AUTHORIZATION": "Bearer ax", "REVENUECAT_WEBHOOK_SECRET": "s"]
        let one = ["REVENUECAT_WEBHOOK_AUTHORIZATION": "Bearer ax"]
        #expect(try header("Authorization", "revenuecat", environment: both) == "Bearer ax")
        #expect(try header("Authorization", "revenuecat", mode: .bad, environment: both) == "Bearer ax")
        #expect(
            try header(signature, "revenuecat", mode: .bad, environment: both)
                != header(signature, "revenuecat", environment: both)
        )
        #expect(try header("Authorization", "revenuecat", mode: .bad, environment: one) == "Bearer ay")
        #expect(try header(signature, "revenuecat", environment: one) == nil)
        #expect(try header("Authorization", "revenuecat", mode: .none, environment: both) == nil)
        #expect(try header("Authorization", "revenuecat", environment: ["REVENUECAT_WEBHOOK_SECRET": "s"]) == nil)
    }

    @Test func aStaleSignatureIsAnHourOld() throws {
        let now = Int64(Date().timeIntervalSince1970)
        let value = try #require(
            try header("Stripe-Signature", "stripe", mode: .stale, environment: [:], timestamp: nil)
        )
        let moment = try #require(Int64(value.dropFirst(2).prefix { $0 != "," }))
        #expect((3598...3602).contains(now - moment))
    }

    @Test func whatMakesNoSenseIsTheCasesFault() {
        #expect(throws: ConformanceError.self) { try header("creem-signature", "creem", mode: .stale) }
        #expect(throws: ConformanceError.self) {
            try header("creem-signature", "creem", mode: .reserialized, body: "no")
        }
        #expect(throws: ConformanceError.self) {
            try header("creem-signature", "creem", mode: .reserialized, body: "1")
        }
        #expect(throws: ConformanceError.self) { try header("Stripe-Signature", "stripe", mode: .appStore(.hs256)) }
        #expect(throws: ConformanceError.self) { try SignMode("goood", at: "step 1") }
    }
}
