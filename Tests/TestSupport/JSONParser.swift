/// Where and why some bytes are not JSON.
public struct JSONSyntaxError: Error, Sendable, Equatable {
    public let offset: Int
    public let reason: String
}

extension JSONValue {
    /// Reads one JSON text (RFC 8259) in UTF-8.
    ///
    /// Stricter than the RFC must be: an object that names a member twice is refused, as readers disagree about its meaning.
    public init(parsing bytes: some Sequence<UInt8>) throws(JSONSyntaxError) {
        var parser = JSONParser(bytes: Array(bytes))
        self = try parser.document()
    }

    public init(parsing text: String) throws(JSONSyntaxError) {
        try self.init(parsing: Array(text.utf8))
    }
}

private struct JSONParser {
    /// Far deeper than any answer; it only keeps a hostile text from using up the stack.
    static let depthMax = 256

    let bytes: [UInt8]
    var offset = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func document() throws(JSONSyntaxError) -> JSONValue {
        let result = try value(depth: 0)
        skipBlanks()
        guard offset == bytes.count else { throw fault("more after the end of the value") }
        return result
    }

    private mutating func value(depth: Int) throws(JSONSyntaxError) -> JSONValue {
        guard depth < Self.depthMax else { throw fault("nested too deep") }
        skipBlanks()
        switch peek {
        case UInt8(ascii: "{"): return .object(try object(depth: depth))
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw fault("the text ends early")
        default: return .number(try number())
        }
    }

    private mutating func object(depth: Int) throws(JSONSyntaxError) -> JSONObject {
        var object = JSONObject()
        offset += 1
        skipBlanks()
        if take("}") { return object }
        repeat {
            skipBlanks()
            guard peek == UInt8(ascii: "\"") else { throw fault("a member's name is expected") }
            let key = try string()
            guard object[key] == nil else { throw fault("the member \"\(key)\" stands twice") }
            skipBlanks()
            guard take(":") else { throw fault("a colon is expected") }
            object[key] = try value(depth: depth + 1)
            skipBlanks()
        } while take(",")
        guard take("}") else { throw fault("a comma or } is expected") }
        return object
    }

    private mutating func array(depth: Int) throws(JSONSyntaxError) -> [JSONValue] {
        var elements: [JSONValue] = []
        offset += 1
        skipBlanks()
        if take("]") { return elements }
        repeat {
            elements.append(try value(depth: depth + 1))
            skipBlanks()
        } while take(",")
        guard take("]") else { throw fault("a comma or ] is expected") }
        return elements
    }

    private mutating func string() throws(JSONSyntaxError) -> String {
        var text: [UInt8] = []
        offset += 1
        while true {
            guard let byte = peek else { throw fault("a string without an end") }
            offset += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let result = String(validating: text, as: UTF8.self) else {
                    throw fault("the string is not UTF-8")
                }
                return result
            case UInt8(ascii: "\\"):
                try escape(into: &text)
            case 0..<0x20:
                throw fault("a control character in a string")
            default:
                text.append(byte)
            }
        }
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONSyntaxError) {
        guard let byte = peek else { throw fault("a string without an end") }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: String(try codePoint()).utf8)
        default: throw fault("an unknown escape")
        }
    }

    private mutating func codePoint() throws(JSONSyntaxError) -> Unicode.Scalar {
        let first = try fourHexDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        // Not a scalar by itself: the first half of a surrogate pair, or nothing at all.
        guard (0xd800..<0xdc00).contains(first), take("\\"), take("u") else { throw fault("half a surrogate pair") }
        let second = try fourHexDigits()
        guard (0xdc00..<0xe000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
        else { throw fault("half a surrogate pair") }
        return scalar
    }

    private mutating func fourHexDigits() throws(JSONSyntaxError) -> UInt32 {
        var number: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw fault("four hexadecimal digits are expected")
            }
            number = number << 4 | UInt32(digit)
            offset += 1
        }
        return number
    }

    private mutating func number() throws(JSONSyntaxError) -> JSONNumber {
        let start = offset
        _ = take("-")
        if !take("0") {
            try digits()
        }
        if take(".") {
            try digits()
        }
        if take("e") || take("E") {
            _ = take("+") || take("-")
            try digits()
        }
        return JSONNumber(validated: String(decoding: bytes[start..<offset], as: UTF8.self))
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = offset
        while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
            offset += 1
        }
        guard offset > start else { throw fault("a value is expected") }
    }

    private mutating func word(_ text: StaticString, _ value: JSONValue) throws(JSONSyntaxError) -> JSONValue {
        let wanted = Array(text.description.utf8)
        guard bytes[offset...].starts(with: wanted) else { throw fault("a value is expected") }
        offset += wanted.count
        return value
    }

    private var peek: UInt8? {
        offset < bytes.count ? bytes[offset] : nil
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    private mutating func skipBlanks() {
        while let byte = peek, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d {
            offset += 1
        }
    }

    private func fault(_ reason: String) -> JSONSyntaxError {
        JSONSyntaxError(offset: offset, reason: reason)
    }
}
