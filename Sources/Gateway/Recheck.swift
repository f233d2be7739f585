internal import Entitlements
internal import Platform
internal import Storage

/// Whom a loop has asked the providers about lately, because their purchase was to renew and did not. A fixed number of
/// places: one that is taken by somebody else costs a question, nothing more.
struct LapseMemory {
    private static let places = 1024
    private static let againAfterSeconds = 300

    private var asked = [(person: UInt64, at: MonotonicNanos)](
        repeating: (0, MonotonicNanos(value: 0)),
        count: LapseMemory.places
    )

    /// True when this person was not asked about for a while; then it counts as asked.
    mutating func isNew(_ user: [UInt8], _ now: MonotonicNanos) -> Bool {
        // FNV-1a: only to choose a place; no secret and no promise depends on it.
        var hash: UInt64 = 14_695_981_039_346_656_037
        for byte in user { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
        let place = Int(hash % UInt64(Self.places))
        let known = asked[place]
        if known.person == hash, now < known.at.adding(seconds: Self.againAfterSeconds) { return false }
        asked[place] = (hash, now)
        return true
    }
}

extension GatewayHandler {
    /// So long after its end a purchase that was to renew may have renewed without anybody telling.
    private static let lapseDays = 3

    /// A purchase that was to renew has passed its end and no event came. The answer stays what the clock says; behind it
    /// the providers are asked, so that a missed renewal costs minutes and not a day.
    func recheck(_ lapsedAt: UnixMillis, _ now: UnixMillis) {
        guard context.sync.canAsk, now < lapsedAt.adding(days: Self.lapseDays), lapses.isNew(lookup, .now()) else {
            return
        }
        // Refused when too many wait: the next read asks again.
        _ = context.sync.sync(UserID(unchecked: String(decoding: lookup, as: UTF8.self)), deadlineMillis: nil) { _ in }
    }
}
