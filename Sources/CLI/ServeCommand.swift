internal import Foundation
internal import Gateway
internal import Platform

/// `serve`: runs the gateway until it is told to stop.
enum ServeCommand: Command {
    static let name = "serve"
    static let summary = "run the gateway"
    static let options =
        [
            Option(
                name: "listen",
                value: "ADDRESS",
                summary: "address and port (GATEWAY_LISTEN, default 127.0.0.1:8080)"
            ),
            Option(
                name: "tls-certificate",
                value: "FILE",
                summary: "speak TLS with this chain of certificates, PEM (GATEWAY_TLS_CERTIFICATE)"
            ),
            Option(name: "tls-key", value: "FILE", summary: "and this private key, PEM (GATEWAY_TLS_KEY)"),
            Option(
                name: "admin-listen",
                value: "ADDRESS",
                summary: "operators' routes and /metrics here, and only here (GATEWAY_ADMIN_LISTEN)"
            ),
            Option(name: "providers", value: "DIR", summary: "folder of further manifests (GATEWAY_PROVIDERS)"),
        ] + Option.replica + Option.configuration
    static let examples = ["serve --env-file gateway.env", "serve --listen 0.0.0.0:8080 --database data/gateway.db"]

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard arguments.operands.isEmpty else { throw .usage("serve takes options only") }
        // Before the first thread: every thread inherits the mask, and the main thread takes the signals.
        Signals.block()
        let configuration = try arguments.configuration()
        let server: GatewayServer
        do throws(ConfigurationError) {
            server = try GatewayServer.start(configuration)
        } catch {
            throw .failed(error.description)
        }
        Log.info(
            "listening",
            ("address", .string(server.addresses.joined(separator: ", "))),
            ("database", .string(configuration.databaseName))
        )
        let manager = Supervisor(socket: ProcessInfo.processInfo.environment["NOTIFY_SOCKET"])
        tell(manager, .ready)
        while true {
            let signal = Signals.waitForSignal()
            if signal == SIGTERM || signal == SIGINT { break }
            tell(manager, .reloading)
            server.reload { () throws(ConfigurationError) in
                try GatewayConfiguration(flags: arguments.values, environment: .ofProcess)
            }
            tell(manager, .ready)
        }
        tell(manager, .stopping)
        Log.info("stopping")
        server.stop()
        Log.info("stopped")
        return .success
    }

    /// Whether the manager hears it changes nothing for those who ask the gateway.
    private static func tell(_ manager: Supervisor?, _ state: Supervisor.State) {
        do throws(SystemError) {
            try manager?.tell(state)
        } catch {
            Log.warning("the service manager was not told", ("reason", .string("\(error)")))
        }
    }
}
