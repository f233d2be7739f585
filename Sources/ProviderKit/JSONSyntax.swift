/// Finds the place where a text stops being JSON (RFC 8259), for the person who has to mend it.
///
/// Stricter than a reader in one thing: a name that stands twice in one object is a mistake, because readers differ in which
/// of the two they take.
public struct JSONSyntax {
    /// Line and column count from 1; the column counts characters.
    public struct Mistake: Error, Hashable, Sendable, CustomStringConvertible {
        public var line: Int
        public var column: Int
        public var reason: String

        public var description: String { "line \(line), column \(column): \(reason)" }
    }

    /// Nested deeper than this nobody writes by hand.
    private static let depthMax = 256

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    private let bytes: [UInt8]
    private var place = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The first mistake of a text; nil when it is JSON.
    public static func mistake(in bytes: [UInt8]) -> Mistake? {
        guard String(validating: bytes, as: UTF8.self) != nil else {
            return Mistake(line: 1, column: 1, reason: "the file is no UTF-8 text")
        }
        var scanner = JSONSyntax(bytes)
        do throws(Mistake) {
            scanner.skipSpace()
            try scanner.value(depth: 0)
            scanner.skipSpace()
            if scanner.place < bytes.count { throw scanner.mistake("something stands behind the end") }
            return nil
        } catch {
            return error
        }
    }

    private func mistake(_ reason: String, at place: Int? = nil) -> Mistake {
        let before = bytes[..<min(place ?? self.place, bytes.count)]
        let line = before.reduce(1) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let column = before[start...].reduce(1) { $0 + ($1 & 0xC0 == 0x80 ? 0 : 1) }
        return Mistake(line: line, column: column, reason: reason)
    }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { place += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        place += 1
        return true
    }

    private mutating func value(depth: Int) throws(Mistake) {
        guard depth < Self.depthMax else { throw mistake("nested too deep") }
        switch next {
        case UInt8(ascii: "{"): try object(depth: depth)
        case UInt8(ascii: "["): try list(depth: depth)
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        case nil: throw mistake("the text ends where a value should stand")
        case let byte? where byte == UInt8(ascii: "-") || Self.digits.contains(byte): try number()
        default: throw mistake("expected a value")
        }
    }

    private mutating func object(depth: Int) throws(Mistake) {
        place += 1
        skipSpace()
        if take(UInt8(ascii: "}")) { return }
        var names: Set<[UInt8]> = []
        while true {
            skipSpace()
            let start = place
            guard next == UInt8(ascii: "\"") else {
                throw mistake(
                    next == UInt8(ascii: "}") ? "a comma before the closing brace" : "expected a name in quotes"
                )
            }
            guard names.insert(try string()).inserted else { throw mistake("this name stands here twice", at: start) }
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw mistake("expected a colon") }
            skipSpace()
            try value(depth: depth + 1)
            skipSpace()
            if take(UInt8(ascii: "}")) { return }
            guard take(UInt8(ascii: ",")) else { throw mistake("expected a comma or a closing brace") }
        }
    }

    private mutating func list(depth: Int) throws(Mistake) {
        place += 1
        skipSpace()
        if take(UInt8(ascii: "]")) { return }
        while true {
            skipSpace()
            if next == UInt8(ascii: "]") { throw mistake("a comma before the closing bracket") }
            try value(depth: depth + 1)
            skipSpace()
            if take(UInt8(ascii: "]")) { return }
            guard take(UInt8(ascii: ",")) else { throw mistake("expected a comma or a closing bracket") }
        }
    }

    /// The bytes between the quotes, as they are written.
    private mutating func string() throws(Mistake) -> [UInt8] {
        place += 1
        let start = place
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                defer { place += 1 }
                return Array(bytes[start..<place])
            case UInt8(ascii: "\\"):
                place += 1
                guard let escaped = next, "\"\\/bfnrtu".utf8.contains(escaped) else { throw mistake("no such escape") }
                place += 1
                if escaped == UInt8(ascii: "u") { try unicodeEscape(from: place - 2) }
            case 0..<0x20: throw mistake("a line or tab inside a text")
            default: place += 1
            }
        }
        throw mistake("a text that does not end", at: start - 1)
    }

    /// A character past U+FFFF is written as two halves, and a half alone is none (RFC 8259 section 8.2).
    private mutating func unicodeEscape(from start: Int) throws(Mistake) {
        switch try hexDigits() {
        case 0xD800..<0xDC00:
            guard bytes[place...].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) else {
                throw mistake("half of a character", at: start)
            }
            place += 2
            guard (0xDC00..<0xE000).contains(try hexDigits()) else { throw mistake("half of a character", at: start) }
        case 0xDC00..<0xE000: throw mistake("half of a character", at: start)
        default: break
        }
    }

    private mutating func hexDigits() throws(Mistake) -> Int {
        var value = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(UnicodeScalar(byte)).hexDigitValue else {
                throw mistake("expected four hexadecimal digits")
            }
            value = value * 16 + digit
            place += 1
        }
        return value
    }

    private mutating func word(_ word: StaticString) throws(Mistake) {
        let text = Array(word.description.utf8)
        guard bytes[place...].starts(with: text) else { throw mistake("expected true, false or null") }
        place += text.count
    }

    private mutating func digits() throws(Mistake) {
        let start = place
        while let byte = next, Self.digits.contains(byte) { place += 1 }
        guard place > start else { throw mistake("expected a digit") }
    }

    private mutating func number() throws(Mistake) {
        let start = place
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        let isFinite = Double(String(decoding: bytes[start..<place], as: UTF8.self))?.isFinite ?? false
        guard isFinite else { throw mistake("a number that is too large", at: start) }
    }
}
