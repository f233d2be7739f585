public import Entitlements

/// A line that cannot be brought in, and why.
public struct ImportFailure: Error, Sendable {
    public var reason: String

    public init(_ reason: String) {
        self.reason = reason
    }
}

/// How the lines of a provider's export become events.
public protocol ImportFormat: Sendable {
    /// Columns without which nothing can be brought in.
    var columns: [String] { get }
    /// The events a line stands for, with the provider they are of.
    func events(of row: ImportRow) throws(ImportFailure) -> [(provider: ProviderID, event: NormalizedEvent)]
}

/// A line of a file with a header: fields by the name of their column, without regard to case.
public struct ImportRow {
    public var record: CSVRecord
    private let places: [String: Int]
    /// Names of the columns as the file has them.
    public let header: [String]

    public init(header record: CSVRecord) {
        self.record = record
        var places: [String: Int] = [:]
        var header: [String] = []
        for index in 0..<record.count {
            let name = Self.trimmed(record[index])
            header.append(name)
            if places[name.lowercased()] == nil { places[name.lowercased()] = index }
        }
        self.places = places
        self.header = header
    }

    /// - Parameter column: In lower case.
    public func has(_ column: String) -> Bool { places[column] != nil }

    /// The field, nil when it is empty or the file has no such column.
    ///
    /// - Parameter column: In lower case.
    public func text(_ column: String) -> String? {
        guard let place = places[column], place < record.count else { return nil }
        let text = Self.trimmed(record[place])
        return text.isEmpty ? nil : text
    }

    public func required(_ column: String) throws(ImportFailure) -> String {
        guard let text = text(column) else { throw ImportFailure("\(column) is missing") }
        return text
    }

    public func flag(_ column: String) throws(ImportFailure) -> Bool? {
        guard let text = text(column) else { return nil }
        switch text.lowercased() {
        case "true", "t", "yes", "1": return true
        case "false", "f", "no", "0": return false
        default: throw ImportFailure("\(column) is neither true nor false")
        }
    }

    /// A moment: RFC 3339, a date, a date and a time in UTC, or seconds or milliseconds since 1970.
    public func time(_ column: String) throws(ImportFailure) -> UnixMillis? {
        try text(column).map { text throws(ImportFailure) in try Self.moment(text, column).moment }
    }

    /// The moment at which something ends: where the file gives a minute or a day only, its last one is meant, because a
    /// paid period is never cut short.
    public func end(_ column: String) throws(ImportFailure) -> UnixMillis? {
        guard let text = text(column) else { return nil }
        let (moment, precision) = try Self.moment(text, column)
        return moment.adding(millis: precision)
    }

    private static func moment(
        _ text: String,
        _ column: String
    ) throws(ImportFailure) -> (moment: UnixMillis, precision: Int64) {
        if let moment = UnixMillis(rfc3339: text) { return (moment.clamped, 0) }
        let precision: (form: String, millis: Int64)? =
            switch text.utf8.count {
            case 10 where text.contains("-"): (text + "T00:00:00Z", UnixMillis.millisPerDay)
            case 16: (text + ":00Z", 60_000)
            case 19...: (text + "Z", 0)
            default: nil
            }
        if let precision, let moment = UnixMillis(rfc3339: precision.form) {
            return (moment.clamped, precision.millis)
        }
        if let number = Int64(text), number > 0 {
            // Seconds have ten digits from 2001 to 2286.
            let moment = UnixMillis(number < 100_000_000_000 ? number * 1000 : number)
            if moment == moment.clamped { return (moment, 0) }
        }
        throw ImportFailure("\(column) is no time (2027-01-01T00:00:00Z)")
    }

    /// The parts of a list, split by semicolons.
    public func list(_ column: String) -> [String] {
        (text(column) ?? "").split(separator: ";").map { Self.trimmed(String($0)) }.filter { !$0.isEmpty }
    }

    private static func trimmed(_ text: String) -> String {
        // Most fields begin and end with a visible character of ASCII.
        if let first = text.utf8.first, let last = text.utf8.last, (0x21..<0x7f).contains(first),
            (0x21..<0x7f).contains(last)
        {
            return text
        }
        guard let first = text.unicodeScalars.first, let last = text.unicodeScalars.last,
            first.properties.isWhitespace || last.properties.isWhitespace
        else { return text }
        var scalars = text.unicodeScalars[...]
        while scalars.first?.properties.isWhitespace == true { scalars.removeFirst() }
        while scalars.last?.properties.isWhitespace == true { scalars.removeLast() }
        return String(scalars)
    }
}
