internal import Platform
internal import Synchronization

/// What is known of the database taking writes, by all loops together: it is asked at most once a second, whoever asks.
final class Readiness: Sendable {
    /// Each look may cost a sync of the disk.
    private static let ageMillis = 1000

    private struct State {
        var isReady = false
        /// When the last write came through or failed; nil before the first.
        var knownAt: MonotonicNanos?
        /// When a write was last tried only to know this.
        var askedAt: MonotonicNanos?
    }

    private let state = Mutex(State())

    /// What to answer now; nil: try a write, and tell `wrote`.
    func answer(at now: MonotonicNanos) -> Bool? {
        state.withLock { state in
            if let knownAt = state.knownAt, now < knownAt.adding(milliseconds: Self.ageMillis) { return state.isReady }
            // Another loop is trying. What was known before still counts for so long; before the first answer all may try.
            if state.knownAt != nil, let askedAt = state.askedAt, now < askedAt.adding(milliseconds: Self.ageMillis) {
                return state.isReady
            }
            state.askedAt = now
            return nil
        }
    }

    /// A write has come through, or failed for a reason that concerns all of them.
    func wrote(_ isDone: Bool, at now: MonotonicNanos) {
        state.withLock { state in
            state.isReady = isDone
            state.knownAt = now
        }
    }
}
