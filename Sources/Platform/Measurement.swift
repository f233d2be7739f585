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

/// Numbers that only grow, side by side, for one thread that adds to them and any number that read them.
///
/// Adding is a plain load and store: no lock, no bus-locked instruction, no allocation, so it may stand on the path of
/// every request.
@safe
public final class CounterRow: @unchecked Sendable {
    // The cells are atomic, and lie at one place from `init` to `deinit`: any thread may read them meanwhile.
    private let cells: UnsafeMutablePointer<Atomic<Int>>
    /// How many numbers there are.
    public let count: Int

    /// `count` zeros.
    public init(count: Int) {
        self.count = count
        unsafe cells = .allocate(capacity: count)
        for index in 0..<count { unsafe (cells + index).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe cells.deinitialize(count: count)
        unsafe cells.deallocate()
    }

    /// Adds to one number. Only ever to be called by the one thread that this row belongs to.
    public func add(_ amount: Int, at index: Int) {
        precondition(index >= 0 && index < count)
        unsafe cells[index].store(cells[index].load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    }

    /// The number as any thread sees it.
    public func value(at index: Int) -> Int {
        precondition(index >= 0 && index < count)
        return unsafe cells[index].load(ordering: .relaxed)
    }
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
