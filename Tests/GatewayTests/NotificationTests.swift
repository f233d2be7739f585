internal import Foundation
internal import TestSupport
internal import Testing

/// Changed answers told to the seller's own systems (contract section 8).
@Suite("Notifications", .ownThread)
struct NotificationTests {
    private static let environment = ["NOTIFY_SECRET": TestReceiver.secret]

    private static func gateway(_ receivers: [String], more: String = "") throws -> RunningGateway {
        try RunningGateway(environment, config: TestReceiver.config(receivers, more: more))
    }

    private static func waitUntil(_ seconds: Double = 20, _ condition: () throws -> Bool) throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            if try condition() { return }
            Thread.sleep(forTimeInterval: 0.02)
        }
        throw GatewayTestError("it did not come about within \(seconds) s")
    }

    @Test func aChangeIsToldWithWhatWasBefore() throws {
        let receiver = try TestReceiver()
        let gateway = try Self.gateway([receiver.url]).start()
        try gateway.grant("u1", until: nil, id: "g1")
        let first = try receiver.deliveries(1)[0]
        #expect(first.json["type"] == "entitlement.changed")
        #expect(first.json["timestamp"]?.string?.hasSuffix("Z") == true)
        #expect(first.data["user_id"] == "u1" && first.data["entitled"] == true && first.data["lifetime"] == true)
        #expect(first.data["environment"] == "production")
        #expect(first.data["previous"]?["entitled"] == false && first.data["previous"]?["status"] == "none")
        #expect(first.data["previous"]?["version"] == 0)
        #expect(first.headers["content-type"] == "application/json")
        #expect(first.id.hasPrefix("msg_") && first.isSigned(by: TestReceiver.key))
        #expect(!first.isSigned(by: Array("another key of at least 24 bytes".utf8)))
        let sentAt = try #require(Int64(first.headers["webhook-timestamp"] ?? ""))
        #expect(abs(sentAt - Clock.millis / 1000) < 60)
        // The answer is what a reader gets.
        var answer = first.data
        if case .object(var members) = answer {
            members["previous"] = nil
            answer = .object(members)
        }
        #expect(try gateway.entitlement(of: "u1") == answer)
        try gateway.ask("DELETE", "/v1/users/u1/grants/g1")
        let second = try receiver.deliveries(2)[1]
        #expect(second.data["entitled"] == false && second.data["previous"]?["entitled"] == true)
        #expect(second.id != first.id)
    }

    @Test func whatChangesNoAnswerIsNotTold() throws {
        let receiver = try TestReceiver()
        let gateway = try Self.gateway([receiver.url]).start()
        let event = RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1")
        try gateway.deliver("revenuecat", event.body)
        _ = try receiver.deliveries(1)
        // Again, and once more under another id: nothing is another now.
        #expect(try gateway.deliver("revenuecat", event.body) == "duplicate")
        var other = event
        other.id = "evt_2"
        #expect(try gateway.deliver("revenuecat", other.body) == "unchanged")
        // A shorter grant beside it does not win.
        try gateway.grant("u1", until: Clock.text(secondsFromNow: 60))
        try gateway.grant("u2", until: nil)
        let all = try receiver.deliveries(2)
        #expect(all.map { $0.data["user_id"] } == ["u1", "u2"])
        Thread.sleep(forTimeInterval: 0.3)
        #expect(receiver.count == 2)
    }

    @Test func sandboxIsToldApart() throws {
        let receiver = try TestReceiver()
        let gateway = try Self.gateway([receiver.url]).start()
        var event = RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1")
        event.environment = "SANDBOX"
        try gateway.deliver("revenuecat", event.body)
        let delivery = try receiver.deliveries(1)[0]
        #expect(delivery.data["environment"] == "sandbox" && delivery.data["entitled"] == true)
        #expect(receiver.count == 1)
    }

    @Test func ofEachEntitlementItsOwnAnswerIsTold() throws {
        let receiver = try TestReceiver()
        let gateway = try Self.gateway([receiver.url]).start()
        try gateway.grant("u1", until: nil)
        try gateway.grant("u1", until: nil, entitlement: "th_access")
        let all = try receiver.deliveries(2)
        #expect(all[1].data["entitlement"] == "th_access" && all[1].data["entitled"] == true)
        #expect(all[1].data["previous"]?["entitled"] == false)
    }

    @Test func theClockIsAChangeOnce() throws {
        let receiver = try TestReceiver()
        let gateway = try Self.gateway([receiver.url]).start()
        let end = Clock.millis + 1200
        try gateway.grant("u1", until: Clock.text(end))
        let told = try receiver.deliveries(2)[1]
        #expect(Clock.millis >= end)
        #expect(told.data["entitled"] == false && told.data["status"] == "expired")
        #expect(told.data["previous"]?["entitled"] == true && told.data["previous"]?["status"] == "active")
        #expect(told.json["timestamp"]?.string == Clock.text(end))
        #expect(told.data["version"] == told.data["previous"]?["version"])
        Thread.sleep(forTimeInterval: 0.5)
        try gateway.stop()
        try gateway.start()
        Thread.sleep(forTimeInterval: 0.5)
        #expect(receiver.count == 2)
    }

    @Test func whatTheClockChangedDuringAStopIsToldOnceAfterIt() throws {
        let receiver = try TestReceiver()
        let gateway = try Self.gateway([receiver.url]).start()
        try gateway.grant("u1", until: Clock.text(secondsFromNow: 4))
        try gateway.grant("u2", until: Clock.text(secondsFromNow: 3600))
        _ = try receiver.deliveries(2)
        try gateway.stop()
        Thread.sleep(forTimeInterval: 4.1)
        try gateway.start()
        let told = try receiver.deliveries(3)[2]
        #expect(told.data["user_id"] == "u1" && told.data["entitled"] == false)
        try gateway.stop()
        try gateway.start()
        Thread.sleep(forTimeInterval: 0.4)
        #expect(receiver.count == 3)
    }

    /// The answer changed by the clock while the gateway was down, and a webhook comes before anything else: both are told.
    @Test func aTurnBeforeAWriteIsToldBeforeIt() throws {
        let receiver = try TestReceiver()
        let gateway = try Self.gateway([receiver.url]).start()
        for round in 0..<4 {
            try gateway.grant("u\(round)", until: Clock.text(secondsFromNow: 1.2))
            Thread.sleep(forTimeInterval: 1.21)
            try gateway.grant("u\(round)", until: nil)
        }
        let all = try receiver.deliveries(12)
        for round in 0..<4 {
            let mine = all.filter { $0.data["user_id"]?.string == "u\(round)" }
            #expect(mine.map { $0.data["entitled"]?.bool } == [true, false, true])
            // Each says before what the one before it said.
            for (earlier, later) in zip(mine, mine.dropFirst()) {
                #expect(later.data["previous"]?["entitled"] == earlier.data["entitled"])
                #expect(later.data["previous"]?["version"] == earlier.data["version"])
            }
        }
    }

    @Test func aRefusalIsTriedAgainWithTheSameId() throws {
        let receiver = try TestReceiver { number, _ in number < 3 ? 500 : 200 }
        let gateway = try Self.gateway([receiver.url]).start()
        try gateway.grant("u1", until: nil)
        let all = try receiver.deliveries(3)
        #expect(Set(all.map(\.id)).count == 1 && Set(all.map(\.body)).count == 1)
        #expect(all.allSatisfy { $0.isSigned(by: TestReceiver.key) })
        try Self.waitUntil { try Self.waiting(gateway) == 0 }
        Thread.sleep(forTimeInterval: 0.2)
        #expect(receiver.count == 3)
    }

    @Test(arguments: [301, 307, 400, 410])
    func onlyAYesIsAYes(status: Int) throws {
        let receiver = try TestReceiver { _, _ in status }
        let gateway = try Self.gateway([receiver.url]).start()
        try gateway.grant("u1", until: nil)
        _ = try receiver.deliveries(2)
        #expect(try Self.waiting(gateway) == 1)
        let answer = try gateway.ask("GET", "/v1/notifications").json()
        #expect(answer["notifications"]?.array.first?["reason"]?.string?.contains("\(status)") == true)
    }

    /// One user's messages come one after the other, whatever fails; others do not wait for them.
    @Test func oneUsersChangesComeInOrder() throws {
        let receiver = try TestReceiver { number, delivery in
            delivery.data["user_id"] == "slow" && number < 4 ? 503 : 200
        }
        let gateway = try Self.gateway([receiver.url]).start()
        for round in 0..<4 { try gateway.grant("slow", until: Clock.text(secondsFromNow: 1000 + Double(round))) }
        try gateway.grant("fast", until: nil)
        try Self.waitUntil { try Self.waiting(gateway) == 0 }
        let all = try receiver.deliveries(receiver.count)
        let taken = all.filter { $0.data["user_id"] == "slow" }.reduce(into: [String]()) { list, delivery in
            if list.last != delivery.id { list.append(delivery.id) }
        }
        #expect(taken.count == 4, "each is tried until it is taken, and only then the next")
        let versions = all.filter { $0.data["user_id"] == "slow" }.compactMap { $0.data["version"]?.integer }
        #expect(versions == versions.sorted())
    }

    @Test func aReceiverThatNeverAnswersHoldsUpNobody() throws {
        let (dead, alive) = (try TestReceiver { _, _ in nil }, try TestReceiver())
        let gateway = try Self.gateway([dead.url, alive.url]).start()
        let began = ContinuousClock.now
        for number in 0..<20 { try gateway.grant("u\(number)", until: nil) }
        _ = try alive.deliveries(20)
        #expect(began.duration(to: .now) < .seconds(20))
        #expect(dead.count <= 4)
        try gateway.stop(within: 6)
    }

    @Test func whatWaitsSurvivesAKill() throws {
        let port = try FreePorts.claim()
        let url = "http://127.0.0.1:\(port)/hooks"
        let gateway = try Self.gateway([url]).start()
        for number in 0..<5 { try gateway.grant("u\(number)", until: nil) }
        kill(gateway.processNumber, SIGKILL)
        try gateway.waitForKill()
        // Whoever moves to another address is told there; what waits for the old one stays where it is.
        let receiver = try TestReceiver()
        let database = try SQLDatabase(gateway.database)
        #expect(try database.integer("SELECT count(*) FROM outbox") == 5)
        let id = try database.text("SELECT receiver FROM outbox")
        try gateway.write(receiver.config, to: "gateway.json")
        try gateway.start()
        let other = try database.text("SELECT CAST(value AS TEXT) FROM meta WHERE name = 'receivers'")
        #expect(other != id)
        try database.execute("UPDATE outbox SET receiver = '\(other)', next_at = 0")
        let all = try receiver.deliveries(5)
        #expect(Set(all.compactMap { $0.data["user_id"]?.string }).count == 5)
        try Self.waitUntil { try Self.waiting(gateway) == 0 }
    }

    @Test func afterThreeDaysAMessageIsADeadLetterThatCanBeSentAgain() throws {
        let receiver = try TestReceiver { number, _ in number < 3 ? 500 : 200 }
        let gateway = try Self.gateway([receiver.url]).start()
        try gateway.grant("u1", until: Clock.text(secondsFromNow: 1000))
        try gateway.grant("u1", until: Clock.text(secondsFromNow: 2000))
        try Self.waitUntil { try Self.waiting(gateway) == 2 && receiver.count >= 1 }
        let database = try SQLDatabase(gateway.database)
        try Self.waitUntil {
            try database.integer("SELECT count(*) FROM outbox WHERE failed_at IS NOT NULL") == 1
        }
        try database.execute("UPDATE outbox SET failed_at = failed_at - 259200000 WHERE failed_at IS NOT NULL")
        try Self.waitUntil { try Self.list(gateway, "dead").count == 1 }
        // The next one of the user goes on.
        let all = try receiver.deliveries(3)
        #expect(all[1].id == all[0].id && all[2].id != all[0].id)
        let letter = try Self.list(gateway, "dead")[0]
        #expect(letter["user_id"] == "u1" && letter["attempts"] == 2 && letter["reason"] == "status 500")
        let id = try #require(letter["message_id"]?.string)
        #expect(try gateway.ask("POST", "/v1/notifications/msg_none/resend").status == 404)
        #expect(try gateway.ask("POST", "/v1/notifications/\(id)/resend", key: RunningGateway.readKey).status == 403)
        #expect(try gateway.ask("POST", "/v1/notifications/\(id)/resend").status == 200)
        #expect(try receiver.deliveries(4)[3].id == id)
        try Self.waitUntil { try Self.list(gateway, "dead").isEmpty && Self.waiting(gateway) == 0 }
    }

    @Test func withoutReceiversNothingIsWritten() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: Clock.text(secondsFromNow: 0.3))
        try gateway.deliver("revenuecat", RevenueCatEvent("evt_1", user: "u2", purchase: "tx_1").body)
        Thread.sleep(forTimeInterval: 0.6)
        #expect(try SQLDatabase(gateway.database).integer("SELECT count(*) FROM outbox") == 0)
        // What had changed before somebody wanted to be told is not told later.
        try gateway.stop()
        let receiver = try TestReceiver()
        gateway.environment["NOTIFY_SECRET"] = TestReceiver.secret
        try gateway.write(receiver.config, to: "gateway.json")
        try gateway.start()
        try gateway.grant("u3", until: nil)
        #expect(try receiver.deliveries(1)[0].data["user_id"] == "u3")
        #expect(receiver.count == 1)
    }

    @Test func anErasedPersonIsToldOfOnceMoreAndForgotten() throws {
        let receiver = try TestReceiver { number, _ in number == 1 ? 500 : 204 }
        let gateway = try Self.gateway([receiver.url]).start()
        try gateway.grant("somebody-1", until: nil)
        _ = try receiver.deliveries(1)
        #expect(try gateway.ask("DELETE", "/v1/users/somebody-1").status == 204)
        try Self.waitUntil { try Self.waiting(gateway) == 0 }
        let last = try #require(try receiver.deliveries(receiver.count).last)
        #expect(last.data["user_id"] == "somebody-1" && last.data["entitled"] == false)
        #expect(last.data["status"] == "none")
        #expect(try SQLDatabase(gateway.database).integer("SELECT count(*) FROM outbox") == 0)
    }

    @Test func twoSecretsSignBoth() throws {
        let receiver = try TestReceiver()
        let other = Array("another key of at least 24 bytes".utf8)
        let gateway = try Self.gateway([receiver.url])
        gateway.environment["NOTIFY_SECRET"] =
            TestReceiver.secret + ",whsec_" + Data(other).base64EncodedString()
        try gateway.start()
        try gateway.grant("u1", until: nil)
        let delivery = try receiver.deliveries(1)[0]
        #expect(delivery.isSigned(by: TestReceiver.key) && delivery.isSigned(by: other))
    }

    @Test(arguments: [
        ("{\"url\": \"http://example.com/x\", \"secret_env\": \"NOTIFY_SECRET\"}", "/notify/0/url"),
        ("{\"url\": \"ftp://127.0.0.1/x\", \"secret_env\": \"NOTIFY_SECRET\"}", "/notify/0/url"),
        ("{\"url\": \"https://me:pw@example.com/x\", \"secret_env\": \"NOTIFY_SECRET\"}", "/notify/0/url"),
        ("{\"url\": \"https://example.com/x\", \"secret_env\": \"MISSING_SECRET\"}", "MISSING_SECRET"),
        ("{\"url\": \"https://example.com/x\", \"secret_env\": \"BAD_SECRET\"}", "BAD_SECRET"),
        ("{\"url\": \"https://example.com/x\"}", "/notify/0/secret_env"),
        ("{\"url\": \"https://example.com/x\", \"secret_env\": \"NOTIFY_SECRET\", \"more\": 1}", "/notify/0/more"),
        ("\"https://example.com\"", "/notify/0"),
    ])
    func whatCannotWorkStopsTheStart(entry: String, place: String) throws {
        let gateway = try RunningGateway(
            Self.environment.merging(["BAD_SECRET": "whsec_!!"]) { $1 },
            config: "{\"notify\": [\(entry)]}"
        )
        let result = try gateway.run(["serve"])
        #expect(result.status == .exited(1))
        #expect(result.errors.contains(place), "\(result.errors)")
        #expect(!result.errors.contains("pw@"))
    }

    @Test func notificationsAreForAdministrators() throws {
        let gateway = try RunningGateway().start()
        #expect(try gateway.ask("GET", "/v1/notifications", key: RunningGateway.readKey).status == 403)
        #expect(try gateway.ask("GET", "/v1/notifications", key: nil).status == 401)
        #expect(try gateway.ask("GET", "/v1/notifications?state=x").status == 400)
        #expect(try gateway.ask("GET", "/v1/notifications/x").status == 404)
        #expect(try gateway.ask("POST", "/v1/notifications/resend").status == 404)
    }

    private static func list(_ gateway: RunningGateway, _ state: String) throws -> [JSONValue] {
        try gateway.ask("GET", "/v1/notifications?state=\(state)").json()["notifications"]?.array ?? []
    }

    private static func waiting(_ gateway: RunningGateway) throws -> Int {
        try list(gateway, "waiting").count
    }
}
