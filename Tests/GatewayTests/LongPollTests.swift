internal import Foundation
internal import TestSupport
internal import Testing

/// `?wait=…&after=…`: one request instead of a polling loop (contract section 5).
@Suite("Waiting for an answer to change", .ownThread)
struct LongPollTests {
    /// An answer of a request that waited, and when it came.
    private struct Waited: Sendable {
        var answer: HTTPAnswer
        var sentAt: ContinuousClock.Instant
        var cameAt: ContinuousClock.Instant

        var seconds: Double { sentAt.duration(to: cameAt) / .seconds(1) }
    }

    private static func wait(_ port: UInt16, _ user: String, _ query: String) throws(HTTPFault) -> Waited {
        let request = RunningGateway.request(
            "GET",
            "/v1/users/\(user)/entitlement?\(query)",
            key: RunningGateway.readKey
        )
        let sentAt = ContinuousClock.now
        let answer = try HTTPConnection(port: port).send(request, seconds: 40)
        return Waited(answer: answer, sentAt: sentAt, cameAt: .now)
    }

    /// Starts `count` waiting requests on threads of their own, lets them arrive, does `work`, and gives what came.
    private static func waiting(
        _ gateway: RunningGateway,
        _ user: String,
        _ query: String,
        count: Int = 1,
        meanwhile work: () throws -> Void
    ) throws -> [Waited] {
        let results = SharedResults<Waited>()
        let port = gateway.port
        for _ in 0..<count {
            Thread.detachNewThread {
                results.add(Result { () throws(HTTPFault) in try wait(port, user, query) })
            }
        }
        // Long enough to be waiting, and far from the wait's end.
        Thread.sleep(forTimeInterval: count > 1 ? 1 : 0.15)
        #expect(results.count == 0, "answered before anything changed")
        try work()
        return try results.all(count, seconds: 40)
    }

    @Test func aChangeIsToldAtOnce() throws {
        let gateway = try RunningGateway().start()
        // The best of some: the machine may be busy with something else.
        var best = Double.infinity
        for round in 1...10 where best >= 0.1 {
            let version = try #require(gateway.entitlement(of: "u1")["version"]?.integer)
            var changedAt = ContinuousClock.now
            let waited = try Self.waiting(gateway, "u1", "wait=20&after=\(version)") {
                changedAt = .now
                try gateway.grant("u1", until: Clock.text(secondsFromNow: 3600 * Double(round)))
            }
            let answer = try waited[0].answer.json()
            #expect(waited[0].answer.status == 200)
            #expect(answer["version"]?.integer ?? 0 > version)
            #expect(answer["entitled"] == true)
            best = min(best, changedAt.duration(to: waited[0].cameAt) / .seconds(1))
        }
        #expect(best < 0.1)
    }

    @Test func aWebhookIsAChangeToo() throws {
        let gateway = try RunningGateway().start()
        let waited = try Self.waiting(gateway, "u%31", "wait=20") {
            try gateway.deliver("revenuecat", RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1").body)
        }
        #expect(try waited[0].answer.json()["entitled"] == true)
        #expect(waited[0].seconds < 5)
    }

    @Test func aLateQuestionIsAnsweredAtOnce() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        for query in ["wait=20&after=0", "wait=20", "wait=0&after=1000000", "after=1000000"] {
            let waited = try Self.wait(gateway.port, "u1", query)
            #expect(waited.seconds < 5, "\(query)")
            #expect(try waited.answer.json()["entitled"] == true)
        }
    }

    @Test func theClockIsAChange() throws {
        let gateway = try RunningGateway().start()
        var best = Double.infinity
        for round in 1...2 {
            let end = Clock.millis + 900
            try gateway.grant("u\(round)", until: Clock.text(end))
            let version = try #require(gateway.entitlement(of: "u\(round)")["version"]?.integer)
            let waited = try Self.wait(gateway.port, "u\(round)", "wait=20&after=\(version)")
            let late = Double(Clock.millis - end) / 1000
            let answer = try waited.answer.json()
            #expect(answer["entitled"] == false)
            #expect(answer["status"] == "expired")
            #expect(answer["version"]?.integer == version)
            #expect(late >= 0, "told before the end")
            best = min(best, late)
        }
        #expect(best < 0.1)
    }

    @Test func theWaitEnds() throws {
        let gateway = try RunningGateway().start()
        let waited = try Self.wait(gateway.port, "nobody", "wait=1&after=0")
        #expect(waited.answer.status == 200)
        #expect(try waited.answer.json()["status"] == "none")
        #expect(waited.seconds >= 1 && waited.seconds < 3, "\(waited.seconds)")
        let head = RunningGateway.request("HEAD", "/v1/users/nobody/entitlement?wait=1", key: RunningGateway.readKey)
        #expect(try gateway.send(head).status == 200)
    }

    /// A change of somebody else, of the other environment, or of nothing, wakes nobody.
    @Test func othersDoNotWake() throws {
        let gateway = try RunningGateway().start()
        let waited = try Self.waiting(gateway, "u1", "wait=2") {
            try gateway.grant("u2", until: nil)
            var event = RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1")
            event.environment = "SANDBOX"
            try gateway.deliver("revenuecat", event.body)
        }
        #expect(waited[0].seconds >= 2)
        #expect(try waited[0].answer.json()["version"] == 0)
    }

    /// Whoever leaves takes nothing along: neither the gateway nor the next one's answer.
    @Test func aClientThatLeavesIsForgotten() throws {
        let gateway = try RunningGateway().start()
        for _ in 0..<20 {
            let request = RunningGateway.request(
                "GET",
                "/v1/users/u1/entitlement?wait=30",
                key: RunningGateway.readKey
            )
            #expect(throws: HTTPFault.timedOut(seconds: 0.02)) {
                try HTTPConnection(port: gateway.port).send(request, seconds: 0.02)
            }
        }
        let waited = try Self.waiting(gateway, "u1", "wait=20") { try gateway.grant("u1", until: nil) }
        #expect(try waited[0].answer.json()["entitled"] == true)
        try gateway.stop()
    }

    @Test func twoHundredWaitAtOnce() throws {
        let gateway = try RunningGateway().start()
        var changedAt = ContinuousClock.now
        let waited = try Self.waiting(gateway, "u1", "wait=20", count: 200) {
            // Other work goes on beside those who wait.
            let before = ContinuousClock.now
            #expect(try gateway.entitlement(of: "u2")["status"] == "none")
            #expect(before.duration(to: .now) < .seconds(10))
            changedAt = .now
            try gateway.grant("u1", until: nil)
        }
        #expect(waited.count == 200)
        for one in waited { #expect(try one.answer.json()["entitled"] == true) }
        let last = waited.map { changedAt.duration(to: $0.cameAt) / .seconds(1) }.max() ?? .infinity
        #expect(last < 10, "the last of them waited \(last) s")
    }

    /// Service managers kill ten seconds after SIGTERM; one purchase screen must not make every restart a kill.
    @Test func stoppingAnswersThoseWhoWait() throws {
        let gateway = try RunningGateway().start()
        let results = SharedResults<Waited>()
        let port = gateway.port
        Thread.detachNewThread {
            results.add(Result { () throws(HTTPFault) in try Self.wait(port, "u1", "wait=30") })
        }
        Thread.sleep(forTimeInterval: 0.3)
        try gateway.stop(within: 3)
        #expect(try results.all(1, seconds: 1)[0].answer.status == 200)
    }

    @Test(arguments: [
        "wait=31", "wait=-1", "wait=", "wait=1.5", "wait=x", "wait=1&after=-1", "wait=1&after=x", "wait=1&after=",
        "wait=99999999999999999999",
    ])
    func aBadWaitIsRefused(query: String) throws {
        let gateway = try RunningGateway().start()
        let answer = try Self.wait(gateway.port, "u1", query).answer
        #expect(answer.status == 400)
        let field = query.contains("after") ? "after" : "wait"
        #expect(try answer.json()["detail"]?.string?.contains(field) == true)
    }
}
