/// RFC 3339 texts of moments: read in every form the standard allows, written in one
/// (`2027-01-01T00:00:00.000Z`: UTC, milliseconds).
extension UnixMillis {
    /// Length of the written form in bytes.
    public static let rfc3339Size = 24

    /// Reads `date-time` of RFC 3339 section 5.6: a fraction of any length (cut to milliseconds), `Z` or an offset,
    /// letters in either case. Nil for anything else, also for days and hours that do not exist; second 60 is read as the
    /// next minute's first moment.
    public init?(rfc3339 text: String) {
        let read = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            // The bytes are held for the length of the call.
            unsafe UnixMillis(rfc3339: bytes.span)
        }
        guard let moment = read ?? UnixMillis(rfc3339: Array(text.utf8)) else { return nil }
        self = moment
    }

    public init?(rfc3339 bytes: [UInt8]) {
        self.init(rfc3339: bytes.span)
    }

    public init?(rfc3339 bytes: Span<UInt8>) {
        var reader = DigitReader(bytes)
        guard let year = reader.digits(4), reader.skip("-"), let month = reader.digits(2), reader.skip("-"),
            let day = reader.digits(2), reader.skip("T") || reader.skip("t") || reader.skip(" "),
            let hour = reader.digits(2), reader.skip(":"), let minute = reader.digits(2), reader.skip(":"),
            let second = reader.digits(2)
        else { return nil }
        var millis: Int64 = 0
        if reader.skip(".") {
            guard let fraction = reader.fraction() else { return nil }
            millis = fraction
        }
        var offset: Int64 = 0
        if !reader.skip("Z"), !reader.skip("z") {
            let isEast = reader.skip("+")
            guard isEast || reader.skip("-"), let hours = reader.digits(2), reader.skip(":"),
                let minutes = reader.digits(2), hours < 24, minutes < 60
            else { return nil }
            offset = (hours * 60 + minutes) * (isEast ? 1 : -1)
        }
        guard reader.isAtEnd, (1...12).contains(month), day >= 1, day <= Calendar.days(inMonth: month, of: year),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = Calendar.daysSinceEpoch(year: year, month: month, day: day)
        let seconds = days * 86_400 + hour * 3600 + (minute - offset) * 60 + second
        self.init(seconds * 1000 + millis)
    }

    /// The written form.
    public var rfc3339: String {
        unsafe String(unsafeUninitializedCapacity: UnixMillis.rfc3339Size) { buffer in
            unsafe writeRFC3339(into: UnsafeMutableRawBufferPointer(buffer))
            return UnixMillis.rfc3339Size
        }
    }

    /// Writes the written form to the first ``rfc3339Size`` bytes of `out`, which must have room for them.
    public func writeRFC3339(into out: UnsafeMutableRawBufferPointer) {
        precondition(out.count >= UnixMillis.rfc3339Size)
        let moment = clamped.value
        var days = moment / UnixMillis.millisPerDay
        var rest = moment % UnixMillis.millisPerDay
        if rest < 0 {
            rest += UnixMillis.millisPerDay
            days -= 1
        }
        let (year, month, day) = Calendar.date(daysSinceEpoch: days)
        // Parts of a day and of a date are small: 32 bits divide faster than 64.
        let millis = UInt32(truncatingIfNeeded: rest)
        func two(_ value: UInt32, _ place: Int) {
            unsafe out[place] = UInt8(truncatingIfNeeded: 0x30 &+ value / 10)
            unsafe out[place &+ 1] = UInt8(truncatingIfNeeded: 0x30 &+ value % 10)
        }
        let years = UInt32(truncatingIfNeeded: year)
        two(years / 100, 0)
        two(years % 100, 2)
        unsafe out[4] = UInt8(ascii: "-")
        two(UInt32(truncatingIfNeeded: month), 5)
        unsafe out[7] = UInt8(ascii: "-")
        two(UInt32(truncatingIfNeeded: day), 8)
        unsafe out[10] = UInt8(ascii: "T")
        two(millis / 3_600_000, 11)
        unsafe out[13] = UInt8(ascii: ":")
        two(millis / 60_000 % 60, 14)
        unsafe out[16] = UInt8(ascii: ":")
        two(millis / 1000 % 60, 17)
        unsafe out[19] = UInt8(ascii: ".")
        unsafe out[20] = UInt8(truncatingIfNeeded: 0x30 &+ millis % 1000 / 100)
        two(millis % 100, 21)
        unsafe out[23] = UInt8(ascii: "Z")
    }
}

/// The proleptic Gregorian calendar as RFC 3339 uses it, by whole days.
private enum Calendar {
    static func isLeap(_ year: Int64) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    static func days(inMonth month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Years begin in March here, so that the leap day is the last day of a year.
    static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    static func date(daysSinceEpoch days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}

private struct DigitReader: ~Escapable {
    private let bytes: Span<UInt8>
    private var place = 0

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { place == bytes.count }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard place < bytes.count, bytes[place] == UInt8(ascii: character) else { return false }
        place += 1
        return true
    }

    mutating func digits(_ count: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// Milliseconds of a fraction of one digit or more; what is finer is cut off.
    mutating func fraction() -> Int64? {
        var (millis, scale, count): (Int64, Int64, Int) = (0, 100, 0)
        while let digit = digit() {
            millis += digit * scale
            scale /= 10
            count += 1
        }
        return count > 0 ? millis : nil
    }

    private mutating func digit() -> Int64? {
        guard place < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[place]) else { return nil }
        defer { place += 1 }
        return Int64(bytes[place] - UInt8(ascii: "0"))
    }
}
