internal import Foundation
internal import TestSupport
internal import Testing

/// `GET /v1/changes`: changed answers as they happen.
@Suite("The stream of changes", .ownThread)
struct ChangeStreamTests {
    @Test func aChangeIsToldAsItHappens() throws {
        let gateway = try RunningGateway().start()
        let stream = try EventStream(gateway.port)
        #expect(stream.status == 200)
        #expect(stream.head.contains("text/event-stream"))
        let changedAt = ContinuousClock.now
        try gateway.grant("u1", until: nil)
        let event = try #require(stream.next())
        #expect(changedAt.duration(to: .now) < .seconds(5))
        #expect(event.type == "entitlement.changed" && event.json["type"] == "entitlement.changed")
        #expect(event.json["data"]?["user_id"] == "u1" && event.json["data"]?["entitled"] == true)
        #expect(event.json["data"]?["previous"]?["entitled"] == false)
        #expect(event.id ?? 0 > 0)
    }

    @Test func theClockIsAChangeHereToo() throws {
        let gateway = try RunningGateway().start()
        let stream = try EventStream(gateway.port)
        try gateway.grant("u1", until: Clock.text(secondsFromNow: 2))
        #expect(stream.next()?.json["data"]?["entitled"] == true)
        let event = try #require(stream.next())
        #expect(event.json["data"]?["entitled"] == false && event.json["data"]?["status"] == "expired")
    }

    @Test func itGoesOnWhereItStopped() throws {
        let gateway = try RunningGateway().start()
        var stream: EventStream? = try EventStream(gateway.port)
        try gateway.grant("u1", until: nil)
        let last = try #require(stream?.next()?.id)
        stream = nil
        try gateway.grant("u2", until: nil, id: "g")
        try gateway.grant("u3", until: Clock.text(secondsFromNow: 0.4))
        try gateway.ask("DELETE", "/v1/users/u2/grants/g")
        Thread.sleep(forTimeInterval: 0.6)
        // Of each row its last change, in the order of these.
        for _ in 0..<2 {
            let again = try EventStream(gateway.port, after: last)
            let first = try #require(again.next())
            let second = try #require(again.next())
            #expect([first, second].map { $0.json["data"]?["user_id"] } == ["u2", "u3"])
            #expect([first, second].allSatisfy { $0.json["data"]?["entitled"] == false })
            #expect(first.id ?? 0 > last && second.id ?? 0 > first.id ?? 0)
            // And then what happens.
            try gateway.grant("u4", until: nil)
            #expect(again.next()?.json["data"]?["user_id"] == "u4")
            try gateway.stop()
            try gateway.start()
            #expect(again.next(seconds: 5) == nil && again.hasEnded)
            try gateway.ask("DELETE", "/v1/users/u4")
        }
    }

    @Test func aUserAndAnEnvironmentCanBeAskedFor() throws {
        let gateway = try RunningGateway().start()
        let mine = try EventStream(gateway.port, "?user_id=u%2B2")
        let sandbox = try EventStream(gateway.port, "?environment=sandbox")
        try gateway.grant("u1", until: nil)
        try gateway.grant("u%2B2", until: nil)
        var event = RevenueCatEvent("evt_1", user: "u3", purchase: "tx_1")
        event.environment = "SANDBOX"
        try gateway.deliver("revenuecat", event.body)
        #expect(mine.next()?.json["data"]?["user_id"] == "u+2")
        #expect(sandbox.next()?.json["data"]?["user_id"] == "u3")
        #expect(mine.next(seconds: 0.3) == nil && sandbox.next(seconds: 0.1) == nil)
    }

    /// A proxy that speaks HTTP/1.0 gets the stream without chunks.
    @Test func anOldClientIsToldToo() throws {
        let gateway = try RunningGateway().start()
        let stream = try EventStream(gateway.port, version: "1.0")
        #expect(!stream.head.lowercased().contains("transfer-encoding"))
        try gateway.grant("u1", until: nil)
        #expect(stream.next()?.json["data"]?["user_id"] == "u1")
        try gateway.stop(within: 5)
        #expect(stream.next(seconds: 2) == nil && stream.hasEnded)
    }

    @Test func whoMayListen() throws {
        let gateway = try RunningGateway().start()
        #expect(try EventStream(gateway.port, key: RunningGateway.adminKey).status == 200)
        #expect(try EventStream(gateway.port, key: "nobody").status == 401)
        #expect(try gateway.ask("GET", "/v1/changes?environment=x").status == 400)
        #expect(try gateway.ask("GET", "/v1/changes?user_id=null").status == 400)
        let header = HTTPHeader("Last-Event-ID", "x")
        #expect(try gateway.ask("GET", "/v1/changes", headers: [header]).status == 400)
        #expect(try gateway.ask("POST", "/v1/changes").status == 405)
    }

    /// A client that takes nothing costs a bounded queue; nobody waits for it, and it misses nothing that still counts.
    @Test func aClientThatDoesNotReadHoldsUpNobody() throws {
        let gateway = try RunningGateway().start()
        var slow = try EventStream(gateway.port)
        let fast = try EventStream(gateway.port)
        let users = 1500
        var last: Int64 = 0
        for number in 0..<users {
            try gateway.grant("user-\(number)", until: nil)
            last = try #require(fast.next()?.id)
        }
        var seen: Set<String> = []
        var order: Int64 = 0
        while seen.count < users {
            guard let event = slow.next() else {
                // On a busy machine it takes nothing for longer than the gateway waits: it goes on from where it was.
                guard slow.hasEnded else { break }
                slow = try EventStream(gateway.port, after: order)
                continue
            }
            #expect(event.id ?? 0 > order)
            order = event.id ?? 0
            seen.insert(event.json["data"]?["user_id"]?.string ?? "")
            if order == last { break }
        }
        #expect(seen.count == users)
    }

    @Test func stoppingEndsTheStreams() throws {
        let gateway = try RunningGateway().start()
        let streams = try (0..<5).map { _ in try EventStream(gateway.port) }
        try gateway.stop(within: 3)
        for stream in streams {
            #expect(stream.next(seconds: 2) == nil)
            #expect(stream.hasEnded)
        }
    }

    @Test func manyClientsComeAndGo() throws {
        let gateway = try RunningGateway().start()
        for _ in 0..<30 { _ = try EventStream(gateway.port) }
        let stream = try EventStream(gateway.port)
        try gateway.grant("u1", until: nil)
        #expect(stream.next()?.json["data"]?["user_id"] == "u1")
        try gateway.stop(within: 5)
    }

    @Test func theCommandPrintsChanges() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil, id: "g")
        try gateway.grant("u2", until: nil)
        let result = try gateway.run(["listen", "--user", "u1", "--after", "0", "--count", "1"])
        #expect(result.status == .exited(0), "\(result.errors)")
        #expect(result.output.contains("u1  pro  ? -> active  until -  manual g"))
        let json = try gateway.run(["listen", "--after", "0", "--count", "2", "--json"])
        let lines = try json.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        #expect(lines.map { $0["data"]?["user_id"] } == ["u1", "u2"])
        #expect(try gateway.run(["listen", "x"]).status == .exited(2))
        let wrong = try gateway.run(["listen"], changes: ["GATEWAY_READ_KEY": "wrong", "GATEWAY_ADMIN_KEY": "wrong"])
        #expect(wrong.status == .exited(1) && wrong.errors.contains("401"))
    }
}
