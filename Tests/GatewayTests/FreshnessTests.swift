internal import Foundation
internal import TestSupport
internal import Testing

/// Rows are kept in memory, and still nobody is told an older row than one that was answered for.
@Suite("Freshness", .ownThread)
struct FreshnessTests {
    /// More than one connection goes to each loop: the kernel spreads them.
    private static let connections = 12

    private static func read(_ user: String, _ connection: HTTPConnection, _ query: String = "") throws -> JSONValue {
        let request = RunningGateway.request(
            "GET",
            "/v1/users/\(user)/entitlement\(query)",
            key: RunningGateway.readKey
        )
        return try connection.send(request).json()
    }

    @Test func whatWasAnsweredForIsSeenByEveryLoop() throws {
        let gateway = try RunningGateway().start()
        let clients = (0..<Self.connections).map { _ in HTTPConnection(port: gateway.port) }
        var lastVersion: Int64 = -1
        for round in 0..<40 {
            // Kept by every loop, and asked for so often that it is not the first to go.
            for client in clients { #expect(try Self.read("u1", client)["version"]?.integer == max(lastVersion, 0)) }
            let answer = try gateway.grant("u1", until: Clock.text(Clock.millis + Int64(round + 1) * 3_600_000))
            #expect(answer["grant_id"] != nil)
            let versions = try clients.map { try Self.read("u1", $0)["version"]?.integer ?? -1 }
            #expect(Set(versions).count == 1 && versions[0] > lastVersion, "round \(round): \(versions)")
            lastVersion = versions[0]
        }
        // An erased person is gone everywhere at once.
        #expect(try gateway.ask("DELETE", "/v1/users/u1").status == 204)
        for client in clients { #expect(try Self.read("u1", client)["entitled"] == false) }
        try gateway.stop()
    }

    @Test func environmentsAndNeighboursAreNotMixedUp() throws {
        let gateway = try RunningGateway().start()
        let connection = HTTPConnection(port: gateway.port)
        for index in 0..<300 { try gateway.grant("user-\(index)", until: nil, id: "grant-\(index)") }
        for _ in 0..<3 {
            for index in 0..<300 {
                let answer = try Self.read("user-\(index)", connection)
                #expect(answer["user_id"] == .string("user-\(index)") && answer["entitled"] == true)
                #expect(answer["purchase_id"]?.string?.hasSuffix("grant-\(index)") == true)
                #expect(try Self.read("user-\(index)", connection, "?environment=sandbox")["version"] == 0)
            }
        }
        try gateway.stop()
    }

    /// The clock decides when the answer is read, whatever is kept.
    @Test func whatIsKeptStillEndsByTheClock() throws {
        let gateway = try RunningGateway().start()
        let connection = HTTPConnection(port: gateway.port)
        try gateway.grant("u1", until: Clock.text(Clock.millis + 2000))
        let end = ContinuousClock.now + .seconds(15)
        var answers: [JSONValue?] = []
        while answers.last != .some(false), ContinuousClock.now < end {
            answers.append(try Self.read("u1", connection)["entitled"])
            Thread.sleep(forTimeInterval: 0.01)
        }
        #expect(answers.first == .some(true) && answers.last == .some(false))
        try gateway.stop()
    }

    /// A command on the same file is another process.
    @Test func anotherProcessIsNoticedWithinASecond() throws {
        let gateway = try RunningGateway().start()
        let connection = HTTPConnection(port: gateway.port)
        try gateway.grant("u1", until: nil, id: "g1")
        for round in 0..<3 {
            let before = try Self.read("u1", connection)["version"]?.integer ?? 0
            let other = try SQLDatabase(gateway.database)
            try other.execute("UPDATE subscription SET version = version + 1000 WHERE user_id = 'u1'")
            let end = ContinuousClock.now + .seconds(1)
            var isSeen = false
            // Asked all the time: a row that is used is no younger for it.
            while !isSeen, ContinuousClock.now < end {
                isSeen = try Self.read("u1", connection)["version"]?.integer == before + 1000
            }
            #expect(isSeen, "round \(round)")
        }
        try gateway.stop()
    }
}
