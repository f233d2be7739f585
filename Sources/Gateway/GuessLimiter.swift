internal import Platform

/// Counts failures by whoever makes them, and says when to wait: so many at once, then one for each pause.
///
/// Lives on one loop. What one loop counts it tells the others, so that the count is of the whole gateway.
struct GuessLimiter {
    /// A person mistypes a key a few times; a program that guesses does it all day.
    static let atOnce = 20
    static let secondsEach = 30
    /// Addresses that are remembered; past it those go that have the least against them.
    static let entriesMax = 8192

    private struct Entry {
        var failures: Double
        var at: MonotonicNanos
    }

    private var entries: [[UInt8]: Entry] = [:]
    private let atOnce: Double
    private let secondsEach: Double

    init(atOnce: Int = GuessLimiter.atOnce, secondsEach: Int = GuessLimiter.secondsEach) {
        self.atOnce = Double(atOnce)
        self.secondsEach = Double(secondsEach)
    }

    /// Seconds to wait; nil when there is nothing to wait for.
    func wait(_ who: [UInt8], now: MonotonicNanos) -> Int? {
        guard let entry = entries[who] else { return nil }
        let left = remaining(entry, now)
        let tooMany = left - (atOnce - 1)
        return tooMany <= 0 ? nil : max(1, Int((tooMany * secondsEach).rounded(.up)))
    }

    mutating func count(_ who: [UInt8], now: MonotonicNanos) {
        if entries.count >= Self.entriesMax, entries[who] == nil { forget(now) }
        let before = entries[who].map { remaining($0, now) } ?? 0
        // Bounded, so that hours of guessing do not shut an address out for days.
        entries[who] = Entry(failures: min(before + 1, atOnce * 2), at: now)
    }

    private func remaining(_ entry: Entry, _ now: MonotonicNanos) -> Double {
        let seconds = Double(now.nanoseconds(since: entry.at)) / 1_000_000_000
        return max(0, entry.failures - seconds / secondsEach)
    }

    private mutating func forget(_ now: MonotonicNanos) {
        let current = entries.mapValues { remaining($0, now) }
        let middle = current.values.sorted()[current.count / 2]
        entries = entries.filter { (current[$0.key] ?? 0) > middle }
        // All alike: a crowd of single guesses, none of which is worth remembering more than another.
        if entries.count >= Self.entriesMax { entries.removeAll(keepingCapacity: true) }
    }
}
