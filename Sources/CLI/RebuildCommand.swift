internal import Gateway

/// `rebuild`: works every purchase and row out from the stored facts.
enum RebuildCommand: Command {
    static let name = "rebuild"
    static let summary = "work every row out again from the stored facts; with --check only tell differences"
    static let options =
        [
            Option(name: "check", value: nil, summary: "change nothing; exit with 1 when anything is different"),
            .json,
        ] + Option.configuration
    static let examples = ["rebuild --check", "rebuild"]
    static let note = "It may run beside a gateway; --check changes nothing."

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard arguments.operands.isEmpty else { throw .usage("rebuild takes options only") }
        let configuration = try arguments.configuration()
        let isCheck = arguments.has("check")
        do throws(ConfigurationError) {
            let report = try Maintenance.rebuild(configuration, checkOnly: isCheck)
            Terminal.output(arguments.has("json") ? report.json : report.text)
            return isCheck && !report.differences.isEmpty ? .failure : .success
        } catch {
            throw .failed(error.description)
        }
    }
}
