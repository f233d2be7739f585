internal import Synchronization

/// Counts commits, so that a reader knows without a system call whether its snapshot is the newest, and may keep it.
package final class CommitCounter: Sendable {
    private let count = Atomic<Int>(0)
    private let isSnapshotUnwanted = Atomic<Bool>(false)
    /// Which commits wrote which rows.
    let stamps = RowStamps()
    /// Rows that the readers keep for each other; nil when they keep none.
    let rows: RowCache?

    /// - Parameter cacheBytes: What kept rows may take; 0 for none.
    package init(cacheBytes: Int = 0) {
        rows = cacheBytes > 0 ? RowCache(bytes: cacheBytes) : nil
    }

    package var value: Int { count.load(ordering: .acquiring) }

    func increment() {
        count.wrappingAdd(1, ordering: .releasing)
    }

    /// Whether snapshots must end with the read they were taken for: the log of writes is to be begun anew.
    var mustLetGo: Bool { isSnapshotUnwanted.load(ordering: .relaxed) }

    func askReadersToLetGo(_ flag: Bool) {
        isSnapshotUnwanted.store(flag, ordering: .relaxed)
    }
}
