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

    var status: ExitStatus {
        switch self {
        case .usage: .usage
        case .failed: .failure
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
        Option(name: "database", value: "FILE", summary: "SQLite file (GATEWAY_DATABASE, default gateway.db)"),
        Option(name: "config", value: "FILE", summary: "settings (GATEWAY_CONFIG, default gateway.json when present)"),
        Option(name: "env-file", value: "FILE", summary: "NAME=value lines read behind the environment"),
    ]
}

extension Command {
    static var operands: String { "" }

    static var help: String {
        var text =
            "\(summary)\n\nusage: entitlement-gateway \(name)\(operands.isEmpty ? "" : " " + operands) [options]\n\noptions:\n"
        for option in options + [Option(name: "help", value: nil, summary: "this text")] {
            let left = "  --\(option.name)" + (option.value.map { " " + $0 } ?? "")
            text += left + String(repeating: " ", count: max(2, 26 - left.count)) + option.summary + "\n"
        }
        return text
    }
}

/// The words after a command's name.
struct Arguments {
    private(set) var operands: [String] = []
    private(set) var values: [String: String] = [:]
    private(set) var switches: Set<String> = []
    private var repeated: [String: [String]] = [:]

    var wantsHelp: Bool { switches.contains("help") }

    init(_ words: [String], of command: any Command.Type) throws(CommandError) {
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "-h" || word == "--help" {
                switches.insert("help")
                continue
            }
            guard word.hasPrefix("--"), word.count > 2 else {
                operands.append(word)
                continue
            }
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard let option = command.options.first(where: { $0.name == name }) else {
                throw .usage("no such option: --\(name)")
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
            repeated[name, default: []].append(value)
        }
    }

    func has(_ name: String) -> Bool { switches.contains(name) }

    subscript(name: String) -> String? { values[name] }

    /// Every value of an option that may be given several times.
    func all(_ name: String) -> [String] { repeated[name] ?? [] }

    /// The configuration these options ask for.
    func configuration() throws(CommandError) -> GatewayConfiguration {
        do throws(ConfigurationError) {
            return try GatewayConfiguration(flags: values, environment: .ofProcess)
        } catch {
            throw .failed(error.description)
        }
    }
}
