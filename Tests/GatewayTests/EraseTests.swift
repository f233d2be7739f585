internal import Foundation
internal import TestSupport
internal import Testing

/// `DELETE /v1/users/{user_id}`: the person is forgotten, the books are not (contract section 6).
@Suite("Erasing a person", .ownThread)
struct EraseTests {
    private static func erase(_ gateway: RunningGateway, _ user: String) throws {
        let answer = try gateway.ask("DELETE", "/v1/users/\(user)")
        #expect(answer.status == 204 && answer.body.isEmpty)
    }

    private static func version(_ gateway: RunningGateway, _ user: String) throws -> Int64 {
        try gateway.entitlement(of: user)["version"]?.integer ?? -1
    }

    /// Stops the gateway, asks whether the rows are what the facts say, and starts it again.
    private static func expectSoundDatabase(_ gateway: RunningGateway) throws {
        try gateway.stop()
        let check = try gateway.run(["rebuild", "--check"])
        #expect(check.status == .exited(0), "\(check.output)\(check.errors)")
        try gateway.start()
    }

    @Test func nothingIsLeftToRead() throws {
        let gateway = try RunningGateway().start()
        try gateway.deliver("revenuecat", RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1").body)
        try gateway.deliver("stripe", IdentityTests.subscription(1, customer: "cus_1", user: "u1"))
        try gateway.grant("u1", until: nil, id: "g1")
        let before = try Self.version(gateway, "u1")
        try Self.erase(gateway, "u1")
        let row = try gateway.entitlement(of: "u1")
        #expect(row["entitled"] == false && row["status"] == "none" && row["lifetime"] == false)
        #expect(row["entitlements"] == [:] && row["purchase_id"] == .null && row["provider"] == .null)
        #expect(row["version"]?.integer ?? 0 > before)
        let view = try gateway.ask("GET", "/v1/users/u1").json()
        for name in ["purchases", "identities", "grants", "events"] {
            #expect(view[name]?.array.isEmpty == true, "\(name)")
        }
        #expect(try gateway.ask("GET", "/v1/events?user_id=u1").json()["events"]?.array.isEmpty == true)
        #expect(try gateway.ask("GET", "/v1/gate/u1").status == 403)
        try Self.expectSoundDatabase(gateway)
        #expect(try gateway.entitlement(of: "u1") == row)
    }

    @Test func whoIsNotKnownIsErasedToo() throws {
        let gateway = try RunningGateway().start()
        try Self.erase(gateway, "nobody")
        try Self.erase(gateway, "nobody")
        #expect(try Self.version(gateway, "nobody") == 0)
        try ReadTests.expectProblem(
            try gateway.ask("DELETE", "/v1/users/u1", key: RunningGateway.readKey),
            403,
            "forbidden",
            "a read key"
        )
    }

    @Test func aPurchaseThatRunsMakesTheRowAnew() throws {
        let gateway = try RunningGateway().start()
        let first = RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1")
        try gateway.deliver("revenuecat", first.body)
        var versions = [try Self.version(gateway, "u1")]
        try Self.erase(gateway, "u1")
        versions.append(try Self.version(gateway, "u1"))
        // The provider sends the old event again: it was seen.
        #expect(try gateway.deliver("revenuecat", first.body) == "duplicate")
        #expect(try gateway.entitlement(of: "u1")["entitled"] == false)
        var renewal = RevenueCatEvent("evt_2", user: "u1", purchase: "tx_1", days: 60)
        renewal.type = "RENEWAL"
        #expect(try gateway.deliver("revenuecat", renewal.body) == "applied")
        let row = try gateway.entitlement(of: "u1")
        #expect(row["entitled"] == true && row["access_until"] == .string(Clock.text(renewal.end)))
        versions.append(try Self.version(gateway, "u1"))
        try Self.erase(gateway, "u1")
        versions.append(try Self.version(gateway, "u1"))
        try gateway.grant("u1", until: nil)
        versions.append(try Self.version(gateway, "u1"))
        #expect(versions == versions.sorted() && Set(versions).count == versions.count, "\(versions)")
        try Self.expectSoundDatabase(gateway)
        #expect(try Self.version(gateway, "u1") == versions.last)
    }

    /// Whoever waits is told, and a client that knows a version from before never takes the new row for an old one.
    @Test func anEraseIsAChange() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        let version = try Self.version(gateway, "u1")
        try Self.erase(gateway, "u1")
        let answer = try gateway.entitlement(of: "u1", "wait=10&after=\(version)")
        #expect(answer["status"] == "none")
        #expect(answer["version"]?.integer ?? 0 > version)
    }

    @Test func othersKeepWhatTheyHave() throws {
        let gateway = try RunningGateway().start()
        for user in ["u1", "u2"] {
            try gateway.deliver("revenuecat", RevenueCatEvent("evt_\(user)", user: user, purchase: "tx_\(user)").body)
            try gateway.grant(user, until: "2035-01-01T00:00:00Z", id: "g1")
        }
        let before = try gateway.entitlement(of: "u2")
        try Self.erase(gateway, "u1")
        #expect(try gateway.entitlement(of: "u2") == before)
        #expect(try gateway.ask("GET", "/v1/users/u2").json()["grants"]?.array.count == 1)
        try Self.expectSoundDatabase(gateway)
    }

    /// A purchase that was transferred belongs to the one who has it; erasing the one who had it takes it from nobody.
    @Test func aTransferredPurchaseStays() throws {
        let gateway = try RunningGateway().start()
        try gateway.deliver("revenuecat", RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1").body)
        let transfer: JSONValue = [
            "api_version": "1.0",
            "event": [
                "type": "TRANSFER", "id": "evt_2", "event_timestamp_ms": .integer(Clock.millis), "store": "APP_STORE",
                "transferred_from": ["u1"], "transferred_to": ["u2"], "environment": "PRODUCTION",
            ],
        ]
        #expect(try gateway.deliver("revenuecat", transfer.compact) == "applied")
        #expect(try gateway.entitlement(of: "u2")["entitled"] == true)
        try Self.erase(gateway, "u1")
        #expect(try gateway.entitlement(of: "u1")["entitled"] == false)
        #expect(try gateway.entitlement(of: "u2")["entitled"] == true)
        try gateway.stop()
        let check = try gateway.run(["rebuild", "--check"])
        #expect(check.status == .exited(0), "\(check.output)")
        try gateway.start()
        // Anything that elects the row again shows what is left of it.
        try gateway.grant("u2", until: Clock.text(secondsFromNow: 60))
        let row = try gateway.entitlement(of: "u2")
        #expect(row["provider"] == "revenuecat")
    }

    @Test func aPurchaseClaimedByAnotherStays() throws {
        let gateway = try RunningGateway().start()
        try gateway.deliver("stripe", IdentityTests.subscription(1, customer: "cus_1", user: "u1"))
        let body = #"{"provider":"stripe","external_id":"sub_1"}"#
        #expect(try gateway.ask("POST", "/v1/users/u2/identities", body: body).status == 201)
        #expect(try gateway.entitlement(of: "u2")["entitled"] == true)
        try Self.erase(gateway, "u1")
        #expect(try gateway.entitlement(of: "u2")["entitled"] == true)
        try Self.expectSoundDatabase(gateway)
    }

    /// All ids of a person go with one of them, and each version goes on growing.
    @Test func everyIDOfThePersonIsErased() throws {
        let gateway = try RunningGateway().start()
        var event = RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1")
        event.aliases = ["u2"]
        try gateway.deliver("revenuecat", event.body)
        try gateway.grant("u2", until: nil)
        let before = try ["u1", "u2"].map { try Self.version(gateway, $0) }
        #expect(try gateway.entitlement(of: "u1")["lifetime"] == true)
        try Self.erase(gateway, "u1")
        for (user, version) in zip(["u1", "u2"], before) {
            #expect(try gateway.entitlement(of: user)["status"] == "none", "\(user)")
            #expect(try Self.version(gateway, user) > version, "\(user)")
        }
        // They are strangers now.
        try gateway.grant("u1", until: nil)
        #expect(try gateway.entitlement(of: "u2")["entitled"] == false)
        try Self.expectSoundDatabase(gateway)
    }

    /// After an erase the same grant is a new one: nobody knows of the old.
    @Test func aGrantAfterAnEraseCounts() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: "2030-01-01T00:00:00Z", id: "g1")
        try Self.erase(gateway, "u1")
        try gateway.grant("u1", until: "2030-01-01T00:00:00Z", id: "g1")
        let row = try gateway.entitlement(of: "u1")
        #expect(row["entitled"] == true)
        #expect(try gateway.ask("DELETE", "/v1/users/u1/grants/g1").status == 200)
        #expect(try gateway.entitlement(of: "u1")["entitled"] == false)
    }

    /// No byte of the files has the id: not a row, not a kept payload, not a page that is free.
    @Test func noByteOfTheIDIsLeft() throws {
        let gateway = try RunningGateway(config: #"{"products": {"creem": {}}}"#).start()
        let user = "erase-me-7f3a9c"
        let anonymous = "$RCAnonymousID:erased-anonymous-1"
        var event = RevenueCatEvent("evt_1", user: user, purchase: "tx_1")
        event.aliases = [anonymous]
        try gateway.deliver("revenuecat", event.body)
        event = RevenueCatEvent("evt_2", user: user, purchase: "tx_2")
        event.type = "EXPIRATION"
        event.environment = "SANDBOX"
        try gateway.deliver("revenuecat", event.body)
        try gateway.deliver("stripe", IdentityTests.subscription(1, customer: "cus_1", user: user))
        try gateway.grant(user, until: nil, id: "g1")
        let claim = #"{"provider":"stripe","external_id":"sub_9"}"#
        #expect(try gateway.ask("POST", "/v1/users/\(user)/identities", body: claim).status == 201)
        try Self.erase(gateway, user)
        try gateway.stop()
        for (name, bytes) in try gateway.bytes(ofFilesNamed: "gateway.") where name != "gateway.json" {
            #expect(bytes.range(of: Data(user.utf8)) == nil, "\(name)")
        }
    }

    /// What could not be understood names the person as well.
    @Test func keptPayloadsGoToo() throws {
        let gateway = try RunningGateway(config: #"{"products": {"creem": {}, "stripe": {}}}"#).start()
        let user = "erase-me-7f3a9c"
        let unmapped = IdentityTests.subscription(1, customer: "cus_1", user: user)
        #expect(try gateway.deliver("stripe", unmapped) == "unmapped")
        var event = RevenueCatEvent("evt_1", user: user, purchase: "tx_1")
        event.more = [(key: "expiration_at_ms", value: .null)]
        #expect(try gateway.deliver("revenuecat", event.body) == "quarantined")
        try gateway.grant(user, until: nil, id: "g1")
        try Self.erase(gateway, user)
        try gateway.stop()
        let database = try SQLDatabase(gateway.database)
        #expect(try database.text("SELECT count(payload) FROM event WHERE provider = 'stripe'") == "0")
        for (name, bytes) in try gateway.bytes(ofFilesNamed: "gateway.db") {
            #expect(bytes.range(of: Data(user.utf8)) == nil, "\(name)")
        }
    }
}
