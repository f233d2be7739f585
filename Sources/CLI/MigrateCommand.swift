internal import Gateway

/// `migrate`: brings the database up to date without starting the gateway.
enum MigrateCommand: Command {
    static let name = "migrate"
    static let summary = "bring the database up to date"
    static let options = [Option.json] + Option.configuration
    static let examples = ["migrate", "migrate --database copy.db"]

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard arguments.operands.isEmpty else { throw .usage("migrate takes options only") }
        let configuration = try arguments.configuration()
        do throws(ConfigurationError) {
            let applied = try Maintenance.migrate(configuration)
            if arguments.has("json") {
                Terminal.output(CommandOutput.json(["database": configuration.database, "applied": applied]))
                return .success
            }
            Terminal.output(
                applied.isEmpty
                    ? "\(configuration.database) is up to date"
                    : "\(configuration.database): applied \(applied.joined(separator: ", "))"
            )
        } catch {
            throw .failed(error.description)
        }
        return .success
    }
}
