public import Entitlements

/// A device that holds one of a licence's seats.
public struct Seat: Hashable, Sendable {
    /// What the app calls the device; the same after a reinstall, if the app does its part.
    public var deviceID: String
    /// What the person calls it.
    public var deviceName: String?
    public var activatedAt: UnixMillis
    /// When it last asked. Noted now and then, so up to an hour behind.
    public var lastSeenAt: UnixMillis

    public init(deviceID: String, deviceName: String?, activatedAt: UnixMillis, lastSeenAt: UnixMillis) {
        self.deviceID = deviceID
        self.deviceName = deviceName
        self.activatedAt = activatedAt
        self.lastSeenAt = lastSeenAt
    }
}
