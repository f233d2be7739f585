internal import Gateway

/// `doctor`: says what is off and why.
enum DoctorCommand: Command {
    static let name = "doctor"
    static let summary = "check a manifest, and tell what a delivery would do"
    static let options =
        ManifestTrialReport.options + [Option(name: "json", value: nil, summary: "for machines")] + Option.configuration

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard arguments.operands.isEmpty else { throw .usage("doctor takes options only") }
        if let status = try ManifestTrialReport.run(arguments) { return status }
        throw .usage("doctor needs --manifest FILE")
    }
}
