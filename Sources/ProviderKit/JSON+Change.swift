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
}
