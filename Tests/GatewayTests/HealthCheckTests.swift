internal import Foundation
internal import TestSupport
internal import Testing

/// `scripts/package/healthy`, by which the image tells whether its gateway is ready.
@Suite("The image's health check", .ownThread)
struct HealthCheckTests {
    /// What it ends with where the gateway has these variables.
    private static func check(_ variables: [String: String], in folder: TemporaryFolder) throws -> ProcessEnd? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let process = try ChildProcess(
            .init(
                program: Samples.tree.appendingPathComponent("scripts/package/healthy").path,
                arguments: [],
                environment: ["PATH": path].merging(variables) { $1 },
                folder: folder.path,
                output: folder.file("healthy.out")
            )
        )
        defer { process.kill() }
        return process.wait(seconds: 30)
    }

    @Test func aGatewayThatIsReadyIsHealthyAndNoneIsNot() throws {
        let gateway = try RunningGateway().start()
        for host in ["127.0.0.1", "0.0.0.0", ""] {
            let variables = ["GATEWAY_LISTEN": "\(host):\(gateway.port)"]
            #expect(try Self.check(variables, in: gateway.folder) == .exited(0), "\(host)")
        }
        try gateway.stop()
        #expect(try Self.check(["GATEWAY_LISTEN": gateway.listen], in: gateway.folder) == .exited(1))
    }

    @Test func oneThatSpeaksTLSIsHealthy() throws {
        let gateway = try RunningGateway()
        let files = try TestCertificate("first", in: gateway.folder)
        gateway.environment["GATEWAY_TLS_CERTIFICATE"] = files.certificate
        gateway.environment["GATEWAY_TLS_KEY"] = files.key
        try gateway.start()
        var variables = ["GATEWAY_LISTEN": gateway.listen]
        #expect(try Self.check(variables, in: gateway.folder) == .exited(1), "plain HTTP was wanted")
        variables["GATEWAY_TLS_KEY"] = files.key
        #expect(try Self.check(variables, in: gateway.folder) == .exited(0))
    }

    @Test func oneThatIsNotReadyIsNot() throws {
        // Whatever takes connections and says something else.
        let receiver = try TestReceiver { _, _ in 503 }
        let folder = try TemporaryFolder(prefix: "health")
        defer { folder.remove() }
        #expect(try Self.check(["GATEWAY_LISTEN": "127.0.0.1:\(receiver.port)"], in: folder) == .exited(1))
    }
}
