internal import Gateway
internal import Platform

/// `backup`: copies the database into one file, beside a running gateway.
enum BackupCommand: Command {
    static let name = "backup"
    static let summary = "copy the database into one file, beside a running gateway"
    static let operands = "FILE"
    static let options =
        [
            Option(name: "force", value: nil, summary: "replace a file of that name, once the new one is whole"),
            .json,
        ] + Option.configuration
    static let note =
        "The copy is as of one moment, checked before it gets its name, and for its owner only.\nTo restore it: stop the gateway, put the file in the place of the database, take away -wal and -shm beside it, start."
    static let examples = ["backup gateway-monday.db", "backup --force latest.db --database data/gateway.db"]

    private static let progressMillis = 1000

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        let file = try arguments.operands("FILE")[0]
        let configuration = try arguments.configuration()
        var next = MonotonicNanos.now().adding(milliseconds: progressMillis)
        let report: Maintenance.BackupReport
        do throws(ConfigurationError) {
            report = try Maintenance.backup(configuration, to: file, replacing: arguments.has("force")) { done, pages in
                let now = MonotonicNanos.now()
                guard now >= next else { return }
                next = now.adding(milliseconds: progressMillis)
                Terminal.error("copied \(done * 100 / max(pages, 1))% of \(pages) pages")
            }
        } catch {
            throw .failed(error.description)
        }
        guard !arguments.has("json") else {
            let members: [String: Any] = [
                "file": file, "bytes": report.bytes, "pages": report.pages, "people": report.people, "checked": true,
            ]
            Terminal.output(CommandOutput.json(members))
            return .success
        }
        Terminal.output(
            "\(file): \(CommandOutput.size(report.bytes)), people: \(report.people); checked, the copy is whole"
        )
        return .success
    }
}
