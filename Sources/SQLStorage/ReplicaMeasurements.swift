package import Platform
internal import Synchronization

/// What is known of a copy of the database that answers reads; told by the threads that ask it, read by anyone.
package final class ReplicaMeasurements: Sendable {
    /// Rows that the copy has answered, and rows that were asked of the primary.
    package let rowsOfReplica = Counter()
    package let rowsOfPrimary = Counter()
    /// Answers of the copy that were asked of the primary once more before anybody was told.
    package let confirmations = Counter()
    /// Nanoseconds of the clock at which the copy was whole; 0 where that is not known.
    private let wholeAt = Atomic<UInt64>(0)
    private let isUsed = Atomic<Bool>(false)

    package init() {}

    /// - Parameter wholeAt: The latest moment up to which the copy is known to hold everything; nil when it is not known.
    package func note(wholeAt: MonotonicNanos?, isUsed: Bool) {
        self.wholeAt.store(wholeAt?.value ?? 0, ordering: .relaxed)
        self.isUsed.store(isUsed, ordering: .relaxed)
    }

    /// How far the copy may be behind, in seconds; nil where that is not known.
    package var lagSeconds: Double? {
        let moment = wholeAt.load(ordering: .relaxed)
        guard moment > 0 else { return nil }
        return Double(MonotonicNanos.now().nanoseconds(since: MonotonicNanos(value: moment))) / 1e9
    }

    /// Whether reads go to the copy.
    package var isInUse: Bool { isUsed.load(ordering: .relaxed) }
}
