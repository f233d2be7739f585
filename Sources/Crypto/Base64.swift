internal import Foundation

/// Base64 (RFC 4648 sections 4 and 5), by Foundation.
public enum Base64 {
    public static func encode(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }

    /// The URL alphabet without padding, as JSON Web Tokens write it.
    public static func encodeURL(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count / 3 * 4 + 4)
        for character in Data(bytes).base64EncodedData() where character != UInt8(ascii: "=") {
            switch character {
            case UInt8(ascii: "+"): text.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/"): text.append(UInt8(ascii: "_"))
            default: text.append(character)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The standard alphabet; padding may be missing. Nil for anything else.
    public static func decode(_ text: String) -> [UInt8]? {
        let padding = (4 - text.utf8.count % 4) % 4
        guard padding < 3, !text.isEmpty else { return text.isEmpty ? [] : nil }
        return Data(base64Encoded: text + String(repeating: "=", count: padding)).map { [UInt8]($0) }
    }

    /// The URL alphabet without padding and nothing else (RFC 7515 section 2): one text for one value, so that a signed
    /// text has one form. Nil for anything else.
    public static func decodeURL(_ text: some Collection<UInt8>) -> [UInt8]? {
        let text = ContiguousArray(text)
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 2)
        // What is no digit is told by the top bit of its value, and looked at once for four of them.
        let whole = text.count / 4 * 4
        for place in stride(from: 0, to: whole, by: 4) {
            let (first, second) = (urlValues[Int(text[place])], urlValues[Int(text[place + 1])])
            let (third, fourth) = (urlValues[Int(text[place + 2])], urlValues[Int(text[place + 3])])
            guard (first | second | third | fourth) & 0x80 == 0 else { return nil }
            bytes.append(first << 2 | second >> 4)
            bytes.append(second << 4 | third >> 2)
            bytes.append(third << 6 | fourth)
        }
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for character in text[whole...] {
            let value = urlValues[Int(character)]
            guard value & 0x80 == 0 else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
                bits &= (1 << count) - 1
            }
        }
        // What is left over of the last digit is zero in the one right spelling.
        return bits == 0 ? bytes : nil
    }

    /// The value of each byte as a digit; 255 for what is none.
    private static let urlValues: [UInt8] = (0...UInt8.max).map { value(ofURL: $0).map { UInt8($0) } ?? 255 }

    private static func value(ofURL character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a") + 26)
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0") + 52)
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
