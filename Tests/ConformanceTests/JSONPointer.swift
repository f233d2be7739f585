import TestSupport

/// A JSON pointer (RFC 6901): `/event/aliases/0`.
struct JSONPointer: Sendable {
    private let parts: [String]

    init(_ text: String) throws(ConformanceError) {
        guard text.isEmpty || text.hasPrefix("/") else { throw .wrongCase("a JSON pointer begins with '/': \(text)") }
        parts = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map {
            String($0.replacing("~1", with: "/").replacing("~0", with: "~"))
        }
    }

    /// The value at the pointer, or nil when there is none.
    func value(in document: JSONValue) -> JSONValue? {
        var value = document
        for part in parts {
            switch value {
            case .object(let object):
                guard let member = object[part] else { return nil }
                value = member
            case .array(let elements):
                guard let index = Int(part), elements.indices.contains(index) else { return nil }
                value = elements[index]
            default:
                return nil
            }
        }
        return value
    }

    /// Puts the value there. Objects on the way that are missing are made; `-` after a list adds to its end.
    func set(_ value: JSONValue, in document: JSONValue) throws(ConformanceError) -> JSONValue {
        try Self.set(value, at: parts[...], in: document)
    }

    /// Takes the member or element away. Nothing happens when the way there is missing.
    func remove(from document: JSONValue) throws(ConformanceError) -> JSONValue {
        guard !parts.isEmpty else { throw .wrongCase("the whole document cannot be removed") }
        return try Self.remove(at: parts[...], from: document)
    }

    private static func set(
        _ value: JSONValue,
        at parts: ArraySlice<String>,
        in document: JSONValue
    ) throws(ConformanceError) -> JSONValue {
        guard let part = parts.first else { return value }
        switch document {
        case .object(var object):
            object[part] = try set(value, at: parts.dropFirst(), in: object[part] ?? [:])
            return .object(object)
        case .array(var elements):
            if part == "-", parts.count == 1 {
                elements.append(value)
            } else {
                let index = try index(part, in: elements)
                elements[index] = try set(value, at: parts.dropFirst(), in: elements[index])
            }
            return .array(elements)
        default:
            throw .wrongCase("nothing can be set at \"\(part)\": there is \(document.compact)")
        }
    }

    private static func remove(
        at parts: ArraySlice<String>,
        from document: JSONValue
    ) throws(ConformanceError) -> JSONValue {
        guard let part = parts.first else { return document }
        switch document {
        case .object(var object):
            guard let member = object[part] else { return document }
            object[part] = parts.count == 1 ? nil : try remove(at: parts.dropFirst(), from: member)
            return .object(object)
        case .array(var elements):
            let index = try index(part, in: elements)
            if parts.count == 1 {
                elements.remove(at: index)
            } else {
                elements[index] = try remove(at: parts.dropFirst(), from: elements[index])
            }
            return .array(elements)
        case .null:
            return document
        default:
            throw .wrongCase("nothing can be removed at \"\(part)\": there is \(document.compact)")
        }
    }

    private static func index(_ part: String, in elements: [JSONValue]) throws(ConformanceError) -> Int {
        guard let index = Int(part), elements.indices.contains(index) else {
            throw .wrongCase("no element \"\(part)\" in a list of \(elements.count)")
        }
        return index
    }
}
