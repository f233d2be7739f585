import Foundation
import TestSupport

/// How an expected value is compared with what came: objects by the members that are named, lists element by element, and
/// an object whose members all begin with `$` by its matchers.
enum Matchers {
    private static let known = [
        "$any", "$absent", "$in", "$regex", "$gte", "$lte", "$time", "$len", "$not", "$contains",
    ]

    /// One line for each difference. `actual` is nil where the answer has nothing.
    static func differences(
        _ expected: JSONValue,
        _ actual: JSONValue?,
        at path: String = ""
    ) throws(ConformanceError) -> [String] {
        let place = path.isEmpty ? "/" : path
        if case .object(let object) = expected, isMatcher(object) {
            var found: [String] = []
            for member in object.members where try !matches(member.key, member.value, actual) {
                found.append("\(place): expected \(show([member.key: member.value])), got \(show(actual))")
            }
            return found
        }
        guard let actual else { return ["\(place): expected \(show(expected)), got nothing"] }
        switch (expected, actual) {
        case (.object(let wanted), .object(let had)):
            var found: [String] = []
            for member in wanted.members {
                found += try differences(member.value, had[member.key], at: "\(path)/\(member.key)")
            }
            return found
        case (.object, _):
            return ["\(place): expected an object, got \(show(actual))"]
        case (.array(let wanted), .array(let had)):
            guard wanted.count == had.count else {
                return ["\(place): expected \(wanted.count) elements, got \(had.count): \(show(actual))"]
            }
            var found: [String] = []
            for (index, pair) in zip(wanted, had).enumerated() {
                found += try differences(pair.0, pair.1, at: "\(path)/\(index)")
            }
            return found
        case (.array, _):
            return ["\(place): expected a list, got \(show(actual))"]
        default:
            return expected == actual ? [] : ["\(place): expected \(show(expected)), got \(show(actual))"]
        }
    }

    /// Refuses a matcher that does not exist, before anything is played.
    static func check(_ expected: JSONValue, at place: String) throws(ConformanceError) {
        switch expected {
        case .object(let object):
            for member in object.members {
                if isMatcher(object), !known.contains(member.key) {
                    throw .wrongCase("\(place): unknown matcher \(member.key)")
                }
                try check(member.value, at: place)
            }
        case .array(let elements):
            for element in elements { try check(element, at: place) }
        default: break
        }
    }

    /// A value as a report shows it; a long one is cut.
    static func show(_ value: JSONValue?) -> String {
        guard let text = value?.compact else { return "nothing" }
        return text.count <= 400 ? text : text.prefix(400) + "…"
    }

    private static func isMatcher(_ object: JSONObject) -> Bool {
        !object.members.isEmpty && object.members.allSatisfy { $0.key.hasPrefix("$") }
    }

    private static func matches(
        _ name: String,
        _ argument: JSONValue,
        _ actual: JSONValue?
    ) throws(ConformanceError) -> Bool {
        switch name {
        case "$any": return try flag(name, argument) == (actual != nil)
        case "$absent": return try flag(name, argument) == (actual == nil)
        default: break
        }
        guard known.contains(name) else { throw .wrongCase("unknown matcher \(name)") }
        guard let actual else { return false }
        switch name {
        case "$in":
            return try contains(list(name, argument)) { option throws(ConformanceError) in
                try differences(option, actual).isEmpty
            }
        case "$contains":
            guard case .array(let elements) = actual else { return false }
            return try contains(elements) { element throws(ConformanceError) in
                try differences(argument, element).isEmpty
            }
        case "$not": return try !differences(argument, actual).isEmpty
        case "$regex": return try fits(actual.string, text(name, argument))
        case "$time":
            guard let wanted = Timestamp.seconds(of: try text(name, argument)) else {
                throw .wrongCase("$time needs an RFC 3339 time, not \(show(argument))")
            }
            guard let seconds = actual.string.flatMap(Timestamp.seconds(of:)) else { return false }
            // Half a millisecond: the same instant in any rendering, and times are told in milliseconds.
            return abs(seconds - wanted) < 0.0005
        case "$len": return .integer(Int64(length(of: actual) ?? -1)) == argument
        default:
            guard case .number(let bound) = argument else { throw .wrongCase("\(name) needs a number") }
            guard case .number(let number) = actual else { return false }
            return name == "$gte" ? number.double >= bound.double : number.double <= bound.double
        }
    }

    private static func contains(
        _ elements: [JSONValue],
        _ test: (JSONValue) throws(ConformanceError) -> Bool
    ) throws(ConformanceError) -> Bool {
        for element in elements where try test(element) { return true }
        return false
    }

    private static func fits(_ text: String?, _ pattern: String) throws(ConformanceError) -> Bool {
        guard let expression = try? NSRegularExpression(pattern: pattern) else {
            throw .wrongCase("no regular expression: \(pattern)")
        }
        guard let text else { return false }
        return expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
    }

    private static func length(of value: JSONValue) -> Int? {
        switch value {
        case .string(let text): text.unicodeScalars.count
        case .array(let elements): elements.count
        case .object(let object): object.members.count
        default: nil
        }
    }

    private static func flag(_ name: String, _ argument: JSONValue) throws(ConformanceError) -> Bool {
        guard case .bool(let value) = argument else { throw .wrongCase("\(name) needs true or false") }
        return value
    }

    private static func text(_ name: String, _ argument: JSONValue) throws(ConformanceError) -> String {
        guard let text = argument.string else { throw .wrongCase("\(name) needs a string") }
        return text
    }

    private static func list(_ name: String, _ argument: JSONValue) throws(ConformanceError) -> [JSONValue] {
        guard case .array(let elements) = argument else { throw .wrongCase("\(name) needs a list") }
        return elements
    }
}
