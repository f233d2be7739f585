internal import Foundation
internal import TestSupport
internal import Testing

/// `POST /v1/users/{id}/sync` against a provider's API that does as it should, and against one that does not.
struct SyncTests {
    /// RevenueCat's answers about one customer.
    private struct Customer {
        var id = "u1"
        var days: Int64 = 10
        var status = "active"
        var start = Clock.millis - 20 * Clock.dayMillis

        var folder: String { "/v2/projects/proj/customers/\(id)" }

        var subscription: String {
            let now = Clock.millis
            let isLive = status == "active"
            return #"""
                {"id":"sub1","customer_id":"\#(id)","product_id":null,"status":"\#(status)","gives_access":\#(isLive),
                "starts_at":\#(start),"current_period_starts_at":\#(start),
                "current_period_ends_at":\#(now + days * Clock.dayMillis),"ends_at":\#(now + days * Clock.dayMillis),
                "auto_renewal_status":"will_renew","environment":"production","store":"app_store",
                "store_subscription_identifier":"t1","entitlements":{"items":[{"id":"e1","lookup_key":"pro"}]}}
                """#
        }

        func list(_ items: String...) -> String {
            #"{"object":"list","items":[\#(items.joined(separator: ","))],"next_page":null}"#
        }

        var answers: [String: FakeAPI.Answer] {
            [
                folder + "/subscriptions": .body(200, list(subscription)), folder + "/purchases": .body(200, list()),
            ]
        }
    }

    private func gateway(_ api: FakeAPI) throws -> RunningGateway {
        try RunningGateway([
            "REVENUECAT_SECRET_KEY": "sk_test", "REVENUECAT_PROJECT_ID": "proj", "REVENUECAT_API_BASE": api.base,
        ]).start()
    }

    private func sync(_ gateway: RunningGateway, _ user: String = "u1") throws -> JSONValue {
        let answer = try gateway.ask("POST", "/v1/users/\(user)/sync", key: RunningGateway.readKey)
        guard answer.status == 200 else { throw GatewayTestError("\(answer.status) \(answer.text)") }
        return try answer.json()
    }

    private func waitFor(_ gateway: RunningGateway, entitled: Bool, seconds: Double = 15) throws -> JSONValue {
        let end = ContinuousClock.now + .seconds(seconds)
        var answer = try gateway.entitlement(of: "u1")
        while answer["entitled"]?.bool != entitled, ContinuousClock.now < end {
            Thread.sleep(forTimeInterval: 0.05)
            answer = try gateway.entitlement(of: "u1")
        }
        return answer
    }

    @Test("what no webhook told is read, kept as an event, and stays when an older delivery comes")
    func missed() throws {
        let api = try FakeAPI(Customer().answers)
        let gateway = try gateway(api)
        let answer = try sync(gateway)
        #expect(answer["entitled"]?.bool == true)
        #expect(answer["unreachable"]?.array == [])
        #expect(answer["pending"]?.array == [])
        #expect(api.requests.allSatisfy { $0.contains("Authorization: Bearer sk_test") })
        #expect(!api.requests.contains { $0.contains("/v1/") })
        var late = RevenueCatEvent("e1", user: "u1", purchase: "t1")
        late.type = "EXPIRATION"
        (late.start, late.end, late.at) = (
            late.start - 40 * Clock.dayMillis, late.at - 10 * Clock.dayMillis, late.at - 10 * Clock.dayMillis
        )
        try gateway.deliver("revenuecat", late.body)
        #expect(try gateway.entitlement(of: "u1")["entitled"]?.bool == true)
        let view = try gateway.ask("GET", "/v1/users/u1").json()
        #expect(view["purchases"]?.array.count == 1)
        #expect(view["events"]?.array.contains { $0["type"] == "api.customer" } == true)
        try gateway.stop()
    }

    @Test("a delivery of the last seconds is believed before the answer, and a second look follows")
    func overtaken() throws {
        var customer = Customer()
        let api = try FakeAPI(customer.answers)
        let gateway = try gateway(api)
        var renewal = RevenueCatEvent("e1", user: "u1", purchase: "t1")
        renewal.start = customer.start
        try gateway.deliver("revenuecat", renewal.body)
        customer.status = "expired"
        customer.days = -1
        for (path, answer) in customer.answers { api.set(path, answer) }
        // RevenueCat's own word is five seconds behind its deliveries.
        #expect(try sync(gateway)["entitled"]?.bool == true)
        let later = try waitFor(gateway, entitled: false)
        #expect(later["entitled"]?.bool == false)
        try gateway.stop()
    }

    @Test(
        "a provider that fails takes nothing away and is named",
        arguments: ["500", "429", "401", "404", "garbage", "half", "empty"]
    )
    func failing(_ kind: String) throws {
        let customer = Customer()
        let api = try FakeAPI(customer.answers)
        let gateway = try gateway(api)
        #expect(try sync(gateway)["entitled"]?.bool == true)
        let answers: [String: FakeAPI.Answer] = [
            "500": .body(500, "{}"), "429": .body(429, #"{"backoff_ms":30000}"#), "401": .body(401, "{}"),
            "404": .body(404, "<html>not here</html>"), "garbage": .body(200, "<html>"),
            "half": .halfBody(customer.list()), "empty": .body(200, ""),
        ]
        api.setAll(answers[kind] ?? .silence)
        let clock = ContinuousClock.now
        let answer = try sync(gateway)
        #expect(ContinuousClock.now - clock < .seconds(5))
        #expect(answer["entitled"]?.bool == true)
        let named = (answer["unreachable"]?.array ?? []) + (answer["pending"]?.array ?? [])
        #expect(named == ["revenuecat"])
        try gateway.stop()
    }

    @Test("a provider that is silent or slow is not waited for, and what it says later counts")
    func slow() throws {
        let customer = Customer()
        let api = try FakeAPI(customer.answers)
        api.set(customer.folder + "/subscriptions", .late(2500, customer.list(customer.subscription)))
        let gateway = try gateway(api)
        let answer = try sync(gateway)
        #expect(answer["entitled"]?.bool == false)
        #expect(answer["pending"]?.array == ["revenuecat"])
        #expect(try waitFor(gateway, entitled: true)["entitled"]?.bool == true)
        // What never answers does not hold up the end of the gateway.
        api.set(customer.folder + "/subscriptions", .silence)
        #expect(try sync(gateway)["entitled"]?.bool == true)
        try gateway.stop()
    }

    @Test("a look asked for during another one sees what came after that one began")
    func duringAnother() throws {
        let customer = Customer()
        let api = try FakeAPI(customer.answers)
        api.set(customer.folder + "/subscriptions", .late(2500, customer.list()))
        let gateway = try gateway(api)
        #expect(try sync(gateway)["pending"]?.array == ["revenuecat"])
        for (path, answer) in customer.answers { api.set(path, answer) }
        _ = try sync(gateway)
        #expect(try waitFor(gateway, entitled: true)["entitled"]?.bool == true)
        try gateway.stop()
    }

    @Test("a renewal that no webhook told is found after the first no, and asked for once")
    func recheck() throws {
        let customer = Customer()
        let api = try FakeAPI(customer.answers)
        let gateway = try gateway(api)
        var purchase = RevenueCatEvent("e1", user: "u1", purchase: "t1")
        (purchase.start, purchase.at) = (customer.start - 30 * Clock.dayMillis, customer.start - 30 * Clock.dayMillis)
        purchase.end = Clock.millis - Clock.dayMillis
        try gateway.deliver("revenuecat", purchase.body)
        #expect(api.requests.isEmpty)
        #expect(try gateway.entitlement(of: "u1")["entitled"]?.bool == false)
        #expect(try waitFor(gateway, entitled: true)["entitled"]?.bool == true)
        // Somebody who ended the plan is not asked about.
        var cancelled = RevenueCatEvent("e2", user: "u2", purchase: "t2")
        (cancelled.start, cancelled.at) = (purchase.start, purchase.at)
        cancelled.end = purchase.end
        cancelled.type = "CANCELLATION"
        try gateway.deliver("revenuecat", cancelled.body)
        let count = api.requests.count
        for _ in 0..<5 { #expect(try gateway.entitlement(of: "u2")["entitled"]?.bool == false) }
        Thread.sleep(forTimeInterval: 0.3)
        #expect(api.requests.count == count)
        try gateway.stop()
    }

    @Test("a customer that RevenueCat does not know is nobody's loss; without an API the row is answered at once")
    func unknown() throws {
        let missing = FakeAPI.Answer.body(404, #"{"object":"error","type":"resource_missing"}"#)
        let customer = Customer()
        let api = try FakeAPI([customer.folder + "/subscriptions": missing, customer.folder + "/purchases": missing])
        let gateway = try gateway(api)
        #expect(try sync(gateway)["entitled"]?.bool == false)
        try gateway.grant("u1", until: nil)
        let answer = try sync(gateway)
        #expect(answer["entitled"]?.bool == true)
        #expect(answer["unreachable"]?.array == [])
        #expect(try gateway.ask("POST", "/v1/users/u1/sync", key: nil).status == 401)
        #expect(try gateway.ask("GET", "/v1/users/u1/sync").status == 405)
        #expect(try gateway.ask("POST", "/v1/users/null/sync").status == 400)
        try gateway.stop()
        let plain = try RunningGateway().start()
        #expect(try sync(plain)["entitled"]?.bool == false)
        try plain.stop()
    }

    @Test("a web subscription is read by its id, and by its customer when the first event was lost, too")
    func web() throws {
        let now = Clock.millis / 1000
        func subscription(_ id: String, ends: Int64, status: String = "active") -> String {
            #"""
            {"id":"\#(id)","object":"subscription","customer":"cus_1","status":"\#(status)","livemode":true,
            "metadata":{"user_id":"u1"},"start_date":\#(now - 90 * 86400),"cancel_at":null,"cancel_at_period_end":false,
            "items":{"data":[{"price":{"id":"price_1"},"current_period_start":\#(ends - 30 * 86400),
            "current_period_end":\#(ends)}]}}
            """#
        }
        let old = subscription("sub_1", ends: now - 3600)
        let api = try FakeAPI(["/v1/subscriptions/sub_1": .body(200, subscription("sub_1", ends: now + 30 * 86400))])
        let gateway = try RunningGateway(["STRIPE_API_KEY": "sk_live", "STRIPE_API_BASE": api.base]).start()
        try gateway.deliver(
            "stripe",
            #"""
            {"id":"evt_1","object":"event","type":"customer.subscription.created","created":\#(now - 86400),
            "livemode":true,"data":{"object":\#(old)}}
            """#
        )
        #expect(try sync(gateway)["access_until"]?.string == Clock.text((now + 30 * 86400) * 1000))
        // The customer has another subscription, of which no event ever came.
        let other = subscription("sub_2", ends: now + 300 * 86400)
        api.set("/v1/subscriptions", .body(200, #"{"object":"list","data":[\#(other)],"has_more":false}"#))
        #expect(try sync(gateway)["purchase_id"] == "sub_2")
        #expect(api.requests.allSatisfy { $0.contains("Authorization: Bearer sk_live") })
        try gateway.stop()
    }

    @Test("half a pair of credentials, or no address, stops the start by name")
    func credentials() throws {
        for (variables, name) in [
            (["REVENUECAT_SECRET_KEY": "sk"], "REVENUECAT_PROJECT_ID"),
            (["REVENUECAT_PROJECT_ID": "proj"], "REVENUECAT_SECRET_KEY"),
            (
                ["REVENUECAT_PROJECT_ID": "p", "REVENUECAT_SECRET_KEY": "sk", "REVENUECAT_API_BASE": "ftp://x"],
                "REVENUECAT_API_BASE"
            ),
        ] {
            let gateway = try RunningGateway(variables)
            let result = try gateway.run(["serve"])
            #expect(result.status == .exited(1))
            #expect(result.errors.contains(name))
        }
    }
}
