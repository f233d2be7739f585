internal import Foundation

/// The process's environment, with the values of an `--env-file` behind it.
public struct EnvironmentVariables: Sendable {
    private var values: [String: String]

    public init(_ values: [String: String]) {
        self.values = values
    }

    public static var ofProcess: EnvironmentVariables {
        EnvironmentVariables(ProcessInfo.processInfo.environment)
    }

    /// The value; nil when it is not set or empty.
    public subscript(name: String) -> String? {
        guard let value = values[name], !value.isEmpty else { return nil }
        return value
    }

    /// Puts back the values of `running` where `isFixed` says so; the names of those that had another one, in order.
    mutating func keep(of running: EnvironmentVariables, where isFixed: (String) -> Bool) -> [String] {
        var changed: [String] = []
        for name in Set(values.keys).union(running.values.keys).filter(isFixed).sorted()
        where self[name] != running[name] {
            values[name] = running.values[name]
            changed.append(name)
        }
        return changed
    }

    /// Several values that are valid at once, split by commas. An empty part is a mistake in a secret and stops the start.
    func list(_ name: String) throws(ConfigurationError) -> [String] {
        guard let value = values[name], !value.isEmpty else { return [] }
        var parts: [String] = []
        for part in value.split(separator: ",", omittingEmptySubsequences: false) {
            let trimmed = part.trimmingCharacters(in: .whitespaces)
            guard !trimmed.isEmpty else {
                throw ConfigurationError(
                    name,
                    "a comma with nothing on one side",
                    hint: "a comma separates secrets that are valid at once"
                )
            }
            parts.append(trimmed)
        }
        return parts
    }

    /// Adds the `NAME=value` lines of a file; what the environment itself sets stays.
    ///
    /// - Throws: When the file cannot be read, when others than its owner and group can, or for a line that is none.
    public mutating func read(file path: String) throws(ConfigurationError) {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let mode = attributes[.posixPermissions] as? NSNumber
        else { throw ConfigurationError(path, "no such file", hint: "--env-file names a file of NAME=value lines") }
        guard mode.intValue & 0o007 == 0 else {
            throw ConfigurationError(path, "everyone on this machine can read it", hint: "chmod 600 \(path)")
        }
        guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8)
        else {
            throw ConfigurationError(path, "it cannot be read as UTF-8 text")
        }
        for (index, line) in text.components(separatedBy: .newlines).enumerated() {
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            if trimmed.isEmpty || trimmed.hasPrefix("#") { continue }
            guard let equals = trimmed.firstIndex(of: "="), equals > trimmed.startIndex else {
                throw ConfigurationError("\(path), line \(index + 1)", "no NAME=value")
            }
            var name = trimmed[..<equals].trimmingCharacters(in: .whitespaces)
            if name.hasPrefix("export ") { name = String(name.dropFirst(7)) }
            var value = trimmed[trimmed.index(after: equals)...].trimmingCharacters(in: .whitespaces)
            for quote in ["\"", "'"] where value.count > 1 && value.hasPrefix(quote) && value.hasSuffix(quote) {
                value = String(value.dropFirst().dropLast())
                break
            }
            if values[name] == nil { values[name] = value }
        }
    }
}
