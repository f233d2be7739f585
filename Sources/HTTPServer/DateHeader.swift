internal import Platform

/// The `Date` field of every answer (RFC 9110 §6.6.1), written once a second and copied from then on.
final class DateHeader {
    private static let days: [StaticString] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private let line = ByteBuffer(capacity: 64)
    private var validUntil = MonotonicNanos(value: 0)

    /// Writes the field anew when its second is over.
    @inline(__always)
    func refresh(now: MonotonicNanos) {
        if now >= validUntil { rewrite(now: now, unixMillis: wallClockMillis()) }
    }

    @inline(never)
    func rewrite(now: MonotonicNanos, unixMillis: Int64) {
        let time = UTCTime(unixMillis: unixMillis)
        validUntil = now.adding(milliseconds: 1_000 - time.millisecond)
        line.removeAll()
        line.append("Date: ")
        line.append(Self.days[time.weekday])
        line.append(", ")
        append(twoDigits: time.day)
        line.append(" ")
        line.append(Self.months[time.month - 1])
        line.append(" ")
        line.append(decimal: time.year)
        line.append(" ")
        append(twoDigits: time.hour)
        line.append(":")
        append(twoDigits: time.minute)
        line.append(":")
        append(twoDigits: time.second)
        line.append(" GMT\r\n")
    }

    func append(to output: ByteBuffer) {
        unsafe output.append(line.readable)
    }

    private func append(twoDigits value: Int) {
        line.append(UInt8(truncatingIfNeeded: 0x30 + value / 10))
        line.append(UInt8(truncatingIfNeeded: 0x30 + value % 10))
    }
}
