internal import Gateway

/// `migrate`: brings the database up to date without starting the gateway, or carries it into another one.
enum MigrateCommand: Command {
    static let name = "migrate"
    static let summary = "bring the database up to date, or move it into another one"
    static let options =
        [
            Option(
                name: "from",
                value: "DATABASE",
                summary: "carry everything out of this one, such as sqlite:gateway.db"
            ),
            Option(name: "to", value: "DATABASE", summary: "into this one, which is empty, such as postgres://…"),
            Option.json,
        ] + Option.configuration
    static let examples = [
        "migrate", "migrate --database copy.db",
        "migrate --from sqlite:gateway.db --to postgres://gateway@db.internal/gateway",
    ]

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard arguments.operands.isEmpty else { throw .usage("migrate takes options only") }
        if arguments["from"] != nil || arguments["to"] != nil { return try move(arguments) }
        let configuration = try arguments.configuration()
        do throws(ConfigurationError) {
            let applied = try Maintenance.migrate(configuration)
            if arguments.has("json") {
                Terminal.output(CommandOutput.json(["database": configuration.databaseName, "applied": applied]))
                return .success
            }
            Terminal.output(
                applied.isEmpty
                    ? "\(configuration.databaseName) is up to date"
                    : "\(configuration.databaseName): applied \(applied.joined(separator: ", "))"
            )
        } catch {
            throw .failed(error.description)
        }
        return .success
    }

    private static func move(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard let source = arguments["from"], let target = arguments["to"] else {
            throw .usage("--from and --to go together")
        }
        let bar = ProgressLine()
        let tables: [DatabaseMove.Table]
        do throws(ConfigurationError) {
            tables = try DatabaseMove.run(from: source, to: target) { progress in
                let share = Double(progress.rows) / Double(max(progress.rowsMax, 1))
                bar.show(share, "\(progress.isProof ? "comparing" : "copying") \(progress.table)")
            }
        } catch {
            bar.end()
            throw .failed(error.description)
        }
        bar.end()
        if arguments.has("json") {
            let list = tables.map { ["table": $0.name, "rows": $0.rows, "digest": $0.digest] as [String: Any] }
            Terminal.output(CommandOutput.json(["tables": list]))
            return .success
        }
        for table in tables { Terminal.output("\(table.name): \(table.rows) rows, the same on both sides") }
        Terminal.output("everything came over; start the gateway with the new --database, its key files beside it")
        return .success
    }
}
