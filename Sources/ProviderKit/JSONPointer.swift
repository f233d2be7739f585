/// A place in a JSON document (RFC 6901), with `*` for every element of a list.
///
/// `./…` begins at the element a rule is looking at instead of at the whole document.
public struct JSONPointer: Hashable, Sendable {
    public let text: String
    public let isRelative: Bool
    private let tokens: [String]
    private let hasWildcard: Bool

    /// The steps of the way, for changing a document.
    var path: ArraySlice<String> { tokens[...] }

    /// Nil when the text neither is empty nor begins with `/` or `./`.
    public init?(_ text: String) {
        self.text = text
        var rest = text[...]
        isRelative = rest.hasPrefix("./") || rest == "."
        if isRelative { rest = rest.dropFirst() }
        guard rest.isEmpty || rest.first == "/" else { return nil }
        tokens =
            rest.isEmpty
            ? []
            : rest.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { token in
                token.contains("~") ? Self.unescape(token) : String(token)
            }
        hasWildcard = tokens.contains("*")
    }

    /// `~1` is `/` and `~0` is `~`, in this order of reading (RFC 6901 section 4).
    private static func unescape(_ token: Substring) -> String {
        var text = ""
        var isEscaped = false
        for character in token {
            if isEscaped {
                text.append(character == "1" ? "/" : character == "0" ? "~" : character)
                isEscaped = false
            } else if character == "~" {
                isEscaped = true
            } else {
                text.append(character)
            }
        }
        return text
    }

    /// The values at this place that are there and not null, in the document's order.
    public func values(in document: JSON, element: JSON?) -> [JSON] {
        guard let root = isRelative ? element : document else { return [] }
        guard hasWildcard else {
            return first(in: root).map { [$0] } ?? []
        }
        var current = [root]
        for token in tokens {
            current = current.flatMap { value -> [JSON] in
                if token == "*" { return value.array ?? [] }
                return Self.step(value, token).map { [$0] } ?? []
            }
        }
        return current.filter { !$0.isNull }
    }

    private func first(in root: JSON) -> JSON? {
        var current = root
        for token in tokens {
            guard let next = Self.step(current, token) else { return nil }
            current = next
        }
        return current.isNull ? nil : current
    }

    private static func step(_ value: JSON, _ token: String) -> JSON? {
        switch value {
        case .object(let members): return members[token]
        case .array(let elements):
            guard let index = Int(token), elements.indices.contains(index) else { return nil }
            return elements[index]
        default: return nil
        }
    }
}
