public import Entitlements

/// Who gets a seat, and who may give one back. Pure functions; the moment is an argument.
public enum SeatRule {
    /// What becomes of a device that asks for a seat.
    public enum Decision: Hashable, Sendable {
        /// It has one already: also at the limit, and after a reinstall.
        case sameSeat
        /// It gets a new one, after these devices, which were not seen for long, have lost theirs.
        case newSeat(releasing: [String])
        /// All seats are held by devices that are in use.
        case full
    }

    /// A seat is only taken from a device that was not seen for long when another device needs it, longest unseen first: a
    /// machine that comes back from the cellar finds its seat if nobody wanted it.
    ///
    /// - Parameter releaseAfterMillis: How long a seat is kept for a device that is not seen; nil keeps it for ever.
    public static func decide(
        _ deviceID: String,
        among seats: [Seat],
        limit: Int,
        releaseAfterMillis: Int64?,
        now: UnixMillis
    ) -> Decision {
        if seats.contains(where: { $0.deviceID == deviceID }) { return .sameSeat }
        let tooMany = seats.count + 1 - limit
        guard tooMany > 0 else { return .newSeat(releasing: []) }
        guard let releaseAfterMillis else { return .full }
        let unseen =
            seats
            .filter { now.value - $0.lastSeenAt.value > releaseAfterMillis }
            .sorted { ($0.lastSeenAt, $0.deviceID) < ($1.lastSeenAt, $1.deviceID) }
        guard unseen.count >= tooMany else { return .full }
        return .newSeat(releasing: unseen.prefix(tooMany).map(\.deviceID))
    }

    /// Nil when one more seat may be given back in this calendar month (UTC), else the moment from which it may.
    ///
    /// Without a limit one licence would serve any number of people who pass it on.
    public static func refusedUntil(freedAt: [UnixMillis], perMonth limit: Int, now: UnixMillis) -> UnixMillis? {
        let (start, next) = month(of: now)
        return freedAt.filter { $0 >= start }.count < limit ? nil : next
    }

    /// The first moment of the month and of the one after it.
    public static func month(of moment: UnixMillis) -> (start: UnixMillis, next: UnixMillis) {
        let text = Array(moment.rfc3339.utf8)
        func number(_ range: Range<Int>) -> Int {
            Int(String(decoding: text[range], as: UTF8.self)) ?? 1
        }
        func first(year: Int, month: Int) -> UnixMillis? {
            let digits = String(10_000 + year).dropFirst()
            return UnixMillis(rfc3339: "\(digits)-\(month < 10 ? "0" : "")\(month)-01T00:00:00Z")
        }
        guard text.count > 7 else { return (moment, moment) }
        let (year, month) = (number(0..<4), number(5..<7))
        let start = first(year: year, month: month) ?? moment
        let next = month == 12 ? first(year: year + 1, month: 1) : first(year: year, month: month + 1)
        return (start, next ?? .latest)
    }
}
