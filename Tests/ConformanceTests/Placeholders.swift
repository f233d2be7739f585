import TestSupport

/// What `${…}` stands for in one case: the clock, values saved by earlier steps and the gateway's environment.
struct Scope: Sendable {
    /// Milliseconds since 1970, read once: every step of a case means the same moment.
    var now: Int64
    var environment: [String: String]
    var saved: [String: JSONValue] = [:]

    /// The value with every placeholder replaced, in members' names too. A string that is wholly one placeholder becomes
    /// what the placeholder stands for, whatever its type.
    func expand(_ value: JSONValue) throws(ConformanceError) -> JSONValue {
        switch value {
        case .string(let text):
            return try expand(text)
        case .array(let elements):
            return .array(try elements.map { element throws(ConformanceError) in try expand(element) })
        case .object(let object):
            var expanded = JSONObject()
            for member in object.members {
                expanded[try self.text(.string(member.key))] = try expand(member.value)
            }
            return .object(expanded)
        case .null, .bool, .number:
            return value
        }
    }

    /// The value with its placeholders replaced, as text.
    func text(_ value: JSONValue) throws(ConformanceError) -> String {
        Self.asText(try expand(value))
    }

    private static func asText(_ value: JSONValue) -> String {
        if case .string(let text) = value { text } else { value.compact }
    }

    private func expand(_ text: String) throws(ConformanceError) -> JSONValue {
        var result = ""
        var rest = Substring(text)
        while let start = rest.firstRange(of: "${"), let end = rest[start.upperBound...].firstIndex(of: "}") {
            guard let placeholder = Placeholder(rest[start.upperBound..<end]) else {
                result += rest[..<start.upperBound]
                rest = rest[start.upperBound...]
                continue
            }
            let value = try lookUp(placeholder)
            let after = rest.index(after: end)
            if result.isEmpty, start.lowerBound == text.startIndex, after == text.endIndex { return value }
            result += rest[..<start.lowerBound] + Self.asText(value)
            rest = rest[after...]
        }
        return .string(result + rest)
    }

    private func lookUp(_ placeholder: Placeholder) throws(ConformanceError) -> JSONValue {
        let name = placeholder.name
        let moment = now + placeholder.shiftSeconds * 1000
        switch name {
        case "now": return .string(Timestamp.text(ofMilliseconds: moment))
        case "now_ms": return .integer(moment)
        case "now_s": return .integer(moment / 1000)
        default: break
        }
        guard !placeholder.isShifted else { throw .wrongCase("only a time can be shifted, not ${\(name)}") }
        let prefix = "env:"
        if name.hasPrefix(prefix) {
            guard let value = environment[String(name.dropFirst(prefix.count))] else {
                throw .wrongCase("the gateway's environment has no \(name.dropFirst(prefix.count))")
            }
            return .string(value)
        }
        if let value = saved[name] { return value }
        throw .wrongCase("unknown placeholder ${\(name)}")
    }
}

/// The inside of `${…}`: a name, and for times shifts such as `+30d-1h`.
private struct Placeholder {
    private static let secondsOf: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86400]

    let name: String
    let shiftSeconds: Int64
    let isShifted: Bool

    /// Nil when the text is no placeholder and stands for itself.
    init?(_ text: Substring) {
        var name = text
        var shift: Int64 = 0
        while let (start, seconds) = Self.lastShift(of: name), start > name.startIndex {
            shift += seconds
            name = name[..<start]
        }
        guard let first = name.first, first.isASCII, first.isLetter || first == "_",
            name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "_:.-".contains($0)) })
        else { return nil }
        self.name = String(name)
        shiftSeconds = shift
        isShifted = name.endIndex != text.endIndex
    }

    private static func lastShift(of text: Substring) -> (start: Substring.Index, seconds: Int64)? {
        guard let unit = text.last.flatMap({ secondsOf[$0] }) else { return nil }
        let digits = text.dropLast().reversed().prefix { $0.isASCII && $0.isNumber }
        let body = text.dropLast(1 + digits.count)
        guard !digits.isEmpty, let sign = body.last, sign == "+" || sign == "-",
            let count = Int64(String(digits.reversed()))
        else { return nil }
        return (text.index(before: body.endIndex), (sign == "-" ? -count : count) * unit)
    }
}
