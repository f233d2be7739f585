internal import Foundation
internal import Gateway

/// `import`: brings existing subscribers in from a file.
enum ImportCommand: Command {
    static let name = "import"
    static let summary = "bring existing subscribers in from a file"
    static let operands = "csv|revenuecat|stripe|creem FILE"
    static let options =
        [
            Option(name: "provider", value: "NAME", summary: "the provider of lines that name none (csv)"),
            Option(name: "dry-run", value: nil, summary: "read and check the file, write nothing"),
            Option(name: "notify", value: nil, summary: "tell the receivers of /notify of every answer that changes"),
            Option(name: "refused", value: "FILE", summary: "write every refused line's number and reason there"),
            Option(name: "json", value: nil, summary: "for machines"),
            Option(name: "providers", value: "DIR", summary: "folder of further manifests (GATEWAY_PROVIDERS)"),
        ] + Option.configuration
    static let examples = [
        "import csv subscribers.csv --dry-run", "import csv subscribers.csv --provider stripe --refused refused.csv",
    ]

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard arguments.operands.count == 2 else {
            throw .usage("import needs a format and a file, such as: import csv subscribers.csv")
        }
        guard SubscriberImport.formats.contains(arguments.operands[0]) else {
            throw .usage("no such format: \(arguments.operands[0])")
        }
        let configuration = try arguments.configuration()
        var options = SubscriberImport.Options(format: arguments.operands[0], file: arguments.operands[1])
        options.provider = arguments["provider"]
        options.isDryRun = arguments.has("dry-run")
        options.notifies = arguments.has("notify")
        let refused = try arguments["refused"].map { path throws(CommandError) in try RefusedLines(path) }
        let bar = ProgressLine()
        let report: SubscriberImport.Report
        do throws(ConfigurationError) {
            let subscribers = try SubscriberImport(options, configuration)
            report = try subscribers.run {
                show($0, bar)
            } refusal: {
                refused?.add($0)
            }
        } catch {
            bar.end()
            throw .failed(error.description)
        }
        bar.end()
        tell(report, asJSON: arguments.has("json"))
        return report.refused == 0 ? .success : .failure
    }

    private static func show(_ progress: SubscriberImport.Progress, _ bar: ProgressLine) {
        let share = progress.bytesMax == 0 ? 1 : Double(progress.bytes) / Double(progress.bytesMax)
        bar.show(
            share,
            "\(progress.lines) lines, \(Int(Double(progress.lines) / bar.seconds))/s"
                + (progress.refused > 0 ? ", \(progress.refused) refused" : "")
        )
    }

    private static func tell(_ report: SubscriberImport.Report, asJSON: Bool) {
        if asJSON { return Terminal.output(report.json) }
        for refusal in report.refusals { Terminal.error("line \(refusal.line): \(refusal.reason)") }
        if report.refused > report.refusals.count {
            Terminal.error("… and \(report.refused - report.refusals.count) more; --refused FILE writes all of them")
        }
        var text = report.isDryRun ? "nothing was written: " : ""
        text += "\(report.lines) lines"
        if let line = report.continuedAfter { text += " after line \(line), where an earlier import stopped" }
        for (name, count) in report.outcomes.sorted(by: { $0.key < $1.key }) where count > 0 {
            text += ", \(count) \(name)"
        }
        text += ", \(report.refused) refused"
        Terminal.output(text)
    }
}

/// The file that tells of every refused line.
private final class RefusedLines {
    private let handle: FileHandle

    init(_ path: String) throws(CommandError) {
        guard FileManager.default.createFile(atPath: path, contents: Data("line,reason\n".utf8)),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw .failed("\(path) cannot be written") }
        self.handle = handle
        _ = try? handle.seekToEnd()
    }

    func add(_ refusal: SubscriberImport.Refusal) {
        let reason = refusal.reason.replacingOccurrences(of: "\"", with: "\"\"")
        handle.write(Data("\(refusal.line),\"\(reason)\"\n".utf8))
    }
}
