internal import Synchronization

/// How many connections all loops of a server have open: the one number they share.
final class ConnectionCounter: Sendable {
    private let value = Atomic(0)

    var count: Int { value.load(ordering: .relaxed) }

    /// Counts one more, unless there are `max` already.
    func enter(max: Int) -> Bool {
        if value.add(1, ordering: .relaxed).newValue <= max { return true }
        leave()
        return false
    }

    func leave() {
        value.subtract(1, ordering: .relaxed)
    }
}
