internal import Platform

/// How fast one provider may be asked, and whether it is worth asking at all.
///
/// A bucket of requests that fills evenly; a few at once are let through. After several failures in a row nothing is asked
/// for a while: a provider that is down is not helped by more requests, and nobody is made to wait for it.
struct RequestPace {
    private let nanosecondsEach: UInt64
    private let burst: UInt64
    /// The moment at which the bucket would be full if nothing more were asked.
    private var fullAt = MonotonicNanos(value: 0)
    private var failures = 0
    private var restsUntil: MonotonicNanos?
    private var toldUntil: MonotonicNanos?

    static let failuresMax = 5
    static let restSeconds = 30

    init(perMinute: Int) {
        nanosecondsEach = 60_000_000_000 / UInt64(max(1, perMinute))
        burst = UInt64(max(1, perMinute / 10))
    }

    /// Takes one request out of the bucket: now, or the moment at which there will be one.
    ///
    /// - Parameter leavesRoom: Takes of a full bucket only half, so that somebody who waits for an answer finds some.
    mutating func take(_ now: MonotonicNanos, leavesRoom: Bool = false) -> MonotonicNanos {
        let base = max(fullAt, now)
        fullAt = MonotonicNanos(value: base.value + nanosecondsEach)
        let ahead = fullAt.nanoseconds(since: now)
        let allowed = (leavesRoom ? (burst + 1) / 2 : burst) * nanosecondsEach
        return ahead <= allowed ? now : MonotonicNanos(value: now.value + ahead - allowed)
    }

    /// Nothing is asked before this moment: the provider said so, whatever it answers to what is under way.
    mutating func rest(until moment: MonotonicNanos) {
        toldUntil = max(toldUntil ?? moment, moment)
    }

    func isResting(_ now: MonotonicNanos) -> Bool {
        [restsUntil, toldUntil].contains { $0.map { now < $0 } ?? false }
    }

    mutating func succeeded() {
        failures = 0
        restsUntil = nil
    }

    mutating func failed(_ now: MonotonicNanos) {
        failures += 1
        // One that fails again after its rest rests again at once.
        if failures >= Self.failuresMax { restsUntil = now.adding(seconds: Self.restSeconds) }
    }
}
