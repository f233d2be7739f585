internal import Foundation
internal import Gateway

/// Exit statuses (contract section 10).
enum ExitStatus: Int32 {
    case success = 0
    case failure = 1
    case usage = 2
}

/// Why a command did not do what it was asked.
enum CommandError: Error {
    /// The call itself is wrong.
    case usage(String)
    case failed(String)
    /// The gateway that was asked said no.
    case answered(GatewayRefusal)

    var status: ExitStatus {
        switch self {
        case .usage: .usage
        case .failed, .answered: .failure
        }
    }

    /// With a `code` and a `detail`, as the API's own errors have.
    var json: String {
        switch self {
        case .usage(let reason): CommandOutput.json(["code": "usage", "detail": reason])
        case .failed(let reason): CommandOutput.json(["code": "failed", "detail": reason])
        case .answered(let refusal):
            refusal.answer.members == nil
                ? CommandOutput.json(["code": refusal.code, "detail": refusal.detail]) : refusal.answer.text
        }
    }
}

/// One word of the command line.
protocol Command {
    static var name: String { get }
    static var summary: String { get }
    /// What stands after the name and its options, for `--help`.
    static var operands: String { get }
    static var options: [Option] { get }
    /// Whole command lines without the program's name, for `--help`.
    static var examples: [String] { get }
    /// What else is good to know, for `--help`.
    static var note: String { get }

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus
}

/// One option of a command.
struct Option {
    var name: String
    /// Name of its value in `--help`; nil for a switch.
    var value: String?
    var summary: String

    /// Options of every command that reads the configuration.
    static let configuration: [Option] = [
        Option(
            name: "database",
            value: "FILE",
            summary: "SQLite file or postgres://… (GATEWAY_DATABASE, default gateway.db)"
        ),
        Option(name: "config", value: "FILE", summary: "settings (GATEWAY_CONFIG, default gateway.json when present)"),
        envFile,
    ]

    /// Of commands for which it matters where a gateway reads.
    static let replica: [Option] = [
        Option(
            name: "database-replica",
            value: "ADDRESS",
            summary: "standby for reads, postgres://… (GATEWAY_DATABASE_REPLICA, default none)"
        ),
        Option(
            name: "database-replica-lag",
            value: "SECONDS",
            summary: "no reads of it further behind (GATEWAY_DATABASE_REPLICA_LAG, default 5)"
        ),
    ]

    static let envFile = Option(
        name: "env-file",
        value: "FILE",
        summary: "NAME=value lines read behind the environment"
    )

    static let json = Option(name: "json", value: nil, summary: "for machines")
}

extension Command {
    static var operands: String { "" }
    static var note: String { "" }

    static var help: String {
        var text =
            "\(summary)\n\nusage: entitlement-gateway \(name)\(operands.isEmpty ? "" : " " + operands) [options]\n\noptions:\n"
        for option in options + [Option(name: "help", value: nil, summary: "this text")] {
            let left = "  --\(option.name)" + (option.value.map { " " + $0 } ?? "")
            text += left + String(repeating: " ", count: max(2, 26 - left.count)) + option.summary + "\n"
        }
        if !note.isEmpty { text += "\n\(note)\n" }
        text += "\nexamples:\n" + examples.map { "  entitlement-gateway \($0)\n" }.joined()
        return text
    }
}

/// The words after a command's name.
struct Arguments {
    private(set) var operands: [String] = []
    private(set) var values: [String: String] = [:]
    /// Every value in the order given, for options that may be repeated.
    private var pairs: [(name: String, value: String)] = []
    private(set) var switches: Set<String> = []

    var wantsHelp: Bool { switches.contains("help") }

    init(_ words: [String], of command: any Command.Type) throws(CommandError) {
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "-h" || word == "--help" {
                switches.insert("help")
                continue
            }
            if word == "--" {
                operands += rest
                break
            }
            guard word.hasPrefix("-"), word.count > 1 else {
                operands.append(word)
                continue
            }
            guard word.hasPrefix("--") else { throw .usage("no such option: \(word)") }
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard let option = command.options.first(where: { $0.name == name }) else {
                let known = command.options.map(\.name) + ["help"]
                throw .usage("no such option: --\(name)" + Suggestion.text(for: name, among: known, prefix: "--"))
            }
            guard option.value != nil else {
                guard parts.count == 1 else { throw .usage("--\(name) takes no value") }
                switches.insert(name)
                continue
            }
            guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
                throw .usage("--\(name) needs a value")
            }
            values[name] = value
            pairs.append((name, value))
        }
    }

    func has(_ name: String) -> Bool { switches.contains(name) }

    /// The value of an option; of one given twice the last.
    subscript(name: String) -> String? { values[name] }

    /// Every value of an option that may be repeated.
    func all(_ name: String) -> [String] {
        pairs.filter { $0.name == name }.map(\.value)
    }

    /// The operands, when there are as many as these names.
    func operands(_ names: String...) throws(CommandError) -> [String] {
        guard operands.count >= names.count else {
            throw .usage("\(names[operands.count]) is missing")
        }
        guard operands.count == names.count else { throw .usage("one word too many: \(operands[names.count])") }
        return operands
    }

    /// A whole number of an option, when it is given.
    func integer(_ name: String, in range: ClosedRange<Int>) throws(CommandError) -> Int? {
        guard let text = values[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .usage("--\(name): expected a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The configuration these options ask for.
    func configuration() throws(CommandError) -> GatewayConfiguration {
        do throws(ConfigurationError) {
            return try GatewayConfiguration(flags: values, environment: .ofProcess)
        } catch {
            throw .failed(error.description)
        }
    }
}
