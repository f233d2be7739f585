internal import Gateway

/// `version`: which gateway this is.
enum VersionCommand: Command {
    static let name = "version"
    static let summary = "print the version"
    static let options = [Option.json, .envFile]
    static let examples = ["version", "version --json"]

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard arguments.operands.isEmpty else { throw .usage("version takes options only") }
        if let file = arguments["env-file"] {
            // Nothing of it is needed; one that is off is told all the same.
            var environment = EnvironmentVariables.ofProcess
            do throws(ConfigurationError) { try environment.read(file: file) } catch {
                throw .failed(error.description)
            }
        }
        Terminal.output(arguments.has("json") ? "{\"version\":\"\(GatewayVersion.text)\"}" : GatewayVersion.text)
        return .success
    }
}
