internal import Foundation
internal import TestSupport
internal import Testing

/// Whose a purchase is, when its own events do not say (contract section 6).
@Suite("Identities", .ownThread)
struct IdentityTests {
    private static func claim(
        _ gateway: RunningGateway,
        _ user: String,
        _ provider: String,
        _ id: String
    ) throws -> HTTPAnswer {
        // A claim is dated in milliseconds: two in the same one would have no order.
        Thread.sleep(forTimeInterval: 0.003)
        let body: JSONValue = ["provider": .string(provider), "external_id": .string(id)]
        return try gateway.ask("POST", "/v1/users/\(user)/identities", body: body.compact)
    }

    /// A subscription at Stripe that names nobody.
    static func subscription(_ number: Int, customer: String, user: String? = nil) -> String {
        let now = Clock.millis / 1000
        let metadata = user.map { "{\"user_id\":\"\($0)\"}" } ?? "{}"
        return """
            {"id":"evt_\(customer)_\(number)","object":"event","type":"customer.subscription.created","created":\(now),
            "livemode":true,"data":{"object":{"id":"sub_\(number)","object":"subscription","customer":"\(customer)",
            "status":"active","cancel_at_period_end":false,"created":\(now),"livemode":true,"metadata":\(metadata),
            "items":{"object":"list","data":[{"id":"si_\(number)","current_period_start":\(now),
            "current_period_end":\(now + 2_592_000),"price":{"id":"price_1","product":"prod_1"},"quantity":1}]}}}}
            """
    }

    @Test func whatWasParkedIsAttached() throws {
        let gateway = try RunningGateway().start()
        #expect(try gateway.deliver("stripe", Self.subscription(1, customer: "cus_1")) == "parked")
        #expect(try gateway.entitlement(of: "u1")["version"] == 0)
        let made = try Self.claim(gateway, "u1", "stripe", "cus_1")
        #expect(made.status == 201)
        #expect(try made.json()["user_id"] == "u1")
        let row = try gateway.entitlement(of: "u1")
        #expect(row["entitled"] == true && row["provider"] == "stripe" && row["purchase_id"] == "sub_1")
        #expect(try Self.claim(gateway, "u1", "stripe", "cus_1").status == 200)
        let view = try gateway.ask("GET", "/v1/users/u1").json()
        #expect(view["identities"]?.array.map(\.["external_id"]) == ["cus_1"])
        #expect(view["identities"]?.array.map(\.["source"]) == ["admin"])
        #expect(view["events"]?.array.contains { $0["event_id"] == "evt_cus_1_1" } == true)
        #expect(view["overlapping"]?.array.isEmpty == true)
    }

    @Test func aClaimMayComeFirst() throws {
        let gateway = try RunningGateway().start()
        #expect(try Self.claim(gateway, "u1", "stripe", "cus_1").status == 201)
        #expect(try gateway.entitlement(of: "u1")["entitled"] == false)
        #expect(try gateway.deliver("stripe", Self.subscription(1, customer: "cus_1")) == "applied")
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        // One more of the same customer, who pays twice now.
        #expect(try gateway.deliver("stripe", Self.subscription(2, customer: "cus_1")) == "applied")
        let overlapping = try gateway.ask("GET", "/v1/users/u1").json()["overlapping"]?.array
        #expect(overlapping.map { Set($0.compactMap(\.string)) } == ["sub_1", "sub_2"])
    }

    @Test(arguments: ["sub_1", "cus_1"])
    func theNewestClaimWins(id: String) throws {
        let gateway = try RunningGateway().start()
        try gateway.deliver("stripe", Self.subscription(1, customer: "cus_1"))
        var versions: [String: Int64] = ["u1": 0, "u2": 0]
        for (user, other, status) in [("u1", "u2", 201), ("u2", "u1", 201), ("u1", "u2", 200), ("u2", "u1", 200)] {
            #expect(try Self.claim(gateway, user, "stripe", id).status == status)
            let (mine, theirs) = (try gateway.entitlement(of: user), try gateway.entitlement(of: other))
            #expect(mine["entitled"] == true, "\(user) claimed it last")
            #expect(theirs["entitled"] == false, "\(other) has lost it to \(user)")
            for (name, row) in [(user, mine), (other, theirs)] {
                let version = row["version"]?.integer ?? 0
                #expect(version >= versions[name] ?? 0)
                if name == user { #expect(version > versions[name] ?? 0) }
                versions[name] = version
            }
        }
        try gateway.stop()
        #expect(try gateway.run(["rebuild", "--check"]).status == .exited(0))
    }

    /// A claim of exactly this purchase goes before what its own events say; a link of its customer does not (rule 6).
    @Test func aClaimOfThePurchaseGoesBeforeItsFacts() throws {
        let gateway = try RunningGateway().start()
        #expect(try gateway.deliver("stripe", Self.subscription(1, customer: "cus_1", user: "u1")) == "applied")
        #expect(try Self.claim(gateway, "u2", "stripe", "cus_1").status == 201)
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        #expect(try gateway.entitlement(of: "u2")["entitled"] == false)
        #expect(try Self.claim(gateway, "u3", "stripe", "sub_1").status == 201)
        #expect(try gateway.entitlement(of: "u1")["entitled"] == false)
        #expect(try gateway.entitlement(of: "u3")["entitled"] == true)
    }

    /// The same text at another provider is another id.
    @Test func anIDIsOneProviders() throws {
        let gateway = try RunningGateway().start()
        try gateway.deliver("stripe", Self.subscription(1, customer: "cus_1"))
        for provider in ["creem", "paddle", "app_store", "revenuecat"] {
            #expect(try Self.claim(gateway, "u1", provider, "sub_1").status == 201)
        }
        #expect(try gateway.entitlement(of: "u1")["entitled"] == false)
    }

    @Test func anAnonymousPurchaseIsClaimed() throws {
        let gateway = try RunningGateway().start()
        let anonymous = "$RCAnonymousID:0123456789abcdef"
        let event = RevenueCatEvent("evt_1", user: anonymous, purchase: "tx_1")
        #expect(try gateway.deliver("revenuecat", event.body) == "parked")
        #expect(try gateway.entitlement(of: "%24RCAnonymousID%3A0123456789abcdef")["entitled"] == false)
        #expect(try Self.claim(gateway, "u1", "revenuecat", anonymous).status == 201)
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
    }

    @Test func aStorePurchaseIsClaimedByItsTransaction() throws {
        let gateway = try RunningGateway().start()
        let event = RevenueCatEvent("evt_1", user: "$RCAnonymousID:a", purchase: "2000000910000001")
        try gateway.deliver("revenuecat", event.body)
        #expect(try Self.claim(gateway, "u1", "app_store", "2000000910000001").status == 201)
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
    }

    /// Two real ids of RevenueCat that are one person read the same row, and no version goes back.
    @Test func idsOfOnePersonReadOneRow() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: "2030-01-01T00:00:00Z")
        try gateway.grant("u2", until: "2031-01-01T00:00:00Z")
        try gateway.grant("u2", until: "2032-01-01T00:00:00Z")
        let before = try ["u1", "u2"].map { try gateway.entitlement(of: $0)["version"]?.integer ?? 0 }
        #expect(try Self.claim(gateway, "u1", "revenuecat", "u2").status == 201)
        let rows = try ["u1", "u2"].map { try gateway.entitlement(of: $0) }
        #expect(rows.allSatisfy { $0["access_until"] == "2032-01-01T00:00:00.000Z" })
        #expect(rows[0]["version"]?.integer ?? 0 > before[0])
        #expect(rows[1]["version"]?.integer ?? 0 >= before[1])
        let ids = try gateway.ask("GET", "/v1/users/u1").json()["ids"]?.array.compactMap(\.string)
        #expect(ids.map(Set.init) == ["u1", "u2"])
        // An event of one is a change of both.
        var event = RevenueCatEvent("evt_1", user: "u3", purchase: "tx_1", days: 5000)
        event.aliases = ["u2"]
        try gateway.deliver("revenuecat", event.body)
        for user in ["u1", "u2", "u3"] {
            let row = try gateway.entitlement(of: user)
            #expect(row["access_until"] == .string(Clock.text(event.end)), "\(user)")
            #expect(row["version"]?.integer ?? 0 > rows.compactMap { $0["version"]?.integer }.max() ?? 0)
        }
        try gateway.stop()
        #expect(try gateway.run(["rebuild", "--check"]).status == .exited(0))
    }

    @Test func whatIsNoIdentityIsRefused() throws {
        let gateway = try RunningGateway().start()
        for (body, field) in [
            ("", "body"), ("{}", "provider"), (#"{"provider":"paypal","external_id":"1"}"#, "provider"),
            (#"{"provider":7,"external_id":"1"}"#, "provider"), (#"{"provider":"stripe"}"#, "external_id"),
            (#"{"provider":"stripe","external_id":""}"#, "external_id"),
            (#"{"provider":"stripe","external_id":7}"#, "external_id"),
            ("{\"provider\":\"stripe\",\"external_id\":\"\(String(repeating: "x", count: 1025))\"}", "external_id"),
            (#"{"provider":"stripe","external_id":"1","user":"u2"}"#, "user"),
        ] {
            let answer = try gateway.ask("POST", "/v1/users/u1/identities", body: body)
            try ReadTests.expectProblem(answer, 400, "bad_request", mentions: field, "\(body)")
        }
        let readOnly = try gateway.ask("POST", "/v1/users/u1/identities", key: RunningGateway.readKey, body: "{}")
        try ReadTests.expectProblem(readOnly, 403, "forbidden", "a read key")
    }

    /// Newest first, in pages, by what became of them.
    @Test func eventsArePaged() throws {
        let gateway = try RunningGateway().start()
        for number in 1...5 {
            try gateway.deliver("stripe", Self.subscription(number, customer: "cus_1", user: number < 4 ? "u1" : nil))
        }
        var found: [String] = []
        var next: String? = ""
        while let after = next {
            let page = try gateway.ask("GET", "/v1/events?limit=2" + (after.isEmpty ? "" : "&after=\(after)")).json()
            found += page["events"]?.array.compactMap { $0["event_id"]?.string } ?? []
            next = page["next"]?.string
        }
        #expect(found == (1...5).reversed().map { "evt_cus_1_\($0)" })
        // The customer is known by the first three, so nothing is parked.
        for (query, count) in [
            ("outcome=parked", 0), ("outcome=applied", 5), ("provider=creem", 0), ("user_id=u1", 5), ("user_id=u2", 0),
        ] {
            let page = try gateway.ask("GET", "/v1/events?\(query)").json()
            #expect(page["events"]?.array.count == count, "\(query)")
        }
    }
}
