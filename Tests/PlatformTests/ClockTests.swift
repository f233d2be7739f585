import Glibc
import Platform
import Testing

@Suite struct ClockTests {
    @Test func monotonicTimeGoesOn() {
        let first = MonotonicNanos.now()
        usleep(2_000)
        #expect(MonotonicNanos.now() >= first.adding(milliseconds: 2))
    }

    @Test func addingSaturates() {
        let moment = MonotonicNanos(value: 5)
        #expect(moment.adding(nanoseconds: 7).value == 12)
        #expect(moment.adding(milliseconds: 2).value == 2_000_005)
        #expect(moment.adding(seconds: 3).value == 3_000_000_005)
        #expect(moment.adding(nanoseconds: -7) == moment)
        #expect(moment.adding(seconds: .min) == moment)
        #expect(MonotonicNanos(value: .max - 1).adding(seconds: 1).value == .max)
        #expect(moment.adding(seconds: .max).value >= UInt64(Int.max))
        #expect(moment.nanoseconds(since: MonotonicNanos(value: 2)) == 3)
        #expect(moment.nanoseconds(since: MonotonicNanos(value: 9)) == 0)
    }

    @Test func wallClockIsUnixTime() {
        let seconds = Int64(time(nil))
        #expect(abs(wallClockMillis() / 1_000 - seconds) <= 1)
    }

    @Test(arguments: [
        (0, "1970-01-01 00:00:00.000 4"), (-1, "1969-12-31 23:59:59.999 3"),
        (951_782_400_000, "2000-02-29 00:00:00.000 2"), (951_868_800_000, "2000-03-01 00:00:00.000 3"),
        (4_107_542_400_000, "2100-03-01 00:00:00.000 1"), (4_107_456_000_000, "2100-02-28 00:00:00.000 0"),
        (1_798_761_600_000, "2027-01-01 00:00:00.000 5"), (784_111_777_042, "1994-11-06 08:49:37.042 0"),
        (-62_135_596_800_000, "1-01-01 00:00:00.000 1"), (253_402_300_799_999, "9999-12-31 23:59:59.999 5"),
    ])
    func utcParts(unixMillis: Int64, text: String) {
        let time = UTCTime(unixMillis: unixMillis)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let millis = String(String(1_000 + time.millisecond).dropFirst())
        let date = "\(time.year)-\(two(time.month))-\(two(time.day))"
        let clock = "\(two(time.hour)):\(two(time.minute)):\(two(time.second)).\(millis)"
        #expect("\(date) \(clock) \(time.weekday)" == text)
    }

    /// The C library agrees for a day in every month of four centuries.
    @Test func utcAgreesWithTheCLibrary() {
        for step in 0..<4_900 {
            let seconds = -2_208_988_800 + step * 2_592_000 + step
            var moment = time_t(seconds)
            var parts = tm()
            gmtime_r(&moment, &parts)
            let time = UTCTime(unixMillis: Int64(seconds) * 1_000)
            #expect(time.year == Int(parts.tm_year) + 1_900 && time.month == Int(parts.tm_mon) + 1)
            #expect(time.day == Int(parts.tm_mday) && time.weekday == Int(parts.tm_wday))
            #expect(time.hour == Int(parts.tm_hour) && time.second == Int(parts.tm_sec))
        }
    }
}
