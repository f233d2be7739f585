internal import Entitlements
internal import Licensing
internal import Platform
internal import Storage

/// Devices that asked, to be noted together a little later: validating a licence writes nothing by itself.
struct SeatSightings {
    /// A device that was noted within this time is not noted again.
    static let noteEachMillis: Int64 = 3_600_000
    private static let waitSeconds = 10
    private static let waitingMax = 512

    private struct Place: Hashable {
        var licenseID: String
        var deviceID: String
    }

    private var waiting: [Place: UnixMillis] = [:]
    /// When to hand them to the writer.
    private(set) var nextDeadline: MonotonicNanos?

    mutating func add(_ seat: Seat, of license: String, at moment: UnixMillis, now: MonotonicNanos) {
        guard moment.value - seat.lastSeenAt.value >= Self.noteEachMillis else { return }
        waiting[Place(licenseID: license, deviceID: seat.deviceID)] = moment
        if nextDeadline == nil { nextDeadline = now.adding(seconds: Self.waitSeconds) }
        if waiting.count >= Self.waitingMax { nextDeadline = now }
    }

    mutating func take() -> [SeatSighting] {
        defer {
            waiting.removeAll(keepingCapacity: true)
            nextDeadline = nil
        }
        return waiting.map { SeatSighting(licenseID: $0.key.licenseID, deviceID: $0.key.deviceID, at: $0.value) }
    }
}
