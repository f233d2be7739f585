internal import Foundation
internal import Glibc
internal import Synchronization
internal import TestSupport
internal import Testing

/// How many answers all clients had together.
private final class Counted: Sendable {
    private let count = Atomic(0)

    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}

/// `POST /v1/events/{provider}/{event_id}/replay` (contract section 6).
@Suite("Replaying events", .ownThread)
struct ReplayTests {
    private static func replay(
        _ gateway: RunningGateway,
        _ event: String,
        of provider: String = "creem",
        key: String? = RunningGateway.adminKey
    ) throws -> HTTPAnswer {
        try gateway.ask("POST", "/v1/events/\(provider)/\(event)/replay", key: key)
    }

    private static func outcome(_ answer: HTTPAnswer) throws -> String {
        guard answer.status == 200 else { return "\(answer.status) \(answer.text)" }
        return try answer.json()["outcome"]?.string ?? "none"
    }

    private static func event(_ gateway: RunningGateway, _ id: String) throws -> JSONValue {
        let all = try gateway.ask("GET", "/v1/events?limit=500").json()["events"]?.array ?? []
        return try #require(all.first { $0["event_id"]?.string == id })
    }

    private static func expectSoundDatabase(_ gateway: RunningGateway) throws {
        try gateway.stop()
        let check = try gateway.run(["rebuild", "--check"])
        #expect(check.status == .exited(0), "\(check.output)\(check.errors)")
    }

    // EVIDENCE REPLAY-2
    @Test func whatWasQuarantinedCountsAfterTheFix() throws {
        let gateway = try BrokenManifest.gateway()
        try BrokenManifest.break(gateway)
        try gateway.start()
        #expect(try gateway.deliver("creem", BrokenManifest.paid("evt_1")) == "quarantined")
        let before = try Self.event(gateway, "evt_1")
        #expect(before["reason"]?.string?.contains("end of its period") == true)
        // Before the fix it is no better read than when it came.
        #expect(try Self.outcome(Self.replay(gateway, "evt_1")) == "quarantined")
        #expect(try gateway.entitlement(of: "u1")["version"] == 0)

        try BrokenManifest.fix(gateway)
        try gateway.reload()
        #expect(try Self.outcome(Self.replay(gateway, "evt_1")) == "applied")
        let row = try gateway.entitlement(of: "u1")
        #expect(row["entitled"] == true && row["provider"] == "creem" && row["purchase_id"] == "sub_1")
        let after = try Self.event(gateway, "evt_1")
        #expect(after["outcome"] == "applied" && after["reason"] == .null && after["user_id"] == "u1")
        #expect(after["type"] == "subscription.paid" && after["received_at"] == before["received_at"])
        #expect(after["occurred_at"]?.string != nil)

        // Twice is harmless, and so is the provider's own second delivery.
        #expect(try Self.outcome(Self.replay(gateway, "evt_1")) == "applied")
        #expect(try gateway.deliver("creem", BrokenManifest.paid("evt_1")) == "duplicate")
        #expect(try gateway.entitlement(of: "u1") == row)
        try Self.expectSoundDatabase(gateway)
        // Its body was kept only as long as it was needed.
        #expect(try SQLDatabase(gateway.database).integer("SELECT count(*) FROM event WHERE payload IS NOT NULL") == 0)
    }

    @Test func allOfAnOutcomeAreReplayedAtOnce() throws {
        let gateway = try BrokenManifest.gateway()
        try BrokenManifest.break(gateway)
        try gateway.start()
        for number in 0..<20 {
            let body = BrokenManifest.paid("evt_\(number)", of: "sub_\(number)", user: "u\(number)")
            #expect(try gateway.deliver("creem", body) == "quarantined")
        }
        // Of what is no JSON nothing is kept that could be read.
        #expect(try gateway.deliver("creem", "not JSON") == "quarantined")
        try BrokenManifest.fix(gateway)
        try gateway.reload()
        #expect(try gateway.run(["replay", "--outcome", "unmapped"]).output == "0 replayed, 0 refused\n")
        let other = try gateway.run(["replay", "--outcome", "quarantined", "--provider", "stripe"])
        #expect(other.output == "0 replayed, 0 refused\n")
        let result = try gateway.run(["replay", "--outcome", "quarantined", "--json"])
        #expect(result.status == .exited(0), "\(result.errors)")
        let report = try JSONValue(parsing: result.output)
        #expect(report["replayed"] == 20 && report["outcomes"]?["applied"] == 20)
        #expect(report["refused"]?.array.first?["code"] == "not_replayable")
        for number in 0..<20 { #expect(try gateway.entitlement(of: "u\(number)")["entitled"] == true) }
        for words in [["--outcome", "applied"], ["--outcome", "parked", "evt_1"], ["--provider", "creem"]] {
            #expect(try gateway.run(["replay"] + words).status == .exited(2))
        }
        try Self.expectSoundDatabase(gateway)
    }

    /// The late end of an old period never ends the one that followed, whenever it is understood.
    @Test func theOrderIsThatOfTheEventsOwnTimes() throws {
        let gateway = try BrokenManifest.gateway()
        try BrokenManifest.break(gateway)
        try gateway.start()
        let old = BrokenManifest.paid("evt_old", days: 30, began: -30)
        let new = BrokenManifest.paid("evt_new", days: 365)
        #expect(try gateway.deliver("creem", old) == "quarantined")
        #expect(try gateway.deliver("creem", new) == "quarantined")
        try BrokenManifest.fix(gateway)
        try gateway.reload()
        #expect(try Self.outcome(Self.replay(gateway, "evt_new")) == "applied")
        let row = try gateway.entitlement(of: "u1")
        #expect(["applied", "stale", "unchanged"].contains(try Self.outcome(Self.replay(gateway, "evt_old"))))
        let after = try gateway.entitlement(of: "u1")
        #expect(after["access_until"] == row["access_until"] && after["entitled"] == true)
        try Self.expectSoundDatabase(gateway)
    }

    // EVIDENCE REPLAY-3
    @Test func whatWasUnmappedCountsWhenItsProductIsMapped() throws {
        let gateway = try RunningGateway(config: #"{"products": {"creem": {"other": ["pro"]}}}"#)
        try gateway.start()
        #expect(try gateway.deliver("creem", BrokenManifest.paid("evt_1")) == "unmapped")
        #expect(try Self.outcome(Self.replay(gateway, "evt_1")) == "unmapped")
        #expect(try gateway.entitlement(of: "u1")["entitled"] == false)
        try gateway.write(#"{"products": {"creem": {"prod_1": ["pro"]}}}"#, to: "gateway.json")
        try gateway.reload()
        #expect(try Self.outcome(Self.replay(gateway, "evt_1")) == "applied")
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        #expect(try gateway.ask("GET", "/v1/events?outcome=unmapped").json()["events"]?.array.isEmpty == true)
        #expect(try Self.outcome(Self.replay(gateway, "evt_1")) == "applied")
        try Self.expectSoundDatabase(gateway)
    }

    @Test func whatWasParkedIsAppliedWhenItsUserIsKnown() throws {
        let gateway = try RunningGateway().start()
        #expect(try gateway.deliver("creem", BrokenManifest.paid("evt_1", user: nil)) == "parked")
        #expect(try Self.outcome(Self.replay(gateway, "evt_1")) == "parked")
        let body = #"{"provider":"creem","external_id":"sub_1"}"#
        #expect(try gateway.ask("POST", "/v1/users/u1/identities", body: body).status == 201)
        let row = try gateway.entitlement(of: "u1")
        #expect(row["entitled"] == true)
        #expect(try Self.outcome(Self.replay(gateway, "evt_1")) == "applied")
        #expect(try gateway.entitlement(of: "u1") == row)
        #expect(try gateway.ask("GET", "/v1/events?outcome=parked").json()["events"]?.array.isEmpty == true)
        try Self.expectSoundDatabase(gateway)
    }

    /// Of a body that is no JSON nothing is kept; an event without meaning has nothing to be worked out again.
    @Test func whatCannotBeReadAgainIsRefused() throws {
        let gateway = try RunningGateway().start()
        #expect(try gateway.deliver("creem", "no JSON at all") == "quarantined")
        #expect(try gateway.deliver("creem", #"{"id":"evt_2","eventType":"new.thing","created_at":1}"#) == "observed")
        for event in try gateway.ask("GET", "/v1/events").json()["events"]?.array ?? [] {
            let id = try #require(event["event_id"]?.string).replacingOccurrences(of: ":", with: "%3A")
            try ReadTests.expectProblem(try Self.replay(gateway, id), 409, "not_replayable", "\(id)")
        }
        #expect(try gateway.ask("GET", "/v1/audit").json()["audit"]?.array.isEmpty == true)
    }

    @Test func aProviderThatIsOffReadsNothing() throws {
        let gateway = try BrokenManifest.gateway()
        try BrokenManifest.break(gateway)
        try gateway.start()
        try gateway.deliver("creem", BrokenManifest.paid("evt_1"))
        try gateway.stop()
        gateway.environment["CREEM_WEBHOOK_SECRET"] = nil
        try gateway.start()
        try ReadTests.expectProblem(try Self.replay(gateway, "evt_1"), 409, "not_replayable", "off")
        #expect(try Self.event(gateway, "evt_1")["outcome"] == "quarantined")
    }

    @Test func onlyWhatIsThereAndOnlyByAnAdministrator() throws {
        let gateway = try RunningGateway().start()
        try gateway.deliver("creem", BrokenManifest.paid("evt_1"))
        for (path, status, code) in [
            ("/v1/events/creem/evt_2/replay", 404, "not_found"), ("/v1/events/stripe/evt_1/replay", 404, "not_found"),
            ("/v1/events/nobody/evt_1/replay", 404, "not_found"), ("/v1/events/creem//replay", 404, "not_found"),
            ("/v1/events/creem/evt_1", 404, "not_found"), ("/v1/events/creem/evt_1/replay/x", 404, "not_found"),
            ("/v1/events/creem/evt_1/again", 404, "not_found"), ("/v1/events/creem/%FF/replay", 400, "bad_request"),
        ] {
            try ReadTests.expectProblem(try gateway.ask("POST", path), status, code, "\(path)")
        }
        let known = "/v1/events/creem/evt_1/replay"
        try ReadTests.expectProblem(
            try gateway.ask("POST", known, key: RunningGateway.readKey),
            403,
            "forbidden",
            "a read key"
        )
        try ReadTests.expectProblem(try gateway.ask("POST", known, key: nil), 401, "unauthorized", "no key")
        try ReadTests.expectProblem(try gateway.ask("GET", known), 405, "method_not_allowed", "GET")
        #expect(try gateway.ask("GET", "/v1/audit").json()["audit"]?.array.isEmpty == true)
    }

    @Test(arguments: [
        ("evt/1", "evt%2F1"), ("evt é?#%", "evt%20%C3%A9%3F%23%25"), ("..", "%2E%2E"), ("replay", "replay"),
        ("a+b", "a+b"), ("sha256:0f", "sha256%3A0f"),
    ])
    func anyIDCanBeNamed(id: String, encoded: String) throws {
        let gateway = try RunningGateway().start()
        #expect(try gateway.deliver("creem", BrokenManifest.paid(id)) == "applied")
        let answer = try Self.replay(gateway, encoded)
        #expect(try Self.outcome(answer) == "applied", "\(id)")
        #expect(try answer.json()["event_id"]?.string == id)
        let audit = try gateway.ask("GET", "/v1/audit").json()["audit"]?.array.first
        #expect(audit?["action"] == "replay" && audit?["detail"]?.string == "creem \(id)")
        #expect(audit?["user_id"] == "u1" && audit?["key_id"] == "env:admin")
    }

    /// A grant is an event, too.
    @Test func whatWasDoneByHandCanBeWorkedOutAgain() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil, id: "g1")
        let events = try gateway.ask("GET", "/v1/events?provider=manual").json()["events"]?.array ?? []
        let id = try #require(events.first?["event_id"]?.string).replacingOccurrences(of: ":", with: "%3A")
        let row = try gateway.entitlement(of: "u1")
        #expect(try Self.outcome(Self.replay(gateway, id, of: "manual")) == "applied")
        #expect(try gateway.entitlement(of: "u1") == row)
    }

    /// Nothing brings an erased person back.
    @Test func anErasedPersonsEventsAreNotReadAgain() throws {
        let gateway = try BrokenManifest.gateway()
        try BrokenManifest.break(gateway)
        try gateway.start()
        try gateway.deliver("creem", BrokenManifest.paid("evt_1"))
        try gateway.deliver("revenuecat", RevenueCatEvent("evt_2", user: "u1", purchase: "tx_1").body)
        #expect(try gateway.ask("DELETE", "/v1/users/u1").status == 204)
        try BrokenManifest.fix(gateway)
        try gateway.reload()
        try ReadTests.expectProblem(try Self.replay(gateway, "evt_1"), 409, "not_replayable", "erased")
        #expect(try Self.replay(gateway, "evt_2", of: "revenuecat").status == 200)
        let row = try gateway.entitlement(of: "u1")
        #expect(row["entitled"] == false && row["status"] == "none")
        try Self.expectSoundDatabase(gateway)
    }

    // EVIDENCE REPLAY-4
    @Test func aKillBetweenLosesAndDoublesNothing() throws {
        let gateway = try BrokenManifest.gateway()
        try BrokenManifest.break(gateway)
        try gateway.start()
        let count = 240
        let users = (0..<count).map { "u\($0 % 60)" }
        for (number, user) in users.enumerated() {
            let body = BrokenManifest.paid("evt_\(number)", of: "sub_\(number)", user: user, days: Int64(30 + number))
            #expect(try gateway.deliver("creem", body) == "quarantined")
        }
        try BrokenManifest.fix(gateway)
        var answered: Set<Int> = []
        for round in 0..<3 {
            try gateway.stop()
            try gateway.start()
            let (port, process) = (gateway.port, gateway.processNumber)
            let killAt = 15 + 25 * round
            let done = Counted()
            let all = try inParallel(count: 8, atMost: 8) { client throws(GatewayTestError) in
                let connection = HTTPConnection(port: port)
                var mine: [Int] = []
                for number in stride(from: client, to: count, by: 8) {
                    let path = "/v1/events/creem/evt_\(number)/replay"
                    guard let answer = try? connection.send(RunningGateway.request("POST", path), seconds: 20) else {
                        break
                    }
                    guard answer.status == 200 else { throw GatewayTestError("\(answer.status) \(answer.text)") }
                    mine.append(number)
                    if done.next() == killAt { _ = kill(-process, SIGKILL) }
                }
                return mine
            }
            answered.formUnion(all.joined())
            try gateway.waitForKill()
            try gateway.start()
            // Each event is whole: either as it was, or applied with everything that belongs to it.
            for number in answered { #expect(try gateway.entitlement(of: users[number])["entitled"] == true) }
            for event in try gateway.ask("GET", "/v1/events?limit=500").json()["events"]?.array ?? [] {
                let number = Int(try #require(event["event_id"]?.string).dropFirst(4)) ?? -1
                if answered.contains(number) { #expect(event["outcome"] == "applied") }
            }
        }
        for number in 0..<count {
            let outcome = try Self.outcome(Self.replay(gateway, "evt_\(number)"))
            #expect(outcome == "applied" || outcome == "unchanged", "evt_\(number): \(outcome)")
        }
        for user in Set(users) {
            let purchases = try gateway.ask("GET", "/v1/users/\(user)").json()["purchases"]?.array ?? []
            #expect(purchases.count == count / 60, "\(user)")
        }
        try Self.expectSoundDatabase(gateway)
    }
}
