/// One record of a CSV file: its fields without their quotes.
public struct CSVRecord: Sendable {
    /// The line it begins at, counted from 1.
    public var line = 1
    var bytes: [UInt8] = []
    /// Where each field ends in `bytes`.
    var ends: [Int] = []

    public init() {}

    public var count: Int { ends.count }

    /// A field as text; broken UTF-8 is mended.
    public subscript(index: Int) -> String {
        String(decoding: bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]], as: UTF8.self)
    }

    /// Every byte of every field, and where they end: two records with the same fields have the same.
    public var content: [UInt8] {
        var content: [UInt8] = []
        content.reserveCapacity(bytes.count + ends.count)
        var start = 0
        for end in ends {
            content += bytes[start..<end]
            // A byte that no UTF-8 text has.
            content.append(0xff)
            start = end
        }
        return content
    }
}

/// Reads CSV (RFC 4180) piece by piece: fields in quotes with commas, line ends and doubled quotes in them; lines that end
/// in LF, CR LF or CR; empty lines are left out; a byte order mark at the beginning is, too.
public struct CSVReader {
    /// A record longer than this is no record of subscribers.
    public static let recordBytesMax = 1 << 20

    /// What cannot be read as CSV.
    public struct Failure: Error, Sendable {
        public var line: Int
        public var reason: String

        public init(line: Int, reason: String) {
            self.line = line
            self.reason = reason
        }
    }

    private let read: () -> [UInt8]
    private var chunk: [UInt8] = []
    private var place = 0
    private var isEnded = false
    private var line = 1
    private var isAfterReturn = false
    private let separator: UInt8
    /// Bytes taken from the file so far.
    public private(set) var bytesRead = 0

    /// - Parameter read: The next piece of the file; empty at its end.
    public init(separator: UInt8 = UInt8(ascii: ","), read: @escaping () -> [UInt8]) {
        self.separator = separator
        self.read = read
        fill()
        if chunk.starts(with: [0xef, 0xbb, 0xbf]) { place = 3 }
    }

    private mutating func fill() {
        chunk = read()
        place = 0
        bytesRead += chunk.count
        isEnded = chunk.isEmpty
    }

    /// Reads the next record into `record`; false at the end of the file.
    ///
    /// - Throws: When a field in quotes does not end, or a record is too long.
    public mutating func next(into record: inout CSVRecord) throws(Failure) -> Bool {
        while true {
            record.bytes.removeAll(keepingCapacity: true)
            record.ends.removeAll(keepingCapacity: true)
            guard try readRecord(&record) else { return false }
            // A line with nothing on it.
            if record.count > 1 || !record.bytes.isEmpty { return true }
        }
    }

    private mutating func readRecord(_ record: inout CSVRecord) throws(Failure) -> Bool {
        var (isQuoted, wasQuoted, isStarted, mayClose) = (false, false, false, false)
        record.line = line
        while true {
            if place == chunk.count {
                fill()
                if isEnded {
                    if isQuoted, !mayClose { throw Failure(line: record.line, reason: "a quote is never closed") }
                    guard isStarted else { return false }
                    record.ends.append(record.bytes.count)
                    return true
                }
            }
            let byte = chunk[place]
            place += 1
            let isSecondOfPair = isAfterReturn && byte == 0x0a
            isAfterReturn = byte == 0x0d
            if isSecondOfPair, !isQuoted {
                record.line = line
                continue
            }
            if byte == 0x0d || (byte == 0x0a && !isSecondOfPair) { line += 1 }
            if !isStarted {
                isStarted = true
                record.line = byte == 0x0d || byte == 0x0a ? line - 1 : line
            }
            if isQuoted {
                if mayClose {
                    if byte == UInt8(ascii: "\"") {
                        record.bytes.append(byte)
                        mayClose = false
                        continue
                    }
                    (isQuoted, mayClose, wasQuoted) = (false, false, true)
                } else if byte == UInt8(ascii: "\"") {
                    mayClose = true
                    continue
                } else {
                    record.bytes.append(byte)
                    try checkSize(record)
                    continue
                }
            }
            switch byte {
            case separator:
                record.ends.append(record.bytes.count)
                wasQuoted = false
            case 0x0a, 0x0d:
                record.ends.append(record.bytes.count)
                return true
            case UInt8(ascii: "\"") where record.bytes.count == record.ends.last ?? 0 && !wasQuoted:
                isQuoted = true
            default:
                record.bytes.append(byte)
                try checkSize(record)
            }
        }
    }

    private func checkSize(_ record: CSVRecord) throws(Failure) {
        guard record.bytes.count <= Self.recordBytesMax else {
            throw Failure(line: record.line, reason: "the record is longer than 1 MiB; is a quote missing?")
        }
    }
}
