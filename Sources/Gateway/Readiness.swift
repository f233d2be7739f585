internal import Platform
internal import Synchronization

/// What is known of the database taking writes, by all loops together: it is asked at most once a second, whoever asks.
final class Readiness: Sendable {
    /// Each look costs a sync of the disk.
    private static let ageMillis = 1000

    /// What is to be done for one who asks.
    enum Answer: Equatable {
        case known(Bool)
        /// Try a write, and tell `asked` what came of it.
        case ask
        /// Somebody else's try is on its way; the closure will be called.
        case wait
    }

    private struct State {
        /// The last write that came through; nil when one has failed since.
        var wroteAt: MonotonicNanos?
        /// When a write was last tried only to know this.
        var askedAt: MonotonicNanos?
        var isAsking = false
        var waiting: [@Sendable (Bool) -> Void] = []
    }

    private let state = Mutex(State())

    /// - Parameter reply: Called once when the answer is `.wait`, by whichever thread brings the result.
    func answer(at now: MonotonicNanos, _ reply: @escaping @Sendable (Bool) -> Void) -> Answer {
        state.withLock { state in
            if let wroteAt = state.wroteAt, now < wroteAt.adding(milliseconds: Self.ageMillis) { return .known(true) }
            if state.isAsking {
                state.waiting.append(reply)
                return .wait
            }
            // The last try has failed, or others have failed since.
            if let askedAt = state.askedAt, now < askedAt.adding(milliseconds: Self.ageMillis) { return .known(false) }
            (state.isAsking, state.askedAt) = (true, now)
            return .ask
        }
    }

    /// A write has come through, or failed for a reason that concerns all of them.
    func wrote(_ isDone: Bool, at now: MonotonicNanos) {
        state.withLock { $0.wroteAt = isDone ? now : nil }
    }

    /// What came of the write that was tried only to know this.
    func asked(_ isDone: Bool, at now: MonotonicNanos) {
        let waiting = state.withLock { state in
            state.isAsking = false
            state.wroteAt = isDone ? now : nil
            defer { state.waiting = [] }
            return state.waiting
        }
        for reply in waiting { reply(isDone) }
    }
}
