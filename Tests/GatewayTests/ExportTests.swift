internal import Foundation
internal import TestSupport
internal import Testing

/// Everything kept about a person, and how long payloads are kept.
@Suite("What is kept of a person", .ownThread)
struct ExportTests {
    @Test func everythingIsInIt() throws {
        let receiver = try TestReceiver { _, _ in 500 }
        let gateway = try RunningGateway(["NOTIFY_SECRET": TestReceiver.secret], config: receiver.config).start()
        try gateway.grant("person-1", until: nil, id: "g1")
        var event = RevenueCatEvent("evt_1", user: "person-1", purchase: "tx_1")
        event.aliases = ["$RCAnonymousID:abc", "person-2"]
        try gateway.deliver("revenuecat", event.body)
        try gateway.ask(
            "POST",
            "/v1/users/person-1/identities",
            body: "{\"provider\": \"stripe\", \"external_id\": \"cus_1\"}"
        )
        // An event that could not be understood, and names the person.
        var broken = try JSONValue(
            parsing: Array(RevenueCatEvent("evt_2", user: "person-1", purchase: "tx_2").body.utf8)
        )
        broken = broken.setting(["event", "purchased_at_ms"], to: "no time")
        #expect(try gateway.deliver("revenuecat", broken.compact) == "quarantined")
        try gateway.grant("somebody-else", until: nil)
        let license = try gateway.ask("POST", "/v1/licenses", body: "{\"user_id\": \"person-2\"}").json()
        let key = try #require(license["license_key"]?.string)
        let seat = "{\"license_key\": \"\(key)\", \"device_id\": \"mac-1\", \"device_name\": \"My Mac\"}"
        #expect(try gateway.ask("POST", "/v1/licenses/activate", key: nil, body: seat).status == 200)
        let answer = try gateway.ask("GET", "/v1/users/person-1/export")
        #expect(answer.status == 200)
        #expect(!answer.text.contains(key))
        let export = try answer.json()
        #expect(Set(export["ids"]?.array.compactMap(\.string) ?? []) == ["person-1", "person-2"])
        #expect(export["answers"]?.array.count == 4)
        #expect(export["answers"]?.array.contains { $0["entitled"] == true && $0["provider"] == "manual" } == true)
        let purchases = export["purchases"]?.array ?? []
        #expect(Set(purchases.compactMap { $0["purchase_id"]?.string }) == ["g1", "tx_1"])
        let facts = purchases.first { $0["purchase_id"] == "tx_1" }?["facts"]?.array ?? []
        #expect(Set(facts.compactMap { $0["fact"]?.string }) == ["state", "owner"])
        #expect(facts.contains { $0["condition"] == "active" && $0["items"]?.array.first?["end"]?.string != nil })
        let events = export["events"]?.array ?? []
        #expect(events.contains { $0["event_id"] == "evt_1" })
        let kept = try #require(events.first { $0["event_id"] == "evt_2" })
        #expect(kept["outcome"] == "quarantined" && kept["payload"]?["event"]?["app_user_id"] == "person-1")
        #expect(
            export["identities"]?.array.contains { $0["external_id"] == "cus_1" && $0["source"] == "admin" } == true
        )
        #expect(export["grants"]?.array.first?["reason"] == "a test")
        #expect(
            Set(export["audit"]?.array.compactMap { $0["action"]?.string } ?? []) == ["grant", "identity", "license"]
        )
        #expect(export["notifications"]?.array.first?["message"]?["data"]?["user_id"] == "person-1")
        let held = try #require(export["licenses"]?.array.first)
        #expect(held["license_id"] == license["license_id"] && held["user_id"] == "person-2")
        #expect(held["devices"]?.array.first?["device_name"] == "My Mac")
        #expect(!answer.text.contains("somebody-else"))
    }

    @Test func ofNobodyThereIsNothing() throws {
        let gateway = try RunningGateway().start()
        let export = try gateway.ask("GET", "/v1/users/nobody-1/export").json()
        for name in ["purchases", "events", "identities", "grants", "transfers", "audit", "notifications", "licenses"] {
            #expect(export[name]?.array.isEmpty == true, "\(name)")
        }
        #expect(try gateway.ask("GET", "/v1/users/u1/export", key: RunningGateway.readKey).status == 403)
        #expect(try gateway.ask("POST", "/v1/users/u1/export").status == 405)
        #expect(try gateway.ask("GET", "/v1/users/null/export").status == 400)
    }

    @Test func anErasedPersonLeavesNothingToExport() throws {
        let gateway = try RunningGateway().start()
        try gateway.deliver("revenuecat", RevenueCatEvent("evt_1", user: "person-1", purchase: "tx_1").body)
        try gateway.ask("DELETE", "/v1/users/person-1")
        let export = try gateway.ask("GET", "/v1/users/person-1/export").json()
        #expect(export["purchases"]?.array.isEmpty == true && export["events"]?.array.isEmpty == true)
    }

    @Test func oldPayloadsGoAndFactsStay() throws {
        let gateway = try RunningGateway(["GATEWAY_PAYLOAD_DAYS": "30"]).start()
        let event = RevenueCatEvent("evt_1", user: "$RCAnonymousID:abc", purchase: "tx_1")
        #expect(try gateway.deliver("revenuecat", event.body) == "parked")
        var broken = try JSONValue(parsing: Array(RevenueCatEvent("evt_2", user: "u", purchase: "tx_2").body.utf8))
        broken = broken.setting(["event", "purchased_at_ms"], to: "no time")
        #expect(try gateway.deliver("revenuecat", broken.compact) == "quarantined")
        let database = try SQLDatabase(gateway.database)
        try gateway.stop()
        #expect(try database.integer("SELECT count(*) FROM event WHERE payload IS NOT NULL") == 2)
        try database.execute("UPDATE event SET received_at = received_at - 31 * 86400000")
        try gateway.start()
        let end = ContinuousClock.now + .seconds(20)
        while try database.integer("SELECT count(*) FROM event WHERE payload IS NOT NULL") == 2 {
            guard ContinuousClock.now < end else { throw GatewayTestError("nothing was removed") }
            Thread.sleep(forTimeInterval: 0.05)
        }
        // Of the quarantined event the payload is all there is.
        #expect(try database.text("SELECT event_id FROM event WHERE payload IS NOT NULL") == "evt_2")
        try gateway.ask(
            "POST",
            "/v1/users/u1/identities",
            body: "{\"provider\": \"revenuecat\", \"external_id\": \"$RCAnonymousID:abc\"}"
        )
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
    }

    @Test(arguments: ["0", "-1", "x", "1.5", "99999999"])
    func aBadNumberOfDaysStopsTheStart(days: String) throws {
        let result = try RunningGateway(["GATEWAY_PAYLOAD_DAYS": days]).run(["serve"])
        #expect(result.status == .exited(1) && result.errors.contains("GATEWAY_PAYLOAD_DAYS"))
    }
}
