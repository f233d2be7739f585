internal import Foundation

/// A JSON value (RFC 8259).
public enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// Nil when the bytes are no JSON text: also for invalid UTF-8 and for what is nested deeper than ``JSONText/depthMax``.
    public init?(_ bytes: [UInt8]) {
        guard let text = JSONText(bytes) else { return nil }
        self = text.root.json
    }

    /// A text that is written in 16 or 32 bits a letter, which Foundation reads, in UTF-8; nil for any other.
    static func inUTF8(_ bytes: [UInt8]) -> [UInt8]? {
        // Every JSON text begins with ASCII: wide letters show by a zero, or by the mark of their order.
        guard bytes.prefix(4).contains(where: { $0 == 0 || $0 >= 0xFE }) else { return nil }
        return readByFoundation(bytes)?.bytes
    }

    static func readByFoundation(_ bytes: [UInt8]) -> JSON? {
        guard let value = try? JSONSerialization.jsonObject(with: Data(bytes), options: [.fragmentsAllowed]) else {
            return nil
        }
        return JSON(foundation: value)
    }

    private init(foundation value: Any) {
        switch value {
        case let text as String: self = .string(text)
        case let members as [String: Any]: self = .object(members.mapValues { JSON(foundation: $0) })
        case let elements as [Any]: self = .array(elements.map { JSON(foundation: $0) })
        case let number as NSNumber:
            // The type code is one static character per kind of number; `is Bool` would also take 0 and 1.
            switch unsafe UInt8(bitPattern: number.objCType.pointee) {
            case UInt8(ascii: "c"), UInt8(ascii: "B"): self = .bool(number.boolValue)
            case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .number(number.doubleValue)
            case UInt8(ascii: "Q"):
                self =
                    number.uint64Value > UInt64(Int64.max)
                    ? .number(number.doubleValue) : .integer(Int64(number.uint64Value))
            default: self = .integer(number.int64Value)
            }
        default: self = .null
        }
    }

    /// The text, keys in order, slashes as they are.
    public var bytes: [UInt8] {
        let options: JSONSerialization.WritingOptions = [.fragmentsAllowed, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? JSONSerialization.data(withJSONObject: foundation, options: options) else { return [] }
        return [UInt8](data)
    }

    private var foundation: Any {
        switch self {
        case .null: NSNull()
        case .bool(let value): NSNumber(value: value)
        case .integer(let value): NSNumber(value: value)
        case .number(let value): value.isFinite ? NSNumber(value: value) : NSNull()
        case .string(let value): value
        case .array(let elements): elements.map(\.foundation)
        case .object(let members): members.mapValues(\.foundation)
        }
    }

    public subscript(key: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    public var isNull: Bool { self == .null }

    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    public var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value.rounded())
        default: nil
        }
    }

    /// A number without a fraction: for settings, where rounding would change what somebody has written.
    public var wholeNumber: Int64? {
        if case .number(let value) = self, value != value.rounded() { return nil }
        return integer
    }

    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    public var array: [JSON]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    public var object: [String: JSON]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The word for this kind of value in messages.
    public var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer, .number: "a number"
        case .string: "a string"
        case .array: "a list"
        case .object: "an object"
        }
    }
}
