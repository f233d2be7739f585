internal import Platform

/// How many requests one loop answered, how, and how long they took. Written by the loop, read by whoever asks.
///
/// On the path of every request: one row of numbers, none of them shared with another writer.
struct RequestMeasurements: Sendable {
    /// Upper bounds of the latency's buckets in microseconds, ascending; one more bucket is above them.
    static let boundsMicros = [
        50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000,
    ]
    /// Statuses by their first digit, from 2 to 5.
    static let classes = 2...5

    private static let bucketCount = boundsMicros.count + 1
    /// Of one route: the classes, the buckets, and the sum of all microseconds.
    private static let width = classes.count + bucketCount + 1

    private let row = CounterRow(count: Route.allCases.count * width)
    private let bounds = boundsMicros

    /// Counts an answer.
    ///
    /// - Parameter nanoseconds: How long it took; nil when the client had asked to wait.
    func add(_ route: Route, status: Int, nanoseconds: UInt64?) {
        let start = Int(route.rawValue) * Self.width
        row.add(1, at: start + min(max(status / 100, Self.classes.lowerBound), Self.classes.upperBound) - 2)
        guard let nanoseconds else { return }
        let micros = Int(clamping: nanoseconds / 1000)
        var bucket = 0
        while bucket < bounds.count, micros > bounds[bucket] { bucket += 1 }
        row.add(1, at: start + Self.classes.count + bucket)
        row.add(micros, at: start + Self.width - 1)
    }

    /// Answers of a route whose status begins with this digit.
    func answers(_ route: Route, statusClass: Int) -> Int {
        row.value(at: Int(route.rawValue) * Self.width + statusClass - Self.classes.lowerBound)
    }

    /// How many answers of a route lie in each bucket, and how many microseconds all took.
    func latency(_ route: Route) -> (buckets: [Int], sumMicros: Int) {
        let start = Int(route.rawValue) * Self.width
        let buckets = (0..<Self.bucketCount).map { row.value(at: start + Self.classes.count + $0) }
        return (buckets, row.value(at: start + Self.width - 1))
    }
}
