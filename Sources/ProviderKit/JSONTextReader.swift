/// Reads a JSON text (RFC 8259) in one pass and notes where its values stand.
struct JSONTextReader {
    private(set) var nodes: [JSONText.Node] = []
    private var place = 0
    private var hasWide = false

    /// - Parameter count: Bytes of the text.
    init(count: Int) {
        // A value of a delivery takes a dozen bytes or more, with its name and what stands round it.
        nodes.reserveCapacity(count / 12 + 8)
    }

    /// A number with at most this many digits is an integer of 64 bits without a further look.
    private static let plainDigitsMax = 18

    /// False when the bytes are no JSON text.
    mutating func read(_ text: borrowing Span<UInt8>) -> Bool {
        guard text.count < Int(UInt32.max) else { return false }
        // A mark of the byte order before the text is not part of it (RFC 8259 section 8.1).
        if text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF { place = 3 }
        skipSpace(text)
        guard value(text, depth: 0) else { return false }
        skipSpace(text)
        guard place == text.count else { return false }
        return !hasWide || Self.isUTF8(text)
    }

    private static func isUTF8(_ text: borrowing Span<UInt8>) -> Bool {
        // The bytes are held for the length of the call.
        unsafe text.withUnsafeBufferPointer { unsafe String(validating: $0, as: UTF8.self) != nil }
    }

    @inline(__always)
    private mutating func skipSpace(_ text: borrowing Span<UInt8>) {
        while place < text.count, text[place] <= 0x20 {
            switch text[place] {
            case 0x20, 0x0A, 0x0D, 0x09: place &+= 1
            default: return
            }
        }
    }

    @inline(__always)
    private mutating func take(_ byte: UInt8, _ text: borrowing Span<UInt8>) -> Bool {
        guard place < text.count, text[place] == byte else { return false }
        place &+= 1
        return true
    }

    @inline(__always)
    private mutating func note(_ kind: JSONText.Kind, from start: Int) {
        nodes.append(
            JSONText.Node(
                kind: kind,
                start: UInt32(truncatingIfNeeded: start),
                end: UInt32(truncatingIfNeeded: place),
                next: UInt32(truncatingIfNeeded: nodes.count &+ 1)
            )
        )
    }

    private mutating func value(_ text: borrowing Span<UInt8>, depth: Int) -> Bool {
        guard place < text.count else { return false }
        switch text[place] {
        case UInt8(ascii: "\""): return string(text)
        case UInt8(ascii: "{"): return depth < JSONText.depthMax && object(text, depth: depth)
        case UInt8(ascii: "["): return depth < JSONText.depthMax && list(text, depth: depth)
        case UInt8(ascii: "t"): return word("true", .yes, text)
        case UInt8(ascii: "f"): return word("false", .no, text)
        case UInt8(ascii: "n"): return word("null", .null, text)
        default: return number(text)
        }
    }

    private mutating func object(_ text: borrowing Span<UInt8>, depth: Int) -> Bool {
        let index = nodes.count
        note(.object, from: place)
        place &+= 1
        skipSpace(text)
        if !take(UInt8(ascii: "}"), text) {
            while true {
                guard place < text.count, text[place] == UInt8(ascii: "\""), string(text) else { return false }
                skipSpace(text)
                guard take(UInt8(ascii: ":"), text) else { return false }
                skipSpace(text)
                guard value(text, depth: depth &+ 1) else { return false }
                skipSpace(text)
                if take(UInt8(ascii: "}"), text) { break }
                guard take(UInt8(ascii: ","), text) else { return false }
                skipSpace(text)
            }
        }
        close(index)
        return true
    }

    private mutating func list(_ text: borrowing Span<UInt8>, depth: Int) -> Bool {
        let index = nodes.count
        note(.list, from: place)
        place &+= 1
        skipSpace(text)
        if !take(UInt8(ascii: "]"), text) {
            while true {
                guard value(text, depth: depth &+ 1) else { return false }
                skipSpace(text)
                if take(UInt8(ascii: "]"), text) { break }
                guard take(UInt8(ascii: ","), text) else { return false }
                skipSpace(text)
            }
        }
        close(index)
        return true
    }

    private mutating func close(_ index: Int) {
        nodes[index].end = UInt32(truncatingIfNeeded: place)
        nodes[index].next = UInt32(truncatingIfNeeded: nodes.count)
    }

    private mutating func word(_ word: StaticString, _ kind: JSONText.Kind, _ text: borrowing Span<UInt8>) -> Bool {
        let start = place
        let count = word.utf8CodeUnitCount
        guard place &+ count <= text.count else { return false }
        // A constant's bytes are there as long as the program is.
        for index in 0..<count where unsafe text[start &+ index] != word.utf8Start[index] { return false }
        place &+= count
        note(kind, from: start)
        return true
    }

    // MARK: - Texts

    private mutating func string(_ text: borrowing Span<UInt8>) -> Bool {
        place &+= 1
        let start = place
        var kind = JSONText.Kind.plain
        while true {
            place = Self.endOfPlainText(text, from: place)
            guard place < text.count else { return false }
            switch text[place] {
            case UInt8(ascii: "\""):
                note(kind, from: start)
                place &+= 1
                return true
            case UInt8(ascii: "\\"):
                kind = .escaped
                guard escape(text) else { return false }
            case 0..<0x20: return false
            case 0x80...:
                if kind == .plain { kind = .wide }
                hasWide = true
                place &+= 1
            default: place &+= 1
            }
        }
    }

    /// Goes on eight bytes at a time while none of them is a quote, a backslash, a control character or no ASCII.
    @inline(__always)
    private static func endOfPlainText(_ text: borrowing Span<UInt8>, from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops = ones &* 0x80
        var place = start
        while place &+ 8 <= text.count {
            // The word lies in the text.
            let word = unsafe UInt64(
                littleEndian: text.bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self)
            )
            // A subtraction borrows into a byte's top bit where that byte was smaller; the first such byte is always a
            // true one.
            let quotes = word ^ (ones &* 0x22)
            let slashes = word ^ (ones &* 0x5C)
            let ends =
                ((word &- ones &* 0x20) & ~word | (quotes &- ones) & ~quotes | (slashes &- ones) & ~slashes | word)
                & tops
            if ends != 0 { return place &+ ends.trailingZeroBitCount / 8 }
            place &+= 8
        }
        return place
    }

    private mutating func escape(_ text: borrowing Span<UInt8>) -> Bool {
        place &+= 1
        guard place < text.count else { return false }
        switch text[place] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            place &+= 1
            return true
        case UInt8(ascii: "u"):
            place &+= 1
            guard let unit = unit(text) else { return false }
            // A character past U+FFFF is written as two halves, and a half alone is none (section 8.2).
            switch unit {
            case 0xD800..<0xDC00:
                guard take(UInt8(ascii: "\\"), text), take(UInt8(ascii: "u"), text), let second = self.unit(text) else {
                    return false
                }
                return 0xDC00..<0xE000 ~= second
            case 0xDC00..<0xE000: return false
            default: return true
            }
        default: return false
        }
    }

    /// Four hexadecimal digits.
    private mutating func unit(_ text: borrowing Span<UInt8>) -> UInt16? {
        guard place &+ 4 <= text.count else { return nil }
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let digit = Self.hexDigit(text[place]) else { return nil }
            unit = unit << 4 | digit
            place &+= 1
        }
        return unit
    }

    private static func hexDigit(_ byte: UInt8) -> UInt16? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte &- UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte &- UInt8(ascii: "a") &+ 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte &- UInt8(ascii: "A") &+ 10)
        default: nil
        }
    }

    /// What a text says whose escapes were found right.
    static func unescape(_ written: ArraySlice<UInt8>) -> String {
        var units: [UInt8] = []
        units.reserveCapacity(written.count)
        var rest = written[...]
        func scalar(_ rest: inout ArraySlice<UInt8>) -> UInt32 {
            defer { rest = rest.dropFirst(4) }
            return rest.prefix(4).reduce(0) { $0 << 4 | UInt32(hexDigit($1) ?? 0) }
        }
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() else {
                units.append(byte)
                continue
            }
            switch escaped {
            case UInt8(ascii: "b"): units.append(0x08)
            case UInt8(ascii: "f"): units.append(0x0C)
            case UInt8(ascii: "n"): units.append(0x0A)
            case UInt8(ascii: "r"): units.append(0x0D)
            case UInt8(ascii: "t"): units.append(0x09)
            case UInt8(ascii: "u"):
                var value = scalar(&rest)
                if 0xD800..<0xDC00 ~= value {
                    rest = rest.dropFirst(2)
                    value = 0x10000 + (value - 0xD800) << 10 + (scalar(&rest) & 0x3FF)
                }
                if let character = Unicode.Scalar(value) { units += UTF8.encode(character) ?? .init() }
            default: units.append(escaped)
            }
        }
        return String(decoding: units, as: UTF8.self)
    }

    // MARK: - Numbers

    private mutating func number(_ text: borrowing Span<UInt8>) -> Bool {
        let start = place
        _ = take(UInt8(ascii: "-"), text)
        let first = place
        guard let digits = digits(text), digits == 1 || text[first] != UInt8(ascii: "0") else { return false }
        var isPlain = digits <= Self.plainDigitsMax
        if take(UInt8(ascii: "."), text) {
            isPlain = false
            guard self.digits(text) != nil else { return false }
        }
        if take(UInt8(ascii: "e"), text) || take(UInt8(ascii: "E"), text) {
            isPlain = false
            if !take(UInt8(ascii: "+"), text) { _ = take(UInt8(ascii: "-"), text) }
            guard self.digits(text) != nil else { return false }
        }
        if !isPlain {
            // The bytes are held for the length of the call, and the range is in them.
            let written = unsafe text.withUnsafeBufferPointer { bytes in
                unsafe String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<place]), as: UTF8.self)
            }
            guard Self.number(written) != nil else { return false }
        }
        note(isPlain ? .integer : .number, from: start)
        return true
    }

    private mutating func digits(_ text: borrowing Span<UInt8>) -> Int? {
        let start = place
        while place < text.count, text[place] &- 0x30 < 10 { place &+= 1 }
        return place > start ? place &- start : nil
    }

    /// A number as it is written: an integer where it is one of 64 bits; nil when it is too large for any number.
    static func number(_ written: String) -> JSON? {
        if let integer = Int64(written) { return .integer(integer) }
        guard let number = Double(written), number.isFinite else { return nil }
        return .number(number)
    }
}
