/// A place in a JSON document (RFC 6901), with `*` for every element of a list.
///
/// `./…` begins at the element a rule is looking at instead of at the whole document.
public struct JSONPointer: Hashable, Sendable {
    public let text: String
    public let isRelative: Bool
    private let tokens: [String]
    /// The tokens made ready once, so that nothing of the text is read again for a document.
    private let steps: [Step]
    let hasWildcard: Bool

    private enum Step: Hashable, Sendable {
        /// A member's name, and the place in a list where it can be one (RFC 6901 section 4: digits without a leading zero).
        case member(JSONName, index: Int?)
        case every
    }

    /// The steps of the way, for changing a document.
    var path: ArraySlice<String> { tokens[...] }

    /// Nil when the text neither is empty nor begins with `/` or `./`, or has a `~` that is followed by neither 0 nor 1.
    public init?(_ text: String) {
        self.text = text
        var rest = text[...]
        isRelative = rest.hasPrefix("./") || rest == "."
        if isRelative { rest = rest.dropFirst() }
        guard rest.isEmpty || rest.first == "/" else { return nil }
        var tokens: [String] = []
        if !rest.isEmpty {
            for token in rest.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
                guard let plain = Self.unescape(token) else { return nil }
                tokens.append(plain)
            }
        }
        self.tokens = tokens
        steps = tokens.map { $0 == "*" ? .every : .member(JSONName($0), index: Self.index($0)) }
        hasWildcard = steps.contains(.every)
    }

    /// `~1` is `/` and `~0` is `~`, in this order of reading (RFC 6901 section 4).
    private static func unescape(_ token: Substring) -> String? {
        var text = ""
        var isEscaped = false
        for character in token {
            if isEscaped {
                guard character == "0" || character == "1" else { return nil }
                text.append(character == "1" ? "/" : "~")
                isEscaped = false
            } else if character == "~" {
                isEscaped = true
            } else {
                text.append(character)
            }
        }
        return isEscaped ? nil : text
    }

    private static func index(_ token: String) -> Int? {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard token.utf8.allSatisfy(digits.contains), token == "0" || !token.hasPrefix("0") else { return nil }
        return Int(token)
    }

    /// The values at this place that are there and not null, in the document's order.
    public func values(in document: JSON, element: JSON?) -> [JSON] { all(in: document, element: element) }

    /// The same in a document however it is held.
    func all<Value: JSONReadable>(in document: Value, element: Value?) -> [Value] {
        guard let root = isRelative ? element : document else { return [] }
        guard hasWildcard else {
            return first(in: root).map { [$0] } ?? []
        }
        var current = [root]
        for step in steps {
            switch step {
            case .every: current = current.flatMap { $0.array ?? [] }
            case .member(let name, let index): current = current.compactMap { Self.member(of: $0, name, index) }
            }
        }
        return current.filter { !$0.isNull }
    }

    /// The value at this place, the first of several.
    func first<Value: JSONReadable>(in document: Value, element: Value?) -> Value? {
        guard let root = isRelative ? element : document else { return nil }
        return hasWildcard ? all(in: document, element: element).first : first(in: root)
    }

    private func first<Value: JSONReadable>(in root: Value) -> Value? {
        var current = root
        for step in steps {
            guard case .member(let name, let index) = step, let next = Self.member(of: current, name, index) else {
                return nil
            }
            current = next
        }
        return current.isNull ? nil : current
    }

    private static func member<Value: JSONReadable>(of value: Value, _ name: JSONName, _ index: Int?) -> Value? {
        if let member = value.member(name) { return member }
        return index.flatMap { value.element($0) }
    }
}
