import CAllocations
import Foundation
import Gateway
import TestSupport

/// Runs a gateway whose loops' allocations are counted, asks it the gate's questions many times, and prints how many
/// allocations each kind of question cost: `kind requests allocations`.
///
/// A program of its own, because counting needs an allocator of its own.
@main
enum AllocationProbe {
    /// How often each question is asked; the third word of the call.
    static let requests = CommandLine.arguments.count > 3 ? Int(CommandLine.arguments[3]) ?? 10_000 : 10_000

    static func main() throws {
        let folder = CommandLine.arguments[1]
        guard let port = UInt16(CommandLine.arguments[2]) else { return }
        let configuration = try GatewayConfiguration(
            flags: ["database": folder + "/probe.db", "listen": "127.0.0.1:\(port)"],
            environment: EnvironmentVariables(["GATEWAY_ADMIN_KEY": "admin_probe", "GATEWAY_READ_KEY": "read_probe"])
        )
        // The name of the loops' threads; it lives as long as the program.
        allocations_count_threads_named(strdup("http"))
        let server = try GatewayServer.start(configuration)
        let connection = HTTPConnection(port: port)
        try grant("user_known", connection)
        try grant("2f1c0f6a-9d3b-4f0e-8a55-0c8f7e6d5b4a", connection)
        let known = "/v1/users/user_known/entitlement"
        let tag = try ask(known, [], connection).header("ETag") ?? ""
        try measure("known", known, [], connection)
        try measure("uuid", "/v1/users/2F1C0F6A-9D3B-4F0E-8A55-0C8F7E6D5B4A/entitlement", [], connection)
        try measure("escaped", "/v1/users/user%5Fknown/entitlement", [], connection)
        try measure("byquery", "/v1/entitlement?user_id=user_known", [], connection)
        try measure("unknown", "/v1/users/nobody/entitlement", [], connection)
        try measure("unchanged", known, [HTTPHeader("If-None-Match", tag)], connection)
        try measure("gate", "/v1/gate/user_known", [], connection)
        // Somebody was erased: from now on an unknown user may be one who was.
        _ = try connection.send(
            HTTPRequest(method: "DELETE", target: "/v1/users/user_known", headers: [key("admin_probe")], body: [])
        )
        try measure("erased", known, [], connection)
        server.stop()
    }

    private static func key(_ value: String) -> HTTPHeader { HTTPHeader("Authorization", "Bearer " + value) }

    private static func grant(_ user: String, _ connection: HTTPConnection) throws {
        let body = Array(#"{"until":null,"reason":"a probe"}"#.utf8)
        let request = HTTPRequest(
            method: "POST",
            target: "/v1/users/\(user)/grants",
            headers: [key("admin_probe")],
            body: body
        )
        _ = try connection.send(request)
    }

    private static func ask(_ path: String, _ more: [HTTPHeader], _ connection: HTTPConnection) throws -> HTTPAnswer {
        try connection.send(HTTPRequest(method: "GET", target: path, headers: [key("read_probe")] + more, body: []))
    }

    private static func measure(
        _ kind: String,
        _ path: String,
        _ more: [HTTPHeader],
        _ connection: HTTPConnection
    ) throws {
        // What is made once (buffers, pages, prepared digests) is made here.
        for _ in 0..<200 { _ = try ask(path, more, connection) }
        let before = allocations_counted()
        for _ in 0..<requests { _ = try ask(path, more, connection) }
        print(kind, requests, allocations_counted() - before)
    }
}
