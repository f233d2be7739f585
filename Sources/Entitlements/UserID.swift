/// The seller's own id of a person.
///
/// Any valid UTF-8 of 1 to 255 bytes without control characters or white space at its ends, not `.` or `..` (proxies fold
/// them in a path), none of the words that stand for nobody, and no anonymous id of RevenueCat. A UUID is kept in
/// lower case, because stores and databases disagree about the case of the same UUID.
public struct UserID: Hashable, Comparable, Sendable {
    public let value: String

    /// Longest accepted id in bytes: longer ones do not fit the index keys of every database.
    public static let bytesMax = 255

    /// Words that SDKs send when there is no user; each would collect the purchases of many people. In any case of letters.
    static let blocked: Set<String> = [
        "null", "none", "nil", "undefined", "unknown", "anonymous", "guest", "0", "-1", "[]", "{}", "[object object]",
        "nan", "(null)", "no_user", "unidentified", "",
    ]

    /// RevenueCat's name for somebody who has not signed in. What they bought waits for a link to a user.
    public static let anonymousPrefix = "$RCAnonymousID:"

    /// No word of `blocked` is longer.
    static let longestBlocked = 15

    /// Nil when the text is no user id.
    public init?(_ text: String) {
        var text = text
        let count = text.utf8.count
        guard count >= 1, count <= UserID.bytesMax else { return nil }
        guard !text.utf8.starts(with: UserID.anonymousPrefix.utf8) else { return nil }
        // Most ids are visible ASCII and longer than any word that is refused: then only a UUID's case is to be looked at.
        if text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) {
            if count <= UserID.longestBlocked {
                let names = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
                    // The bytes are held for the length of the call.
                    unsafe !UserID.namesNobody(bytes.span)
                }
                guard names ?? !UserID.namesNobody(Array(text.utf8).span) else { return nil }
            } else if count == 36, text.utf8.contains(where: { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "F") }),
                UserID.isUUID(Array(text.utf8))
            {
                text = text.lowercased()
            }
            value = text
            return
        }
        guard text != ".", text != ".." else { return nil }
        guard let first = text.unicodeScalars.first, let last = text.unicodeScalars.last,
            !first.properties.isWhitespace, !last.properties.isWhitespace
        else { return nil }
        for scalar in text.unicodeScalars where scalar.properties.generalCategory == .control {
            return nil
        }
        guard !UserID.blocked.contains(text.lowercased()) else { return nil }
        if count == 36, UserID.isUUID(Array(text.utf8)) {
            text = text.lowercased()
        }
        value = text
    }

    /// Whether visible ASCII of at most 16 bytes is one of the words that stand for nobody, or a step of a path.
    public static func namesNobody(_ bytes: Span<UInt8>) -> Bool {
        let word = ShortWord(bytes)
        for refused in refusedWords where refused == word { return true }
        return false
    }

    private static let refusedWords = (blocked + [".", ".."]).map { ShortWord(Array($0.utf8).span) }

    /// At most 16 bytes as two numbers, letters in lower case.
    private struct ShortWord: Equatable {
        private var first: UInt64 = 0
        private var second: UInt64 = 0

        init(_ bytes: Span<UInt8>) {
            for index in bytes.indices {
                let byte = bytes[index]
                let isCapital = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
                (first, second) = (first << 8 | second >> 56, second << 8 | UInt64(isCapital ? byte | 0x20 : byte))
            }
        }
    }

    /// For values that were checked when they were written.
    public init(unchecked value: String) {
        self.value = value
    }

    /// What stands where an erased person was named: no text that ``init(_:)`` accepts, so nobody can ever be it.
    public static func erased(mark: String) -> UserID {
        UserID(unchecked: erasedPrefix + mark)
    }

    private static let erasedPrefix = "\u{0}erased:"

    /// Whether this stands for a person who was erased: an owner, but nobody to answer for.
    public var isErased: Bool { value.utf8.starts(with: UserID.erasedPrefix.utf8) }

    /// Bytes decide, as they do in a database: two ways to write the same letter are two ids.
    public static func == (left: UserID, right: UserID) -> Bool {
        let isSame: Bool?? = unsafe left.value.utf8.withContiguousStorageIfAvailable { left in
            unsafe right.value.utf8.withContiguousStorageIfAvailable { right in
                unsafe left.count == right.count
                    && UnsafeRawBufferPointer(left).elementsEqual(UnsafeRawBufferPointer(right))
            }
        }
        return (isSame ?? nil) ?? left.value.utf8.elementsEqual(right.value.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        // The text itself would be hashed by its letters, however they are written.
        hasher.combine(value.utf8.count)
        let isDone: Void? = unsafe value.utf8.withContiguousStorageIfAvailable { bytes in
            unsafe hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
        }
        if isDone == nil { for byte in value.utf8 { hasher.combine(byte) } }
    }

    public static func < (left: UserID, right: UserID) -> Bool {
        left.value.utf8.lexicographicallyPrecedes(right.value.utf8)
    }

    /// 8-4-4-4-12 hexadecimal digits (RFC 9562 section 4).
    public static func isUUID(_ bytes: [UInt8]) -> Bool {
        guard bytes.count == 36 else { return false }
        for (index, byte) in bytes.enumerated() {
            if index == 8 || index == 13 || index == 18 || index == 23 {
                if byte != UInt8(ascii: "-") { return false }
            } else {
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                    UInt8(ascii: "A")...UInt8(ascii: "F"):
                    continue
                default: return false
                }
            }
        }
        return true
    }
}
