internal import Entitlements

/// What rules ask a document, whether it lies there as a tree or as the text that it came as.
protocol JSONReadable {
    var isNull: Bool { get }
    var isObject: Bool { get }
    var isText: Bool { get }
    var string: String? { get }
    /// A number that is written as a whole one.
    var wholeInteger: Int64? { get }
    /// The same, or any other number rounded.
    var integer: Int64? { get }
    var array: [Self]? { get }
    var time: UnixMillis? { get }
    var kind: String { get }
    var json: JSON { get }

    func member(_ name: JSONName) -> Self?
    func element(_ index: Int) -> Self?
    func equals(_ wanted: WantedJSON) -> Bool
}

/// A name of a member, made ready to be looked for often.
public struct JSONName: Hashable, Sendable {
    let text: String
    let bytes: [UInt8]
    /// ASCII only, where equal bytes are the one way to be equal.
    let isPlain: Bool

    static let id = JSONName("id")

    init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
        isPlain = bytes.allSatisfy { $0 < 0x80 }
    }
}

/// A value to compare with, made ready to be looked for often.
public struct WantedJSON: Sendable {
    let json: JSON
    /// Nil when it is no text.
    let text: JSONName?

    init(_ json: JSON) {
        self.json = json
        text = json.string.map { JSONName($0) }
    }
}

extension JSON: JSONReadable {
    var json: JSON { self }

    var isObject: Bool { object != nil }

    var isText: Bool { string != nil }

    var wholeInteger: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    var time: UnixMillis? { string.flatMap { UnixMillis(rfc3339: $0) } }

    func member(_ name: JSONName) -> JSON? { self[name.text] }

    func element(_ index: Int) -> JSON? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    func equals(_ wanted: WantedJSON) -> Bool { self == wanted.json }
}
