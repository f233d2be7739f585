/// A value of a log field.
public enum LogValue: Sendable, Equatable {
    /// Text; at most 4 KiB of it are written.
    case string(String)
    /// A whole number.
    case integer(Int64)
    /// True or false.
    case boolean(Bool)
}

/// One line of the log: a JSON object (RFC 8259) and a line feed.
struct LogLine {
    /// With the mailbox's capacity this bounds what a log that nobody reads can hold in memory.
    static let stringBytesMax = 4_096

    private(set) var bytes: ContiguousArray<UInt8> = []

    init(unixMillis: Int64, level: StaticString, message: StaticString, fields: [(StaticString, LogValue)]) {
        bytes.reserveCapacity(256)
        append("{\"time\":\"")
        append(UTCTime(unixMillis: unixMillis))
        append("\",\"level\":")
        appendQuoted("\(level)")
        append(",\"message\":")
        appendQuoted("\(message)")
        for (name, value) in fields {
            append(",")
            appendQuoted("\(name)")
            append(":")
            switch value {
            case .string(let text): appendQuoted(text)
            case .integer(let number): append("\(number)")
            case .boolean(let flag): append(flag ? "true" : "false")
            }
        }
        append("}\n")
    }

    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// RFC 3339 with milliseconds: `2027-01-01T00:00:00.000Z`.
    private mutating func append(_ time: UTCTime) {
        append(time.year, digits: 4)
        append("-")
        append(time.month, digits: 2)
        append("-")
        append(time.day, digits: 2)
        append("T")
        append(time.hour, digits: 2)
        append(":")
        append(time.minute, digits: 2)
        append(":")
        append(time.second, digits: 2)
        append(".")
        append(time.millisecond, digits: 3)
        append("Z")
    }

    private mutating func append(_ number: Int, digits: Int) {
        let text = String(number)
        for _ in 0..<max(0, digits - text.utf8.count) { append("0") }
        append(text)
    }

    /// A string of JSON (RFC 8259 §7). A long text is cut between two characters of UTF-8.
    private mutating func appendQuoted(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var count = 0
        for byte in text.utf8 {
            let isContinuation = byte & 0xC0 == 0x80
            if count >= Self.stringBytesMax && !isContinuation {
                append("…")
                break
            }
            count += 1
            switch byte {
            case UInt8(ascii: "\""): append("\\\"")
            case UInt8(ascii: "\\"): append("\\\\")
            case UInt8(ascii: "\n"): append("\\n")
            case UInt8(ascii: "\r"): append("\\r")
            case UInt8(ascii: "\t"): append("\\t")
            case 0..<0x20, 0x7F:
                append(byte < 0x10 ? "\\u000" : "\\u00")
                append(String(byte, radix: 16))
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
