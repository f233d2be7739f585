internal import Gateway

/// `reconcile`: asks the providers about everyone and mends what no webhook told.
enum ReconcileCommand: Command {
    static let name = "reconcile"
    static let summary = "ask the providers about everyone and mend what no webhook told"
    static let options =
        [
            Option(name: "dry-run", value: nil, summary: "tell what would be mended, write nothing"),
            Option(name: "all", value: nil, summary: "also those who have bought for good only"),
            Option(name: "from-start", value: nil, summary: "do not go on where an earlier one was cut off"),
            Option(
                name: "patience",
                value: "SECONDS",
                summary: "how long to ask again while a provider fails (default 60)"
            ),
            .json,
            Option(name: "providers", value: "DIR", summary: "folder of further manifests (GATEWAY_PROVIDERS)"),
        ] + Option.configuration
    static let examples = ["reconcile --env-file gateway.env --dry-run", "reconcile --env-file gateway.env --json"]
    static let note = """
        It may run beside a gateway, which does the same once a day and after a stop of more than an hour. Cut off,
        it goes on where it was. The exit status is 1 when some could not be looked at; they keep what they have.
        """

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard arguments.operands.isEmpty else { throw .usage("reconcile takes options only") }
        var options = ReconcileOptions()
        options.isDryRun = arguments.has("dry-run")
        options.includesLifetime = arguments.has("all")
        options.beginsAnew = arguments.has("from-start")
        if let seconds = try arguments.integer("patience", in: 0...86_400) { options.patienceSeconds = seconds }
        let (configuration, asJSON) = (try arguments.configuration(), arguments.has("json"))
        let line = ProgressLine()
        let report: ReconcileReport
        do throws(ConfigurationError) {
            report = try Reconcile.run(configuration, options) { progress in
                let share = progress.total == 0 ? 1 : Double(progress.passed) / Double(progress.total)
                line.show(
                    share,
                    (progress.pages > 0 ? "\(progress.pages) pages of lists read, " : "")
                        + "\(progress.passed) passed, \(progress.differences) different, \(progress.unread) left out"
                )
            } found: { difference in
                guard !asJSON else { return }
                line.end()
                Terminal.output(difference)
            }
        } catch {
            line.end()
            throw .failed(error.description)
        }
        line.end()
        if asJSON { Terminal.output(report.json) } else { tell(report) }
        return report.isWhole ? .success : .failure
    }

    private static func tell(_ report: ReconcileReport) {
        for entry in report.unread {
            let reasons = entry.reasons.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
            let what = entry.list.map { "the list of \($0)" } ?? entry.user ?? "a parked purchase"
            Terminal.error("\(what) was left out: \(reasons.joined(separator: "; "))")
        }
        var text = report.isDryRun ? "nothing was written: " : ""
        text += "\(report.looked) looked at, \(report.differenceCount) different"
        if report.withoutAPI > 0 { text += ", \(report.withoutAPI) whose provider cannot be asked" }
        if report.wasResumed { text += ", gone on where an earlier one was cut off" }
        text += ", \(report.unreadCount) left out"
        Terminal.output(text)
    }
}
