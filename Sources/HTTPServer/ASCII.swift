/// A set of ASCII bytes; no byte from 0x80 on is ever in it.
///
/// The sets are written as masks, since they must be constants; a test compares them with the RFC's words.
struct ByteSet {
    private let low: UInt64
    private let high: UInt64

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let mask = byte < 64 ? low : high
        return byte < 128 && (mask >> UInt64(byte & 63)) & 1 == 1
    }

    /// tchar (RFC 9110 §5.6.2): ALPHA DIGIT and ! # $ % & ' * + - . ^ _ ` | ~
    static var token: ByteSet { ByteSet(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE) }

    /// What a path or query may be made of, "%" included (RFC 3986 §3.3, §3.4): pchar / "/" / "?".
    static var target: ByteSet { ByteSet(low: 0xAFFF_FFF2_0000_0000, high: 0x47FF_FFFE_87FF_FFFF) }

    /// The same without what means something else there: "%" and "?".
    static var plainTarget: ByteSet { ByteSet(low: target.low & ~(1 << 37 | 1 << 63), high: target.high) }

    /// What a Host value may be made of (RFC 3986 §3.2.2, §3.2.3): reg-name, IP-literal, port.
    static var host: ByteSet { ByteSet(low: 0x2FFF_7FF2_0000_0000, high: 0x47FF_FFFE_AFFF_FFFE) }
}

/// ASCII, byte by byte.
enum ASCII {
    /// A to Z become a to z, every other byte stays (unlike masking, which also pairs punctuation).
    @inline(__always)
    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    @inline(__always)
    static func isDigit(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10
    }

    /// The value of a hexadecimal digit, nil for another byte.
    @inline(__always)
    static func hexValue(_ byte: UInt8) -> Int? {
        if isDigit(byte) { return Int(byte &- 0x30) }
        let letter = lowercased(byte) &- 0x61
        return letter < 6 ? Int(letter) + 10 : nil
    }

    /// Whether `bytes[range]` is `text`, upper and lower case being the same.
    static func equals(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        var position = 0
        while position < range.count {
            let left = lowercased(bytes[range.lowerBound &+ position])
            let right = unsafe lowercased(text.utf8Start[position])
            if left != right { return false }
            position &+= 1
        }
        return true
    }
}
