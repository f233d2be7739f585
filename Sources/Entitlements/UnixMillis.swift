/// A moment: milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
///
/// The one unit of time inside the product. A provider's seconds, milliseconds and RFC 3339 texts become this at the edge.
public struct UnixMillis: Hashable, Comparable, Sendable {
    public var value: Int64

    public init(_ value: Int64) {
        self.value = value
    }

    /// The latest moment the product writes as a date: the last millisecond of year 9999 (RFC 3339 has four-digit years).
    public static let latest = UnixMillis(253_402_300_799_999)
    /// The earliest moment the product accepts: year 1 (RFC 3339 has no year before it).
    public static let earliest = UnixMillis(-62_135_596_800_000)

    public static let millisPerDay: Int64 = 86_400_000

    public static func < (left: UnixMillis, right: UnixMillis) -> Bool {
        left.value < right.value
    }

    /// The moment `days` of 24 hours later; stays within the range that can be written as a date.
    public func adding(days: Int) -> UnixMillis {
        let (span, overflow) = Int64(days).multipliedReportingOverflow(by: UnixMillis.millisPerDay)
        guard !overflow else { return days < 0 ? .earliest : .latest }
        return adding(millis: span)
    }

    /// The moment `millis` later; stays within the range that can be written as a date.
    public func adding(millis: Int64) -> UnixMillis {
        let (sum, overflow) = value.addingReportingOverflow(millis)
        guard !overflow else { return millis < 0 ? .earliest : .latest }
        return UnixMillis(sum).clamped
    }

    /// The same moment, or the nearest one that can be written as a date.
    public var clamped: UnixMillis {
        min(max(self, .earliest), .latest)
    }
}
