/// A JSON value that keeps what the bytes said: the order of an object's members and the digits of a number.
///
/// Written for checks of a program's answers, so that it shares no code with the program under test. Strings are equal when
/// their code points are; Swift's own comparison would take `é` written in two ways for the same user.
public indirect enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    public static func integer(_ value: Int64) -> JSONValue {
        .number(JSONNumber(value))
    }

    /// The member of an object, or nil when there is none or this is no object.
    public subscript(key: String) -> JSONValue? {
        guard case .object(let object) = self else { return nil }
        return object[key]
    }

    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }
}

extension JSONValue: Equatable {
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.number(let one), .number(let other)): one == other
        case (.string(let one), .string(let other)): one.utf8.elementsEqual(other.utf8)
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        default: false
        }
    }
}

/// A number as it stood in the text. `1`, `1.0` and `1e0` are equal and are written back as they came.
public struct JSONNumber: Sendable, Equatable {
    public let text: String

    /// `text` must be a number of RFC 8259, section 6; the parser is the one that knows.
    init(validated text: String) {
        self.text = text
    }

    public init(_ value: Int64) {
        text = String(value)
    }

    /// The value when it is a whole number of 64 bits.
    public var integer: Int64? { Int64(text) }

    public var double: Double { Double(text) ?? .nan }

    /// Whole numbers are compared exactly: a Double would take two long ids for one.
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        switch (left.integer, right.integer) {
        case (let one?, let other?): one == other
        case (let one?, nil): one == Int64(exactly: right.double)
        case (nil, let other?): Int64(exactly: left.double) == other
        case (nil, nil): left.double == right.double
        }
    }
}

/// The members of a JSON object in the order of the text. Two objects are equal whatever the order.
public struct JSONObject: Sendable {
    public typealias Member = (key: String, value: JSONValue)

    public private(set) var members: [Member] = []

    public init(_ members: [Member] = []) {
        for member in members {
            self[member.key] = member.value
        }
    }

    /// Setting nil takes the member away; a new member comes last.
    public subscript(key: String) -> JSONValue? {
        get { index(of: key).map { members[$0].value } }
        set {
            switch (index(of: key), newValue) {
            case (let place?, let value?): members[place].value = value
            case (let place?, nil): members.remove(at: place)
            case (nil, let value?): members.append((key, value))
            case (nil, nil): break
            }
        }
    }

    private func index(of key: String) -> Int? {
        members.firstIndex { $0.key.utf8.elementsEqual(key.utf8) }
    }
}

extension JSONObject: Equatable {
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.members.count == right.members.count && left.members.allSatisfy { right[$0.key] == $0.value }
    }
}

// No literal for null: `object[key] = nil` must go on to mean that the member goes away.
extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements.map { (key: $0.0, value: $0.1) }))
    }
}
