internal import Entitlements

extension JSON {
    /// The document with `value` at a place; objects that are missing on the way are made. A place inside a list must be there.
    func setting(_ value: JSON, at tokens: ArraySlice<String>) -> JSON {
        guard let token = tokens.first else { return value }
        let rest = tokens.dropFirst()
        switch self {
        case .object(var members):
            members[token] = (members[token] ?? .object([:])).setting(value, at: rest)
            return .object(members)
        case .array(var elements):
            guard let index = Int(token), elements.indices.contains(index) else { return self }
            elements[index] = elements[index].setting(value, at: rest)
            return .array(elements)
        case .null: return JSON.object([:]).setting(value, at: tokens)
        case .bool, .integer, .number, .string: return self
        }
    }

    /// Every value equal to a key of the table, wherever it stands, replaced by the table's value.
    func replacing(_ table: [JSON: JSON]) -> JSON {
        if let replacement = table[self] { return replacement }
        switch self {
        case .object(let members): return .object(members.mapValues { $0.replacing(table) })
        case .array(let elements): return .array(elements.map { $0.replacing(table) })
        case .null, .bool, .integer, .number, .string: return self
        }
    }

    /// The document with every time in it moved: texts in RFC 3339, and numbers that count milliseconds or seconds. What `move`
    /// gives nil for is no time and stays.
    func movingTimes(_ move: (UnixMillis) -> UnixMillis?) -> JSON {
        switch self {
        case .object(let members): return .object(members.mapValues { $0.movingTimes(move) })
        case .array(let elements): return .array(elements.map { $0.movingTimes(move) })
        case .string(let text):
            guard let time = UnixMillis(rfc3339: text), let moved = move(time) else { return self }
            return .string(moved.rfc3339)
        case .integer(let number):
            if let moved = move(UnixMillis(number)) { return .integer(moved.value) }
            let (millis, overflow) = number.multipliedReportingOverflow(by: 1000)
            guard !overflow, let moved = move(UnixMillis(millis)) else { return self }
            return .integer(moved.value / 1000)
        case .null, .bool, .number: return self
        }
    }
}
