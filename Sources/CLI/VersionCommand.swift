internal import Gateway

/// `version`: which gateway this is.
enum VersionCommand: Command {
    static let name = "version"
    static let summary = "print the version"
    static let options = [Option(name: "json", value: nil, summary: "for machines")]

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard arguments.operands.isEmpty else { throw .usage("version takes options only") }
        Terminal.output(arguments.has("json") ? "{\"version\":\"\(GatewayVersion.text)\"}" : GatewayVersion.text)
        return .success
    }
}
