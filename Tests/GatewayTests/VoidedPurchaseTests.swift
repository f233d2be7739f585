internal import Foundation
internal import TestSupport
internal import Testing

/// Google Play from outside: what `reconcile` finds in the list of voided purchases, and what it tells and acknowledges.
@Suite("Voided purchases, from outside", .ownThread)
struct VoidedPurchaseTests {
    private static let folder = "/androidpublisher/v3/applications/com.example.app/purchases"

    private static func gateway(_ api: FakeAPI) throws -> RunningGateway {
        let gateway = try RunningGateway([
            "GOOGLE_PLAY_PACKAGE_NAME": "com.example.app", "GOOGLE_PLAY_SERVICE_ACCOUNT": "account.json",
            "GOOGLE_PLAY_API_BASE": api.base,
        ])
        let key = SigningKey(.rsa).pem.replacing("\n", with: "\\n")
        let file = """
            {"type":"service_account","client_email":"a@example.com","private_key":"\(key)","token_uri":"\(api.base)/token"}
            """
        try gateway.write(file, to: "account.json")
        api.set("/token", .body(200, #"{"access_token":"t","expires_in":3600}"#))
        return gateway
    }

    private static func subscription(_ state: String, ends: Int64, isAcknowledged: Bool = true) -> FakeAPI.Answer {
        let word = isAcknowledged ? "ACKNOWLEDGED" : "PENDING"
        return .body(
            200,
            """
            {"subscriptionState":"SUBSCRIPTION_STATE_\(state)","startTime":"2026-11-01T00:00:00Z",\
            "acknowledgementState":"ACKNOWLEDGEMENT_STATE_\(word)",\
            "lineItems":[{"productId":"pro","expiryTime":"\(Clock.text(ends))"}]}
            """
        )
    }

    private static func token(_ name: String) -> String { "\(folder)/subscriptionsv2/tokens/\(name)" }

    private static func buy(_ gateway: RunningGateway, _ name: String) throws {
        let body = "{\"purchase_token\":\"\(name)\",\"user_id\":\"\(name)\"}"
        let answer = try gateway.ask("POST", "/v1/google_play/purchases", key: RunningGateway.readKey, body: body)
        guard answer.status == 200 else { throw GatewayTestError("\(answer.status) \(answer.text)") }
    }

    private static func reconcile(_ gateway: RunningGateway, _ words: String...) throws -> JSONValue {
        let result = try gateway.run(["reconcile", "--json", "--patience", "0"] + words, seconds: 120)
        guard let json = try? JSONValue(parsing: result.output) else {
            throw GatewayTestError("\(result.status): \(result.output) \(result.errors)")
        }
        return json
    }

    /// The requests for a path, or that contain something.
    private static func asked(_ api: FakeAPI, _ part: String) -> [String] {
        api.requests.filter { $0.contains(part) }.map { String($0.prefix { $0 != "\r" }) }
    }

    @Test func whatGoogleTookBackIsFoundWithoutANotification() throws {
        let api = try FakeAPI([:])
        let gateway = try Self.gateway(api).start()
        let ends = Clock.millis / 1000 * 1000 + 20 * Clock.dayMillis
        for name in ["kept", "voided"] {
            api.set(Self.token(name), Self.subscription("ACTIVE", ends: ends))
            try Self.buy(gateway, name)
        }
        let voidedAt = Clock.millis - 60_000
        api.set(Self.token("voided"), Self.subscription("EXPIRED", ends: ends))
        let entry = #"{"purchaseToken":"voided","orderId":"GPA.1","voidedTimeMillis":"\#(voidedAt)","voidedReason":7}"#
        api.set(Self.folder + "/voidedpurchases", .body(200, "{\"voidedPurchases\":[\(entry)]}"))
        _ = try Self.reconcile(gateway)
        try Stress.eventually("it is taken back", seconds: 20) {
            try gateway.entitlement(of: "voided")["entitled"] == false
        }
        #expect(try gateway.entitlement(of: "voided")["status"] == "refunded")
        #expect(try gateway.entitlement(of: "kept")["entitled"] == true)
        // Listed for thirty days, looked at once; and the next look begins where this one ended.
        _ = try Self.reconcile(gateway)
        let events = try gateway.ask("GET", "/v1/events?provider=google_play&limit=100").json()["events"]?.array ?? []
        #expect(events.filter { $0["type"] == "VOIDED_PURCHASE" }.count == 1)
        let lists = Self.asked(api, "/voidedpurchases")
        #expect(lists.count == 2 && lists.allSatisfy { $0.contains("type=1") })
        func start(_ line: String) -> Int64? {
            line.split(separator: "startTime=").last.flatMap { Int64($0.prefix { $0.isNumber }) }
        }
        let (first, second) = (try #require(start(lists[0])), try #require(start(lists[1])))
        #expect(first < Clock.millis - 29 * Clock.dayMillis && second > Clock.millis - 2 * 3_600_000)
    }

    @Test func aListThatFailsIsToldAndTakesNothingAway() throws {
        let api = try FakeAPI([:])
        let gateway = try Self.gateway(api).start()
        api.set(Self.token("kept"), Self.subscription("ACTIVE", ends: Clock.millis + Clock.dayMillis))
        try Self.buy(gateway, "kept")
        for answer in [FakeAPI.Answer.body(403, "{}"), .body(200, "<html>"), .body(400, "{}")] {
            api.set(Self.folder + "/voidedpurchases", answer)
            let report = try Self.reconcile(gateway)
            let left = report["left_out"]?.array.compactMap { $0["list"]?.string }
            #expect(left == ["google_play voidedpurchases"], "\(report)")
            #expect(report["looked"] == 1 && report["different"] == 0)
        }
        #expect(try gateway.entitlement(of: "kept")["entitled"] == true)
    }

    /// What a reading changes is told, whether or not something is to be sent after it.
    @Test func aDifferenceWithAnAcknowledgementIsTold() throws {
        let api = try FakeAPI([:])
        let gateway = try Self.gateway(api).start()
        let now = Clock.millis / 1000 * 1000
        api.set(Self.token("renewed"), Self.subscription("ACTIVE", ends: now + Clock.dayMillis))
        try Self.buy(gateway, "renewed")
        api.set(Self.folder + "/voidedpurchases", .body(200, "{}"))
        let renewed = now + 30 * Clock.dayMillis
        api.set(Self.token("renewed"), Self.subscription("ACTIVE", ends: renewed, isAcknowledged: false))
        let acknowledgement = Self.folder + "/subscriptions/pro/tokens/renewed:acknowledge"
        api.set(acknowledgement, .body(200, ""))
        let dry = try Self.reconcile(gateway, "--dry-run")
        #expect(dry["different"] == 1 && Self.asked(api, ":acknowledge").isEmpty)
        let report = try Self.reconcile(gateway)
        #expect(report["different"] == 1, "\(report)")
        #expect(report["differences"]?.array.first?["after"]?["access_until"]?.string == Clock.text(renewed))
        try Stress.eventually("it is acknowledged", seconds: 60) { !Self.asked(api, ":acknowledge").isEmpty }
        // The alarm has a figure as long as one waits.
        try Stress.eventually("nothing waits", seconds: 60) {
            try SQLDatabase(gateway.database).text("SELECT count(*) FROM provider_task") == "0"
        }
    }

    @Test func anAcknowledgementThatWaitsIsMeasured() throws {
        let api = try FakeAPI([:])
        let gateway = try Self.gateway(api).start()
        let token = "late"
        api.set(
            Self.token(token),
            Self.subscription("ACTIVE", ends: Clock.millis + Clock.dayMillis, isAcknowledged: false)
        )
        api.set(Self.folder + "/subscriptions/pro/tokens/late:acknowledge", .body(503, "{}"))
        try Self.buy(gateway, token)
        try Stress.eventually("it is measured", seconds: 60) {
            let text = try gateway.ask("GET", "/metrics").text
            return text.contains("gateway_provider_task_oldest_seconds{provider=\"google_play\",kind=\"acknowledge\"}")
                || text.contains("gateway_provider_task_oldest_seconds{kind=\"acknowledge\",provider=\"google_play\"}")
        }
    }
}
