internal import Entitlements
internal import HTTPServer

/// Percent-decoding (RFC 3986 section 2.1) and the parts of a request's path and query.
enum RequestTarget {
    /// Appends the decoded bytes; the server has already refused a `%` without two digits.
    static func decode(_ bytes: UnsafeRawBufferPointer, plusIsSpace: Bool = false, into out: inout [UInt8]) {
        var index = 0
        // What stands for itself is copied in one piece: in most ids that is all of them.
        var start = 0
        while index < bytes.count {
            if index &+ 8 <= bytes.count,
                unsafe standsForItself(bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            {
                index &+= 8
                continue
            }
            let byte = unsafe bytes[index]
            if byte == UInt8(ascii: "%"), index + 2 < bytes.count {
                let (high, low) = unsafe (digit(bytes[index + 1]), digit(bytes[index + 2]))
                if let high, let low {
                    unsafe out.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[start..<index]))
                    out.append(high << 4 | low)
                    index += 3
                    start = index
                    continue
                }
            }
            if plusIsSpace, byte == UInt8(ascii: "+") {
                unsafe out.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[start..<index]))
                out.append(UInt8(ascii: " "))
                start = index + 1
            }
            index += 1
        }
        unsafe out.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[start...]))
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101

    /// Whether none of eight bytes is `%` or `+`; sometimes false although that is so.
    @inline(__always)
    private static func standsForItself(_ word: UInt64) -> Bool {
        let percents = word ^ (ones &* 0x25)
        let pluses = word ^ (ones &* 0x2b)
        return (((percents &- ones) & ~percents) | ((pluses &- ones) & ~pluses)) & (ones &* 0x80) == 0
    }

    /// Whether all bytes are visible ASCII, and whether one of them is a letter from A to F. Eight bytes at a time: none of
    /// the sums carries over from one byte to the next where all are ASCII, and elsewhere the second answer is not used.
    fileprivate static func signs(in bytes: UnsafeRawBufferPointer) -> (arePlain: Bool, haveCapitals: Bool) {
        var (odd, capitals): (UInt64, UInt64) = (0, 0)
        func look(_ word: UInt64) {
            // Above 0x7e; below 0x21.
            odd |= word | (word &+ ones)
            odd |= ~((word & (ones &* 0x7f)) &+ ones &* (0x80 - 0x21))
            capitals |= (word &+ ones &* (0x80 - 0x41)) & ~(word &+ ones &* (0x80 - 0x47))
        }
        var index = 0
        while index &+ 8 <= bytes.count {
            look(unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            index &+= 8
        }
        while index < bytes.count {
            look(unsafe ones &* UInt64(bytes[index]))
            index &+= 1
        }
        return (odd & (ones &* 0x80) == 0, capitals & (ones &* 0x80) != 0)
    }

    /// Appends the bytes as one segment of a path: all but the unreserved characters are encoded (RFC 3986 section 2.3).
    static func encode(_ bytes: [UInt8], into out: inout [UInt8]) {
        let digits: StaticString = "0123456789ABCDEF"
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                out.append(byte)
            default:
                out.append(UInt8(ascii: "%"))
                out.append(unsafe digits.utf8Start[Int(byte >> 4)])
                out.append(unsafe digits.utf8Start[Int(byte & 15)])
            }
        }
    }

    static func text(_ bytes: UnsafeRawBufferPointer, plusIsSpace: Bool = false) -> String? {
        var decoded: [UInt8] = []
        unsafe decode(bytes, plusIsSpace: plusIsSpace, into: &decoded)
        return String(validating: decoded, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The value of a query parameter, still encoded; nil when it is not there. The first one counts.
    static func parameter(_ name: StaticString, in query: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var start = 0
        while start < query.count {
            var end = start
            while end < query.count, unsafe query[end] != UInt8(ascii: "&") { end += 1 }
            let count = name.utf8CodeUnitCount
            if end - start > count, unsafe query[start + count] == UInt8(ascii: "=") {
                var isEqual = true
                for index in 0..<count where unsafe query[start + index] != name.utf8Start[index] { isEqual = false }
                if isEqual { return unsafe UnsafeRawBufferPointer(rebasing: query[(start + count + 1)..<end]) }
            }
            start = end + 1
        }
        return nil
    }

    static func equals(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
        guard bytes.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.count where unsafe bytes[index] != text.utf8Start[index] { return false }
        return true
    }

    static func hasPrefix(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
        guard bytes.count >= text.utf8CodeUnitCount else { return false }
        for index in 0..<text.utf8CodeUnitCount where unsafe bytes[index] != text.utf8Start[index] { return false }
        return true
    }
}

extension UserID {
    /// Brings a decoded id into its kept form in place; false when it is none. Makes no text for the ids that most sellers
    /// use: printable ASCII, a UUID or not.
    static func normalize(_ bytes: inout [UInt8]) -> Bool {
        // No word that stands for nobody is longer.
        let longestBlocked = 15
        let seen = unsafe bytes.withUnsafeBytes { unsafe RequestTarget.signs(in: $0) }
        if seen.arePlain, !bytes.isEmpty, bytes.count <= UserID.bytesMax {
            if bytes.count <= longestBlocked {
                // The prefix alone is as long as that.
                return !UserID.namesNobody(bytes.span) && !bytes.starts(with: UserID.anonymousPrefix.utf8)
            }
            // Only capital letters of a UUID would be changed.
            guard bytes.count == 36, seen.haveCapitals, isUUID(bytes) else { return true }
            for index in bytes.indices where bytes[index] >= UInt8(ascii: "A") && bytes[index] <= UInt8(ascii: "F") {
                bytes[index] |= 0x20
            }
            return true
        }
        guard let text = String(validating: bytes, as: UTF8.self), let user = UserID(text) else { return false }
        if user.value.utf8.count != bytes.count || !user.value.utf8.elementsEqual(bytes) {
            bytes = Array(user.value.utf8)
        }
        return true
    }
}
