internal import Gateway
internal import Platform

/// The program: picks the command.
@main
enum EntitlementGateway {
    /// Every command, in the order of `--help`.
    static var commands: [any Command.Type] {
        [
            ServeCommand.self, DoctorCommand.self, UserCommand.self, EventsCommand.self, ReplayCommand.self,
            GrantCommand.self, RevokeCommand.self, KeysCommand.self, LicenseCommand.self, SimulateCommand.self,
            ListenCommand.self, AppStoreCommand.self, ImportCommand.self, ReconcileCommand.self, BackupCommand.self,
            RebuildCommand.self,
            MigrateCommand.self,
            VersionCommand.self,
        ]
    }

    static func main() {
        var arguments = Array(CommandLine.arguments.dropFirst())
        guard let name = arguments.first else {
            Terminal.error(usage)
            Terminal.exit(.usage)
        }
        arguments.removeFirst()
        if name == "--help" || name == "-h" || name == "help" {
            Terminal.output(usage)
            Terminal.exit(.success)
        }
        if name == "--version" {
            Terminal.output(GatewayVersion.text)
            Terminal.exit(.success)
        }
        guard let command = commands.first(where: { $0.name == name }) else {
            let near = Suggestion.text(for: name, among: commands.map { $0.name })
            Terminal.error("no such command: \(name)\(near)\n\n\(usage)")
            Terminal.exit(.usage)
        }
        var wantsJSON = false
        do throws(CommandError) {
            let parsed = try Arguments(arguments, of: command)
            wantsJSON = parsed.has("json")
            if parsed.wantsHelp {
                Terminal.output(command.help)
                Terminal.exit(.success)
            }
            Terminal.exit(try command.run(parsed))
        } catch {
            switch error {
            case .usage(let reason): Terminal.error("\(reason)\n\n\(command.help)")
            case .failed(let reason): Terminal.error(reason)
            case .answered(let refusal): Terminal.error(refusal.text)
            }
            if wantsJSON, error.status == .failure { Terminal.output(error.json) }
            Terminal.exit(error.status)
        }
    }

    static var usage: String {
        var text =
            "entitlement-gateway \(GatewayVersion.text): decides who is entitled, across stores and billing providers\n\n"
        text += "usage: entitlement-gateway COMMAND [options]\n\ncommands:\n"
        for command in commands {
            text +=
                "  \(command.name)\(String(repeating: " ", count: max(1, 12 - command.name.count)))\(command.summary)\n"
        }
        return text + "\nentitlement-gateway COMMAND --help tells more."
    }
}
