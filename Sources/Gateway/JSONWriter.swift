internal import Entitlements

/// Writes JSON into a buffer that is used again and again.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []

    mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
    }

    mutating func raw(_ text: StaticString) {
        // A static string's bytes live as long as the program.
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// JSON that is written already.
    mutating func raw(_ text: [UInt8]) {
        bytes += text
    }

    /// `"name":`, after a comma when something stands before it.
    mutating func key(_ name: StaticString) {
        separate()
        raw("\"")
        raw(name)
        raw("\":")
    }

    mutating func key(_ name: String) {
        separate()
        string(name)
        raw(":")
    }

    /// A comma, unless this is the first element of its list or object.
    mutating func separate() {
        guard let last = bytes.last, last != UInt8(ascii: "{"), last != UInt8(ascii: "["), last != UInt8(ascii: ":")
        else {
            return
        }
        raw(",")
    }

    mutating func string(_ text: String) {
        raw("\"")
        for byte in text.utf8 { escaped(byte) }
        raw("\"")
    }

    mutating func string(_ text: StaticString) {
        raw("\"")
        raw(text)
        raw("\"")
    }

    mutating func string(_ text: Span<UInt8>) {
        raw("\"")
        for index in 0..<text.count { escaped(text[index]) }
        raw("\"")
    }

    mutating func string(_ text: [UInt8]) {
        raw("\"")
        for byte in text { escaped(byte) }
        raw("\"")
    }

    /// RFC 8259 section 7: quotation mark, reverse solidus and control characters; everything else is UTF-8 as it is.
    private mutating func escaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): raw("\\\"")
        case UInt8(ascii: "\\"): raw("\\\\")
        case 0x0a: raw("\\n")
        case 0x0d: raw("\\r")
        case 0x09: raw("\\t")
        case 0..<0x20:
            let digits: StaticString = "0123456789abcdef"
            raw("\\u00")
            bytes.append(unsafe digits.utf8Start[Int(byte >> 4)])
            bytes.append(unsafe digits.utf8Start[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }

    mutating func integer(_ value: Int64) {
        if value < 0 { raw("-") }
        var rest = value.magnitude
        var divisor: UInt64 = 1
        while rest / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / divisor))
            rest %= divisor
            divisor /= 10
        }
    }

    mutating func bool(_ value: Bool) {
        raw(value ? "true" : "false")
    }

    mutating func null() {
        raw("null")
    }

    mutating func time(_ moment: UnixMillis?) {
        guard let moment else { return null() }
        raw("\"")
        moment.writeRFC3339 { bytes.append($0) }
        raw("\"")
    }

    mutating func optional(_ text: String?) {
        if let text { string(text) } else { null() }
    }
}
