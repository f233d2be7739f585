import Glibc

/// Which of two pieces of work takes longer, on a machine that does other things as well.
public enum TimingComparison {
    /// How many times as long `one` takes as `other`: the ratio of the two medians. Each round measures both, and which of them
    /// is first changes with every round, so that what else the machine does weighs on both.
    public static func ratio(rounds: Int = 301, _ one: () -> Void, _ other: () -> Void) -> Double {
        var (first, second): ([UInt64], [UInt64]) = ([], [])
        for round in 0..<rounds {
            if round % 2 == 0 {
                first.append(nanoseconds(one))
                second.append(nanoseconds(other))
            } else {
                second.append(nanoseconds(other))
                first.append(nanoseconds(one))
            }
        }
        return Double(median(first)) / Double(max(1, median(second)))
    }

    /// Whether the two take the same time, within `tolerance`. Work whose time differs by more than that never does; work of
    /// one time may be disturbed, so it is tried again.
    public static func isEven(tolerance: Double = 0.1, attempts: Int = 8, _ one: () -> Void, _ other: () -> Void)
        -> Bool
    {
        (0..<attempts).contains { _ in abs(ratio(one, other) - 1) < tolerance }
    }

    private static func median(_ values: [UInt64]) -> UInt64 { values.sorted()[values.count / 2] }

    /// Time of this thread on a processor: waiting for one is not in it.
    private static func nanoseconds(_ work: () -> Void) -> UInt64 {
        let start = threadTime()
        work()
        return threadTime() - start
    }

    private static func threadTime() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
