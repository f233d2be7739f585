import Foundation
import TestSupport
import Testing

@Suite struct ExchangePlannerTests {
    private let planner: ExchangePlanner

    init() throws {
        planner = ExchangePlanner(
            run: .current,
            scope: Scope(
                now: 1_796_000_523_456,
                environment: ConformanceRun.current.environment,
                saved: ["v": 7]
            ),
            issuer: try FakeIssuer(FakeServices(google: FakeGoogle()), google: FakeGoogle())
        )
    }

    private func action(_ step: JSONValue) throws -> CaseStep.Action {
        try CaseStep(step, at: "step 1").action
    }

    private func plan(_ step: JSONValue) throws -> HTTPRequest {
        switch try action(step) {
        case .deliver(let step): try planner.plan(step).request
        case .read(let step): try planner.plan(step).request
        case .request(let step): try planner.plan(step).request
        default: throw ConformanceError.wrongCase("no exchange")
        }
    }

    @Test func anUnchangedPayloadIsSentByteByByte() throws {
        let name = "lemonsqueezy/01-subscription_created.json"
        let bytes = try ConformanceRun.current.payload(name)
        #expect(String(decoding: bytes, as: UTF8.self).contains("\\/"))
        #expect(try plan(["deliver": .string(name)]).body == bytes)
    }

    @Test func aChangedPayloadKeepsItsNumbersAndItsOrder() throws {
        let request = try plan([
            "deliver": "revenuecat/01-initial_purchase.app_store.json",
            "set": [
                "/event/app_user_id": "é/", "/event/expiration_at_ms": "${now_ms+30d}", "/event/new/deep": "v${v}",
            ],
            "remove": ["/event/aliases", "/event/no_such"],
        ])
        let text = String(decoding: request.body ?? [], as: UTF8.self)
        #expect(text.contains(#""app_user_id":"é/""#))
        #expect(text.contains(#""expiration_at_ms":1798592523456"#))
        #expect(text.contains(#""new":{"deep":"v7"}"#))
        #expect(text.contains(#""tax_percentage":0.0"#))
        #expect(!text.contains("aliases") && !text.contains("\n"))
        var document = try JSONValue(
            parsing: ConformanceRun.current.payload("revenuecat/01-initial_purchase.app_store.json")
        )
        document = try JSONPointer("/event/aliases").remove(from: document)
        let keys = { (value: JSONValue?) -> [String] in
            if case .object(let object)? = value { object.members.map(\.key) } else { [] }
        }
        #expect(try keys(JSONValue(parsing: text)["event"]) == keys(document["event"]) + ["new"])
    }

    @Test func aDeliveryGoesToItsProviderAndIsPaddedBeforeItIsSigned() throws {
        let request = try plan(["raw": "{}", "provider": "creem", "pad": 10])
        #expect(request.method == "POST")
        #expect(request.target == "/v1/webhooks/creem")
        #expect(request.body == Array("{}        ".utf8))
        let secret = try #require(ConformanceRun.current.environment["CREEM_WEBHOOK_SECRET"])
        let mark = Digests.hex(Digests.hmacSHA256(key: Array(secret.utf8), Array("{}        ".utf8)))
        #expect(
            request.headers == [HTTPHeader("Content-Type", "application/json"), HTTPHeader("creem-signature", mark)]
        )
    }

    @Test func theProviderIsTheFolderOfThePayloadUnlessNamed() throws {
        #expect(try plan(["deliver": "stripe/33-thin-event.json"]).target == "/v1/webhooks/stripe")
        #expect(try plan(["deliver": "stripe/33-thin-event.json", "provider": "x y"]).target == "/v1/webhooks/x%20y")
        #expect(throws: ConformanceError.self) { try plan(["raw": "{}"]) }
        #expect(throws: ConformanceError.self) { try plan(["deliver": "stripe/no-such.json"]) }
    }

    @Test func headersReplaceAndTakeAway() throws {
        let request = try plan([
            "raw": "{}", "provider": "revenuecat",
            "headers": ["authorization": "Bearer ${v}", "X-RevenueCat-Webhook-Signature": .null, "X-More": "1"],
        ])
        #expect(
            request.headers == [
                HTTPHeader("Content-Type", "application/json"), HTTPHeader("authorization", "Bearer 7"),
                HTTPHeader("X-More", "1"),
            ]
        )
    }

    @Test func aReadIsOnePathWithAnyUser() throws {
        let request = try plan(["read": "a b/é?&#%", "at": "2026-01-01T00:00:00+01:00", "wait": 10, "after": "${v}"])
        #expect(
            request.target
                == "/v1/users/a%20b%2F%C3%A9%3F%26%23%25/entitlement?at=2026-01-01T00%3A00%3A00%2B01%3A00&wait=10&after=7"
        )
        let key = try #require(ConformanceRun.current.environment["GATEWAY_READ_KEY"])
        #expect(request.headers == [HTTPHeader("Authorization", "Bearer " + key)])
    }

    @Test func aRequestSaysOnlyWhatItIsTold() throws {
        let plain = try plan(["request": ["path": "/v1/users/%00/entitlement"]])
        #expect(plain.method == "GET" && plain.target == "/v1/users/%00/entitlement")
        #expect(plain.headers.isEmpty && plain.body == nil)
        #expect(try plan(["request": ["path": "/", "key": "none"]]).headers.isEmpty)
        let literal = try plan(["request": ["method": "POST", "path": "/", "key": "k${v}", "body": ["a": "${v}"]]])
        #expect(literal.body == Array(#"{"a":7}"#.utf8))
        #expect(
            literal.headers == [
                HTTPHeader("Authorization", "Bearer k7"), HTTPHeader("Content-Type", "application/json"),
            ]
        )
        #expect(try plan(["request": ["path": "/", "raw": "["]]).body == Array("[".utf8))
    }

    @Test func aPushIsWrappedAndCarriesAToken() throws {
        let push = try plan(["deliver": "google_play/test.json", "event_id": "m1"])
        let message = try #require(push.body.flatMap { try? JSONValue(parsing: $0) })["message"]
        #expect(message?["messageId"] == "m1")
        let data = try #require(message?["data"]?.string.flatMap { Data(base64Encoded: $0) })
        #expect(try JSONValue(parsing: Array(data))["testNotification"] != nil)
        #expect(push.headers.contains { $0.name == "Authorization" && $0.value.hasPrefix("Bearer ey") })
        let unsigned = try plan(["deliver": "google_play/test.json", "sign": "none"])
        #expect(!unsigned.headers.contains { $0.name == "Authorization" })
    }
}
