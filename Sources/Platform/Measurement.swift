internal import Synchronization

/// A number that only grows; any thread may add to it and read it.
public final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    public init() {}

    public func add(_ amount: Int = 1) {
        count.wrappingAdd(amount, ordering: .relaxed)
    }

    public var value: Int { count.load(ordering: .relaxed) }
}

/// A number that goes up and down.
public final class Gauge: Sendable {
    private let level = Atomic<Int>(0)

    public init() {}

    public func set(_ value: Int) {
        level.store(value, ordering: .relaxed)
    }

    public var value: Int { level.load(ordering: .relaxed) }
}

/// How often a measured value lay within each of several bounds; any thread may add to it.
public final class Histogram: Sendable {
    /// Upper bounds, ascending; one more bucket holds what is above the last.
    public let bounds: [Int]
    private let buckets: [Counter]
    private let total = Counter()

    public init(bounds: [Int]) {
        self.bounds = bounds
        buckets = (0...bounds.count).map { _ in Counter() }
    }

    public func add(_ value: Int) {
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        buckets[index].add()
        total.add(value)
    }

    /// How many values there were in each bucket, the last one for those above every bound.
    public var counts: [Int] { buckets.map(\.value) }

    /// The sum of all values.
    public var sum: Int { total.value }
}
