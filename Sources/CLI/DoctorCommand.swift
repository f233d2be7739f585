internal import Foundation
internal import Gateway

/// `doctor`: looks at configuration, secrets, manifests, database, disk and files, and says what is off and why.
enum DoctorCommand: Command {
    static let name = "doctor"
    static let summary = "check configuration, secrets, manifests, database and files"
    static let options =
        [
            Option(name: "listen", value: "ADDRESS", summary: "where the gateway listens (GATEWAY_LISTEN)"),
            Option(
                name: "admin-listen",
                value: "ADDRESS",
                summary: "where it listens for operators (GATEWAY_ADMIN_LISTEN)"
            ),
            Option(name: "tls-certificate", value: "FILE", summary: "its certificates (GATEWAY_TLS_CERTIFICATE)"),
            Option(name: "tls-key", value: "FILE", summary: "and their key (GATEWAY_TLS_KEY)"),
            Option(name: "url", value: "URL", summary: "where to look for a running gateway"),
            Option(name: "providers", value: "DIR", summary: "folder of further manifests (GATEWAY_PROVIDERS)"),
            .json,
        ] + ManifestTrialReport.options + Option.replica + Option.configuration
    static let note =
        "Give it what serve is given. It changes nothing; its status is 1 when something is broken."
    static let examples = [
        "doctor --env-file gateway.env", "doctor --json",
        "doctor --manifest shop.json --deliver body.json --header 'X-Signature: 5d41…'",
    ]

    /// A gateway on this machine answers at once.
    private static let answerSeconds: Double = 3

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        _ = try arguments.operands()
        if let status = try ManifestTrialReport.run(arguments) { return status }
        var doctor = Doctor(flags: arguments.values, environment: .ofProcess)
        askGateway(&doctor, arguments["url"])
        Terminal.output(arguments.has("json") ? json(of: doctor) : text(of: doctor))
        return doctor.isBroken ? .failure : .success
    }

    /// Whether one runs there is told; that none runs is not broken.
    private static func askGateway(_ doctor: inout Doctor, _ named: String?) {
        guard let url = named ?? doctor.configuration?.publicURL else { return }
        do throws(CommandError) {
            let answer = try GatewayClient(base: url).send("GET", "/readyz", seconds: answerSeconds)
            if answer.status == 200 {
                doctor.add("gateway", .ok, "a gateway answers at \(url)")
            } else {
                doctor.add("gateway", .warning, "\(url) answers with status \(answer.status)", hint: "look at its log")
            }
        } catch {
            let reason = if case .failed(let reason) = error { reason } else { "\(url) is no URL" }
            doctor.add("gateway", .off, reason)
        }
    }

    private static func text(of doctor: Doctor) -> String {
        let rows = doctor.findings.map { finding in
            [finding.state.rawValue, finding.area, finding.text + (finding.hint.isEmpty ? "" : " — " + finding.hint)]
        }
        return CommandOutput.table(rows) + (doctor.isBroken ? "\nsomething is broken" : "\nnothing is broken")
    }

    private static func json(of doctor: Doctor) -> String {
        let checks = doctor.findings.map { finding in
            ["state": finding.state.rawValue, "area": finding.area, "text": finding.text, "hint": finding.hint]
        }
        return CommandOutput.json(["healthy": !doctor.isBroken, "checks": checks])
    }
}
