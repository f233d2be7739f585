internal import Foundation
internal import TestSupport
internal import Testing

/// Grants made by hand (contract section 6).
@Suite("Grants", .ownThread)
struct GrantTests {
    private static let body = #"{"until":"2030-01-01T00:00:00Z","reason":"case 7","entitlement":"pro","grant_id":"g1"}"#

    private static func post(_ gateway: RunningGateway, _ body: String, user: String = "u1") throws -> HTTPAnswer {
        try gateway.ask("POST", "/v1/users/\(user)/grants", body: body)
    }

    @Test func aGrantIsAPurchase() throws {
        let gateway = try RunningGateway().start()
        let answer = try Self.post(gateway, Self.body)
        #expect(answer.status == 201)
        #expect(try answer.json()["grant_id"] == "g1")
        let row = try gateway.entitlement(of: "u1")
        #expect(row["entitled"] == true && row["status"] == "active" && row["will_renew"] == false)
        #expect(row["access_until"] == "2030-01-01T00:00:00.000Z" && row["lifetime"] == false)
        #expect(row["provider"] == "manual")
        let view = try gateway.ask("GET", "/v1/users/u1").json()
        let grant = try #require(view["grants"]?.array.first)
        #expect(grant["reason"] == "case 7" && grant["until"] == "2030-01-01T00:00:00.000Z")
        #expect(grant["ended_at"] == .null && grant["entitlement"] == "pro")
        #expect(view["purchases"]?.array.count == 1)
        // By hand means in production.
        #expect(try gateway.entitlement(of: "u1", "environment=sandbox")["entitled"] == false)
    }

    @Test func theSameGrantAgainIsNothingNew() throws {
        let gateway = try RunningGateway().start()
        #expect(try Self.post(gateway, Self.body).status == 201)
        let before = try gateway.entitlement(of: "u1")
        #expect(try Self.post(gateway, Self.body).status == 200)
        // The same moment, told otherwise; the same entitlement, by default.
        let again = #"{"grant_id":"g1","reason":"case 7","until":"2030-01-01T01:00:00.000+01:00","entitlement":null}"#
        #expect(try Self.post(gateway, again).status == 200)
        #expect(try gateway.entitlement(of: "u1") == before)
        for other in [
            #"{"until":"2030-01-02T00:00:00Z","reason":"case 7","grant_id":"g1"}"#,
            #"{"until":null,"reason":"case 7","grant_id":"g1"}"#,
            #"{"until":"2030-01-01T00:00:00Z","reason":"case 8","grant_id":"g1"}"#,
            #"{"until":"2030-01-01T00:00:00Z","reason":"case 7","entitlement":"team","grant_id":"g1"}"#,
        ] {
            try ReadTests.expectProblem(try Self.post(gateway, other), 409, "grant_conflict", "\(other)")
        }
        #expect(try gateway.entitlement(of: "u1") == before)
        // An id is one person's.
        #expect(try Self.post(gateway, Self.body, user: "u2").status == 201)
        #expect(try gateway.ask("GET", "/v1/users/u1").json()["grants"]?.array.count == 1)
    }

    @Test func withoutAnIDEveryGrantIsANewOne() throws {
        let gateway = try RunningGateway().start()
        let one = try gateway.grant("u1", until: "2030-01-01T00:00:00Z")["grant_id"]?.string
        let two = try gateway.grant("u1", until: "2030-01-01T00:00:00Z")["grant_id"]?.string
        #expect(one != nil && two != nil && one != two)
    }

    @Test func forLife() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        let row = try gateway.entitlement(of: "u1", "at=9999-12-31T23:59:59Z")
        #expect(row["entitled"] == true && row["lifetime"] == true && row["access_until"] == .null)
        #expect(row["entitlements"] == ["pro": .null])
    }

    @Test func aGrantOfThePastGivesNothing() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: "2020-01-01T00:00:00Z")
        let row = try gateway.entitlement(of: "u1")
        #expect(row["entitled"] == false && row["status"] == "expired")
        #expect(row["access_until"] == "2020-01-01T00:00:00.000Z")
    }

    @Test func anEndedGrantGivesNothing() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil, id: "g 1")
        let version = try gateway.entitlement(of: "u1")["version"]?.integer ?? 0
        #expect(try gateway.ask("DELETE", "/v1/users/u1/grants/g%201").status == 200)
        let row = try gateway.entitlement(of: "u1")
        #expect(row["entitled"] == false && row["lifetime"] == false)
        #expect(row["status"] == "revoked")
        #expect(row["version"]?.integer ?? 0 > version)
        let ended = try gateway.ask("GET", "/v1/users/u1").json()["grants"]?.array.first?["ended_at"]
        #expect(ended?.string != nil)
        // Ending it again changes nothing, not even the time; giving it again is the same grant, which has ended.
        #expect(try gateway.ask("DELETE", "/v1/users/u1/grants/g%201").status == 200)
        let again = try Self.post(gateway, #"{"until":null,"reason":"a test","grant_id":"g 1"}"#)
        #expect(again.status == 200)
        #expect(try gateway.entitlement(of: "u1") == row)
        #expect(try gateway.ask("GET", "/v1/users/u1").json()["grants"]?.array.first?["ended_at"] == ended)
        for target in ["/v1/users/u1/grants/g2", "/v1/users/u2/grants/g%201"] {
            try ReadTests.expectProblem(try gateway.ask("DELETE", target), 404, "not_found", target)
        }
    }

    /// Two ids are one person: a grant is found, and ended, under either.
    @Test func aPersonsOtherIDEndsTheGrant() throws {
        let gateway = try RunningGateway().start()
        #expect(try Self.post(gateway, Self.body).status == 201)
        var event = RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1")
        event.aliases = ["u2"]
        try gateway.deliver("revenuecat", event.body)
        #expect(try Self.post(gateway, Self.body, user: "u2").status == 200)
        let other = #"{"until":null,"reason":"case 7","grant_id":"g1"}"#
        try ReadTests.expectProblem(try Self.post(gateway, other, user: "u2"), 409, "grant_conflict", other)
        #expect(try gateway.entitlement(of: "u2")["purchase_id"] == "g1")
        #expect(try gateway.ask("DELETE", "/v1/users/u2/grants/g1").status == 200)
        #expect(try gateway.entitlement(of: "u1")["purchase_id"] == "tx_1")
        #expect(try gateway.entitlement(of: "u2")["purchase_id"] == "tx_1")
        let grants = try gateway.ask("GET", "/v1/users/u1").json()["grants"]?.array
        #expect(grants?.count == 1 && grants?.first?["ended_at"]?.string != nil)
    }

    /// Between purchases the later end wins, and a loser takes over when the winner ends.
    @Test func theLaterEndWins() throws {
        let gateway = try RunningGateway().start()
        let event = RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1")
        try gateway.deliver("revenuecat", event.body)
        try gateway.grant("u1", until: Clock.text(secondsFromNow: 3600), id: "short")
        #expect(try gateway.entitlement(of: "u1")["provider"] == "revenuecat")
        try gateway.grant("u1", until: "2035-01-01T00:00:00Z", id: "long")
        #expect(try gateway.entitlement(of: "u1")["purchase_id"] == "long")
        #expect(try gateway.ask("DELETE", "/v1/users/u1/grants/long").status == 200)
        let row = try gateway.entitlement(of: "u1")
        #expect(row["provider"] == "revenuecat" && row["entitled"] == true)
        #expect(row["access_until"] == .string(Clock.text(event.end)))
    }

    @Test func anotherEntitlement() throws {
        let gateway = try RunningGateway(config: #"{"entitlement": "premium"}"#).start()
        try gateway.grant("u1", until: "2030-01-01T00:00:00Z", entitlement: "team")
        #expect(try gateway.entitlement(of: "u1")["entitled"] == false)
        #expect(try gateway.entitlement(of: "u1")["entitlement"] == "premium")
        #expect(try gateway.entitlement(of: "u1", "entitlement=team")["entitled"] == true)
        try gateway.grant("u1", until: "2031-01-01T00:00:00Z")
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        #expect(
            try gateway.entitlement(of: "u1")["entitlements"]
                == ["premium": "2031-01-01T00:00:00.000Z", "team": "2030-01-01T00:00:00.000Z"]
        )
    }

    @Test func whatIsNoGrantIsRefused() throws {
        let gateway = try RunningGateway().start()
        for (body, field) in [
            ("", "body"), ("[]", "body"), ("{\"until\":null,", "body"),
            (#"{"until":null}"#, "reason"), (#"{"until":null,"reason":""}"#, "reason"),
            (#"{"until":null,"reason":7}"#, "reason"),
            ("{\"until\":null,\"reason\":\"\(String(repeating: "r", count: 2001))\"}", "reason"),
            (#"{"reason":"x"}"#, "until"), (#"{"reason":"x","until":"tomorrow"}"#, "until"),
            (#"{"reason":"x","until":1893456000}"#, "until"), (#"{"reason":"x","until":"2030-01-01"}"#, "until"),
            (#"{"reason":"x","until":null,"entitlement":""}"#, "entitlement"),
            (#"{"reason":"x","until":null,"entitlement":7}"#, "entitlement"),
            (#"{"reason":"x","until":null,"grant_id":""}"#, "grant_id"),
            (#"{"reason":"x","until":null,"grant_id":"a\u0000b"}"#, "grant_id"),
            (#"{"reason":"x","until":null,"untill":null}"#, "untill"),
        ] {
            try ReadTests.expectProblem(try Self.post(gateway, body), 400, "bad_request", mentions: field, "\(body)")
        }
        let readOnly = try gateway.ask("POST", "/v1/users/u1/grants", key: RunningGateway.readKey, body: Self.body)
        try ReadTests.expectProblem(readOnly, 403, "forbidden", "a read key")
        #expect(try gateway.entitlement(of: "u1")["version"] == 0)
    }

    /// An id that was accepted can be named in the path that ends it.
    @Test func everyGrantCanBeEnded() throws {
        let gateway = try RunningGateway().start()
        let spellings = [("a/b", "a%2Fb"), ("..", "%2E%2E"), ("é?#%", "%C3%A9%3F%23%25"), (" ", "%20")]
        for (id, path) in spellings {
            let body = "{\"until\":null,\"reason\":\"x\",\"grant_id\":\"\(id)\"}"
            #expect(try Self.post(gateway, body).status == 201, "\(id)")
            #expect(try gateway.ask("DELETE", "/v1/users/u1/grants/\(path)").status == 200, "\(id)")
        }
        #expect(try gateway.entitlement(of: "u1")["entitled"] == false)
    }

    @Test func whoDidWhatIsRecorded() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil, id: "g1")
        #expect(try gateway.ask("DELETE", "/v1/users/u1/grants/g1").status == 200)
        let audit = try gateway.ask("GET", "/v1/audit").json()["audit"]?.array ?? []
        #expect(audit.map(\.["action"]) == ["end_grant", "grant"])
        #expect(audit.allSatisfy { $0["key_id"] == "env:admin" && $0["user_id"] == "u1" && $0["detail"] == "g1" })
        try gateway.stop()
        let rows = try SQLDatabase(gateway.database).rows(
            "SELECT key_id, action, user_id, detail FROM audit ORDER BY seq"
        )
        #expect(rows == ["env:admin|grant|u1|g1", "env:admin|end_grant|u1|g1"])
    }
}
