internal import Synchronization

/// How many writes have been taken and not been answered yet, and what the events among them hold in memory.
///
/// The writer empties its mailbox before it writes, so that the mailbox alone says too little about what waits.
final class WaitingWrites: Sendable {
    private let writes = Atomic<Int>(0)
    private let bytes = Atomic<Int>(0)
    private let writesMax: Int
    private let bytesMax: Int

    init(writesMax: Int, bytesMax: Int) {
        self.writesMax = writesMax
        self.bytesMax = bytesMax
    }

    var count: Int { writes.load(ordering: .relaxed) }

    /// Counts one more of this size, unless that is too much. One write alone may be larger than all may be together.
    func enter(bytes count: Int) -> Bool {
        let writesNow = writes.wrappingAdd(1, ordering: .relaxed).newValue
        let bytesNow = bytes.wrappingAdd(count, ordering: .relaxed).newValue
        if writesNow <= writesMax, bytesNow <= bytesMax || writesNow == 1 { return true }
        leave(bytes: count)
        return false
    }

    func leave(bytes count: Int) {
        writes.wrappingSubtract(1, ordering: .relaxed)
        bytes.wrappingSubtract(count, ordering: .relaxed)
    }
}
