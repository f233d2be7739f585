internal import Glibc

/// A moment on the clock that never steps back (`CLOCK_MONOTONIC`), in nanoseconds since an arbitrary start.
///
/// For time limits. It says nothing about the date, and is not comparable between machines or boots.
public struct MonotonicNanos: Comparable, Sendable, Hashable {
    /// Nanoseconds since the clock's start.
    public var value: UInt64

    /// A moment at `value` nanoseconds since the clock's start.
    public init(value: UInt64) {
        self.value = value
    }

    /// The moment now.
    public static func now() -> MonotonicNanos {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicNanos(value: UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
    }

    /// The moment `nanoseconds` later; negative counts as zero, and the far future stays the far future.
    public func adding(nanoseconds: Int) -> MonotonicNanos {
        let (sum, overflow) = value.addingReportingOverflow(UInt64(max(0, nanoseconds)))
        return MonotonicNanos(value: overflow ? .max : sum)
    }

    /// The moment `milliseconds` later; see `adding(nanoseconds:)`.
    public func adding(milliseconds: Int) -> MonotonicNanos {
        adding(units: milliseconds, nanosecondsEach: 1_000_000)
    }

    /// The moment `seconds` later; see `adding(nanoseconds:)`.
    public func adding(seconds: Int) -> MonotonicNanos {
        adding(units: seconds, nanosecondsEach: 1_000_000_000)
    }

    /// Nanoseconds from `earlier` to this moment, zero when `earlier` is not earlier.
    public func nanoseconds(since earlier: MonotonicNanos) -> UInt64 {
        value > earlier.value ? value &- earlier.value : 0
    }

    public static func < (left: MonotonicNanos, right: MonotonicNanos) -> Bool {
        left.value < right.value
    }

    private func adding(units: Int, nanosecondsEach: Int) -> MonotonicNanos {
        let (nanoseconds, overflow) = units.multipliedReportingOverflow(by: nanosecondsEach)
        return adding(nanoseconds: overflow ? (units < 0 ? 0 : .max) : nanoseconds)
    }
}
