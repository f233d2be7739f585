internal import Foundation

/// The latest time that this device has ever seen, kept in two places. A clock that is turned back does not turn it back.
struct LatestTime: Sendable {
    private struct Seen: Codable {
        var at: Date
    }

    /// A clock that is further behind than this was turned back.
    static let toleranceSeconds = 86_400.0

    /// So that asking often does not wear out a disk.
    private static let writtenEverySeconds = 60.0

    private let places: [PrivateFile]

    init(_ places: [PrivateFile]) {
        self.places = places
    }

    /// The latest of what was kept, and of when it was written.
    var kept: Date? {
        places.flatMap { [$0.read(Seen.self)?.at, $0.writtenAt] }.compactMap(\.self).max()
    }

    /// The later of the clock and of everything seen.
    func now(clock: Date) -> Date {
        max(clock, kept ?? clock)
    }

    func isTurnedBack(clock: Date) -> Bool {
        now(clock: clock).timeIntervalSince(clock) > Self.toleranceSeconds
    }

    func note(_ moment: Date) throws(EntitlementClientError) {
        let known = places.compactMap { $0.read(Seen.self)?.at }
        let isKnown = known.allSatisfy { $0.addingTimeInterval(Self.writtenEverySeconds) > moment }
        if known.count == places.count, isKnown { return }
        let latest = max(moment, known.max() ?? moment)
        for place in places { try place.write(Seen(at: latest)) }
    }

    /// After the gateway signed what time it is: a clock that once stood in the future locks nobody out for ever.
    func reset(to moment: Date) throws(EntitlementClientError) {
        for place in places { try place.write(Seen(at: moment)) }
    }
}
