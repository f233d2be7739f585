internal import Foundation
internal import TestSupport
internal import Testing

/// `reconcile`, by hand and by the gateway itself: a lost day of webhooks is healed by the providers' APIs.
@Suite("Reconciling", .ownThread)
struct ReconcileTests {
    private static let hour: Int64 = 3_600_000

    /// A subscription as the provider's API tells it, and as its webhook did a month ago.
    private static func subscription(
        _ number: Int,
        user: String?,
        ends: Int64,
        status: String = "active"
    ) -> String {
        let metadata = user.map { "{\"user_id\":\"\($0)\"}" } ?? "{}"
        return #"""
            {"id":"sub_\#(number)","object":"subscription","customer":"cus_\#(number)","status":"\#(status)",
            "livemode":true,"metadata":\#(metadata),"start_date":\#(ends / 1000 - 90 * 86400),"cancel_at":null,
            "cancel_at_period_end":false,"items":{"data":[{"price":{"id":"price_1"},
            "current_period_start":\#(ends / 1000 - 30 * 86400),"current_period_end":\#(ends / 1000)}]}}
            """#
    }

    private static func delivery(_ number: Int, user: String?, ends: Int64) -> String {
        #"""
        {"id":"evt_\#(number)","object":"event","type":"customer.subscription.created",
        "created":\#(ends / 1000 - 29 * 86400),"livemode":true,
        "data":{"object":\#(subscription(number, user: user, ends: ends))}}
        """#
    }

    /// People whose period ended an hour ago and was renewed, of which no webhook came; the gateway is stopped.
    private static func lapsed(_ people: Int, _ api: FakeAPI) throws -> (gateway: RunningGateway, renewed: Int64) {
        let now = Clock.millis / 1000 * 1000
        let (ended, renewed) = (now - hour, now - hour + 30 * Clock.dayMillis)
        let gateway = try RunningGateway(["STRIPE_API_KEY": "sk_live", "STRIPE_API_BASE": api.base]).start()
        for number in 1...people {
            try gateway.deliver("stripe", delivery(number, user: "user-\(number)", ends: ended))
            let body = subscription(number, user: "user-\(number)", ends: renewed)
            api.set("/v1/subscriptions/sub_\(number)", .body(200, body))
        }
        api.set("/v1/subscriptions", .body(200, #"{"object":"list","data":[],"has_more":false}"#))
        try gateway.stop()
        return (gateway, renewed)
    }

    private static func reconcile(_ gateway: RunningGateway, _ words: String...) throws -> (ProcessEnd, JSONValue) {
        let result = try gateway.run(["reconcile", "--json"] + words, seconds: 120)
        guard let json = try? JSONValue(parsing: result.output) else {
            throw GatewayTestError("\(result.status): \(result.output) \(result.errors)")
        }
        return (result.status, json)
    }

    private static func rows(_ gateway: RunningGateway) throws -> [String] {
        let database = try SQLDatabase(gateway.database)
        return try ["event", "fact", "subscription", "purchase", "outbox", "meta", "mention"].flatMap {
            try database.rows("SELECT * FROM \($0)")
        }
    }

    @Test func aLostDayIsHealedBesideTheGateway() throws {
        let api = try FakeAPI([:])
        let (gateway, renewed) = try Self.lapsed(40, api)
        // A dry run tells all of it and writes nothing.
        let before = try Self.rows(gateway)
        let (dryStatus, dry) = try Self.reconcile(gateway, "--dry-run")
        #expect(dryStatus == .exited(0))
        #expect(dry["different"] == 40 && dry["dry_run"] == true && dry["unread"] == 0)
        #expect(try Self.rows(gateway) == before)
        try gateway.start()
        let (status, report) = try Self.reconcile(gateway)
        #expect(status == .exited(0))
        #expect(report["different"] == 40 && report["looked"] == 40 && report["complete"] == true)
        let first = try #require(report["differences"]?.array.first { $0["user_id"] == "user-1" })
        #expect(first["before"]?["entitled"] == false && first["before"]?["status"] == "expired")
        #expect(first["after"]?["entitled"] == true && first["after"]?["status"] == "active")
        #expect(first["after"]?["access_until"]?.string == Clock.text(renewed))
        try Stress.eventually("the running gateway knows") {
            try gateway.entitlement(of: "user-40")["access_until"]?.string == Clock.text(renewed)
        }
        // Nothing is left to do, and doing it again does nothing.
        #expect(try Self.reconcile(gateway).1["different"] == 0)
        try gateway.stop()
        #expect(try gateway.run(["rebuild", "--check"]).status == .exited(0))
        #expect(
            try SQLDatabase(gateway.database).text("SELECT count(*) FROM meta WHERE name = 'reconcile_place'") == "0"
        )
    }

    @Test func whoIsNotTheProvidersIsLeftAlone() throws {
        let api = try FakeAPI([:])
        let (gateway, _) = try Self.lapsed(1, api)
        try gateway.start()
        try gateway.grant("granted", until: nil)
        try gateway.deliver("revenuecat", RevenueCatEvent("evt_rc", user: "elsewhere", purchase: "tx_1").body)
        try gateway.stop()
        let (status, report) = try Self.reconcile(gateway)
        #expect(status == .exited(0))
        #expect(report["looked"] == 1 && report["without_api"] == 1)
    }

    @Test func aParkedPurchaseFindsItsOwner() throws {
        let now = Clock.millis / 1000 * 1000
        let api = try FakeAPI(["/v1/subscriptions": .body(200, #"{"object":"list","data":[],"has_more":false}"#)])
        let gateway = try RunningGateway(["STRIPE_API_KEY": "sk", "STRIPE_API_BASE": api.base]).start()
        let ends = now + Clock.dayMillis
        #expect(try gateway.deliver("stripe", Self.delivery(1, user: nil, ends: ends)) == "parked")
        api.set("/v1/subscriptions/sub_1", .body(200, Self.subscription(1, user: "late", ends: ends)))
        let (status, report) = try Self.reconcile(gateway)
        #expect(status == .exited(0))
        #expect(report["differences"]?.array.first?["user_id"] == "late")
        try Stress.eventually("it is theirs") { try gateway.entitlement(of: "late")["entitled"]?.bool == true }
        try gateway.stop()
    }

    @Test(arguments: ["silence", "500", "429", "garbage", "half", "401"])
    func aProviderThatFailsTakesNothingAwayAndIsTold(_ kind: String) throws {
        let api = try FakeAPI([:])
        // Enough of them that the provider is given a rest after the first silence.
        let (gateway, _) = try Self.lapsed(6, api)
        let whole = Self.subscription(1, user: "user-1", ends: Clock.millis)
        let answers: [String: FakeAPI.Answer] = [
            "500": .body(500, "{}"), "429": .body(429, "{}", headers: ["Retry-After: 1"]), "401": .body(401, "{}"),
            "garbage": .body(200, "<html>"), "half": .halfBody(whole),
        ]
        let before = try Self.rows(gateway).count
        api.setAll(answers[kind] ?? .silence)
        let (status, report) = try Self.reconcile(gateway, "--patience", "0", "--dry-run")
        #expect(status == .exited(1))
        #expect(report["unread"] == 6 && report["different"] == 0)
        #expect(report["left_out"]?.array.first?["reasons"]?["stripe"]?.string?.isEmpty == false)
        #expect(try Self.rows(gateway).count == before)
    }

    @Test func aProviderThatComesBackIsWaitedFor() throws {
        let api = try FakeAPI([:])
        let (gateway, renewed) = try Self.lapsed(1, api)
        api.setAll(.body(200, "<html>"))
        let task = Thread { [api] in
            Thread.sleep(forTimeInterval: 1.5)
            api.setAll(.body(200, Self.subscription(1, user: "user-1", ends: renewed)))
            api.set("/v1/subscriptions", .body(200, #"{"object":"list","data":[],"has_more":false}"#))
        }
        task.start()
        let (status, report) = try Self.reconcile(gateway, "--patience", "30")
        #expect(status == .exited(0))
        #expect(report["different"] == 1 && report["unread"] == 0)
    }

    @Test func aKilledOneGoesOnWhereItWas() throws {
        let api = try FakeAPI([:])
        let (gateway, renewed) = try Self.lapsed(40, api)
        // The second page hangs.
        for number in 1...40 where number % 2 == 0 { api.set("/v1/subscriptions/sub_\(number)", .silence) }
        try SQLDatabase(gateway.database).execute("DELETE FROM meta WHERE name = 'reconcile_place'")
        for number in [1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 2, 20, 21, 22, 23] {
            let body = Self.subscription(number, user: "user-\(number)", ends: renewed)
            api.set("/v1/subscriptions/sub_\(number)", .body(200, body))
        }
        try gateway.killWhile(["reconcile"]) {
            try SQLDatabase(gateway.database).text(
                "SELECT CAST(value AS TEXT) FROM meta WHERE name = 'reconcile_place'"
            )
            .contains("user-23")
        }
        for number in 1...40 {
            let body = Self.subscription(number, user: "user-\(number)", ends: renewed)
            api.set("/v1/subscriptions/sub_\(number)", .body(200, body))
        }
        let asked = api.requests.count
        let (status, report) = try Self.reconcile(gateway)
        #expect(status == .exited(0))
        #expect(report["resumed"] == true && report["looked"] == 24)
        #expect(!api.requests.dropFirst(asked).contains { $0.contains("/sub_1 ") || $0.contains("/sub_23 ") })
        try gateway.start()
        for number in 1...40 {
            #expect(try gateway.entitlement(of: "user-\(number)")["access_until"]?.string == Clock.text(renewed))
        }
        try gateway.stop()
    }

    @Test func theGatewayHealsItselfAfterALongStop() throws {
        let api = try FakeAPI([:])
        let (gateway, renewed) = try Self.lapsed(20, api)
        // A short stop is nothing: senders try again for longer.
        let asked = api.requests.count
        try gateway.start()
        Thread.sleep(forTimeInterval: 0.3)
        #expect(api.requests.count == asked)
        try gateway.stop()
        try SQLDatabase(gateway.database).execute(
            "UPDATE meta SET value = CAST(\(Clock.millis - 2 * Self.hour) AS BLOB) WHERE name = 'last_alive'"
        )
        try gateway.start()
        try Stress.eventually("everyone is healed", seconds: 30) {
            let database = try SQLDatabase(gateway.database)
            return try database.text("SELECT count(*) FROM meta WHERE name = 'reconciled_at'") == "1"
        }
        #expect(gateway.text(of: "gateway.log").contains("everyone is looked at"))
        for number in 1...20 {
            #expect(try gateway.entitlement(of: "user-\(number)")["access_until"]?.string == Clock.text(renewed))
        }
        try gateway.stop()
    }

    @Test func whatCannotBeIsSaid() throws {
        let gateway = try RunningGateway()
        let missing = try gateway.run(["reconcile"])
        #expect(missing.status == .exited(1) && missing.errors.contains("there is no database"))
        try gateway.start()
        try gateway.stop()
        let none = try gateway.run(["reconcile"])
        #expect(none.status == .exited(1) && none.errors.contains("STRIPE_API_KEY"))
        #expect(try gateway.run(["reconcile", "x"]).status == .exited(2))
        #expect(try gateway.run(["reconcile", "--patience", "x"]).status == .exited(2))
    }
}
