internal import Glibc

/// The time of day (`CLOCK_REALTIME`), in milliseconds since 1970-01-01T00:00:00Z without leap seconds.
///
/// It may step either way when the machine's clock is set; use `MonotonicNanos` for time limits.
public func wallClockMillis() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
}

/// A moment as its parts in UTC, by the proleptic Gregorian calendar.
public struct UTCTime: Sendable, Equatable {
    /// The year; 1970 for the moment zero.
    public let year: Int
    /// 1 to 12.
    public let month: Int
    /// 1 to 31.
    public let day: Int
    /// 0 to 23.
    public let hour: Int
    /// 0 to 59.
    public let minute: Int
    /// 0 to 59; a leap second does not show.
    public let second: Int
    /// 0 to 999.
    public let millisecond: Int
    /// 0 is Sunday.
    public let weekday: Int

    /// The parts of the moment `unixMillis` milliseconds after 1970-01-01T00:00:00Z; negative is earlier.
    public init(unixMillis: Int64) {
        let millisOfDay = Self.remainder(unixMillis, 86_400_000)
        let days = (unixMillis - millisOfDay) / 86_400_000
        millisecond = Int(millisOfDay % 1_000)
        second = Int(millisOfDay / 1_000 % 60)
        minute = Int(millisOfDay / 60_000 % 60)
        hour = Int(millisOfDay / 3_600_000)
        weekday = Int(Self.remainder(days + 4, 7))

        // Counting years from 1 March puts the leap day last, so that a month's start needs no table. An era is the 400
        // years (146,097 days) after which the calendar repeats; day 0 of era 0 is 0000-03-01, 719,468 days before
        // 1970.
        let shifted = days + 719_468
        let dayOfEra = Self.remainder(shifted, 146_097)
        let era = (shifted - dayOfEra) / 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
        month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
        year = Int(era * 400 + yearOfEra) + (monthFromMarch < 10 ? 0 : 1)
    }

    /// The remainder that is never negative.
    private static func remainder(_ value: Int64, _ divisor: Int64) -> Int64 {
        let rest = value % divisor
        return rest < 0 ? rest + divisor : rest
    }
}
