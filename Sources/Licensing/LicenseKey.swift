internal import Crypto

/// The text a person types: 27 random characters (135 bits) and one that checks them, in four groups.
///
/// The alphabet is Crockford's base 32, without the letters that are mistaken for digits. The check character is Luhn's rule
/// in base 32: it finds every wrong character and nearly every pair changed about. Upper and lower case, blanks and hyphens
/// make no difference, and `O`, `I` and `L` are read as the digits they were meant to be.
public enum LicenseKey {
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    private static let randomCount = 27
    private static let groupSize = 7
    /// Bytes of a key that was sold elsewhere: a shorter one could be guessed, a longer one is none.
    public static let importedBytes = 10...255

    /// A new key.
    public static func make() -> String {
        let values = RandomBytes.make(randomCount).map { Int($0 & 31) }
        return text(of: values + [check(values)])
    }

    /// The key as it is written, for a text that is one of ours; nil for every other and for one with a slip.
    public static func canonical(_ typed: String) -> String? {
        var values: [Int] = []
        for byte in typed.utf8 where byte != UInt8(ascii: "-") && byte != UInt8(ascii: " ") {
            guard values.count <= randomCount, let value = value(of: byte) else { return nil }
            values.append(value)
        }
        guard values.count == randomCount + 1, check(Array(values.dropLast())) == values.last else { return nil }
        return text(of: values)
    }

    /// What is kept of a key. A random key of 135 bits cannot be found from its SHA-256.
    public static func digest(_ key: String) -> [UInt8] {
        Digest.sha256(Array(("license-key:" + key).utf8))
    }

    /// The digests under which a typed key may be kept: as one of ours, and as one that was sold elsewhere.
    public static func digests(ofTyped typed: String) -> [[UInt8]] {
        let trimmed = trimmed(typed)
        guard importedBytes.upperBound >= trimmed.utf8.count else { return [] }
        guard let canonical = canonical(trimmed) else { return [digest(trimmed)] }
        return canonical == trimmed ? [digest(canonical)] : [digest(canonical), digest(trimmed)]
    }

    /// A key that was sold elsewhere, without the blanks round it; nil when it is too short, too long, or not printable.
    public static func imported(_ text: String) -> String? {
        let trimmed = trimmed(text)
        guard importedBytes.contains(trimmed.utf8.count), trimmed.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else {
            return nil
        }
        return canonical(trimmed) ?? trimmed
    }

    /// The last characters, by which a person and a support desk find the key again without telling it.
    public static func hint(_ key: String) -> String {
        String(decoding: key.utf8.suffix(4), as: UTF8.self)
    }

    private static func trimmed(_ text: String) -> String {
        let blank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0a || $0 == 0x0d }
        let bytes = text.utf8.drop(while: blank)
        let count = bytes.reversed().drop(while: blank).count
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    private static func text(of values: [Int]) -> String {
        var bytes: [UInt8] = []
        for (index, value) in values.enumerated() {
            if index > 0, index % groupSize == 0 { bytes.append(UInt8(ascii: "-")) }
            bytes.append(alphabet[value])
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func value(of byte: UInt8) -> Int? {
        let upper = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte - 32 : byte
        switch upper {
        case UInt8(ascii: "O"): return 0
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
        default: return alphabet.firstIndex(of: upper)
        }
    }

    /// Luhn's rule in base 32: every second value from the right is doubled, and its two digits are added.
    private static func check(_ values: [Int]) -> Int {
        var sum = 0
        for (index, value) in values.reversed().enumerated() {
            let addend = index % 2 == 0 ? value * 2 : value
            sum += addend / 32 + addend % 32
        }
        return (32 - sum % 32) % 32
    }
}
