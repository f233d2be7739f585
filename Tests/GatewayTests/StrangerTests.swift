internal import Foundation
internal import TestSupport
internal import Testing

/// What somebody without any key can have the gateway do, route by route and again and again.
@Suite("Strangers", .ownThread)
struct StrangerTests {
    /// What is open on purpose: it says nothing about anybody.
    private static let open: Set = [
        "GET /.well-known/jwks.json", "GET /admin", "GET /healthz", "GET /openapi.json", "GET /readyz",
    ]
    private static let rounds = 60

    private static func routes() throws -> [(method: String, path: String)] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("schema/openapi.json")
        let description = try JSONValue(parsing: [UInt8](try Data(contentsOf: file)))
        guard case .object(let paths)? = description["paths"] else { throw GatewayTestError("no paths") }
        return paths.members.flatMap { path in
            ["get", "post", "delete"].filter { path.value[$0] != nil }.map { ($0.uppercased(), path.key) }
        }
    }

    private static func target(_ path: String) -> String {
        path.replacing("{provider}", with: "creem").replacing("{user_id}", with: "u1")
            .split(separator: "/", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("{") ? "x1" : String($0) }.joined(separator: "/")
    }

    /// Sixty times each: refused every time, and nothing is left of it: no line of the log, no row, no memory.
    @Test func whatStrangersAskLeavesNothing() throws {
        let gateway = try RunningGateway().start()
        let routes = try Self.routes()
        #expect(routes.count > 40)
        let credentials: [[HTTPHeader]] = [
            [], [HTTPHeader("Authorization", "Bearer nobody")], [HTTPHeader("Authorization", "Bearer e30.e30.e30")],
            [HTTPHeader("creem-signature", String(repeating: "0", count: 64))],
        ]
        // Once for what is set up with the first request.
        _ = try gateway.ask("GET", "/v1/events", key: RunningGateway.adminKey)
        let log = gateway.text(of: "gateway.log")
        let memory = GatewayWatch.memory(of: gateway.processNumber)
        for (method, path) in routes {
            let isOpen = Self.open.contains("\(method) \(path)")
            var statuses: Set<Int> = []
            for round in 0..<Self.rounds {
                let guess = #"{"license_key":"AAAAAAA-AAAAAAA-AAAAAAA-\#(1_000_000 + round)","device_id":"d"}"#
                let body = method == "POST" ? guess : nil
                let answer = try gateway.ask(
                    method,
                    Self.target(path),
                    key: nil,
                    body: body,
                    headers: credentials[round % credentials.count]
                )
                statuses.insert(answer.status)
                #expect(isOpen || !answer.text.contains("u1") && !answer.text.contains("\"valid\":true"), "\(path)")
            }
            if isOpen {
                #expect(statuses == [200], "\(method) \(path): \(statuses)")
            } else if path.hasPrefix("/v1/licenses/") && path.hasSuffix("ate") {
                // By a key that was guessed: not found, and soon not looked for.
                #expect(statuses.isSubset(of: [200, 404, 429]), "\(method) \(path): \(statuses)")
                #expect(statuses.contains(429), "\(method) \(path): \(statuses)")
            } else {
                #expect(statuses.isSubset(of: [401, 404]) && statuses.contains(401), "\(method) \(path): \(statuses)")
            }
        }
        #expect(gateway.text(of: "gateway.log") == log)
        let grown = GatewayWatch.memory(of: gateway.processNumber) - memory
        #expect(grown < 32, "\(grown) MiB")
        #expect(try gateway.ask("GET", "/v1/events").json()["events"]?.array.isEmpty == true)
        #expect(try gateway.ask("GET", "/v1/audit").json()["audit"]?.array.isEmpty == true)
        try gateway.stop()
    }

    /// Guesses of licence keys are slowed down for the address as a whole, whichever path they come by.
    @Test func guessesAreCountedTogether() throws {
        let gateway = try RunningGateway().start()
        var statuses: [Int] = []
        for round in 0..<24 {
            let path = ["activate", "validate", "deactivate"][round % 3]
            let body = #"{"license_key":"AAAA-AAAA-AAAA-\#(1_000 + round)","device_id":"d"}"#
            let answer = try gateway.ask("POST", "/v1/licenses/\(path)", key: nil, body: body)
            statuses.append(answer.status)
            if answer.status == 429 { #expect(answer.header("Retry-After").flatMap { Int($0) } ?? 0 > 0) }
        }
        #expect(statuses.prefix(20).allSatisfy { $0 != 429 }, "\(statuses)")
        #expect(statuses.suffix(2) == [429, 429], "\(statuses)")
        try gateway.stop()
    }

    /// Wrong API keys are not slowed down, so those that can be guessed are told of at the start.
    @Test func aShortKeyIsToldOf() throws {
        let long = try RunningGateway().start()
        #expect(!long.text(of: "gateway.log").contains("can be guessed"))
        try long.stop()
        let short = try RunningGateway(["GATEWAY_READ_KEY": "0123456789abcde"]).start()
        let log = short.text(of: "gateway.log")
        #expect(log.contains("can be guessed") && log.contains("GATEWAY_READ_KEY"), "\(log)")
        #expect(!log.contains("GATEWAY_ADMIN_KEY") && !log.contains("0123456789abcde"), "\(log)")
        try short.stop()
    }
}
