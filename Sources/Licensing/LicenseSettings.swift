public import Entitlements

/// What the seller says of licences (`licenses` of `gateway.json`).
public struct LicenseSettings: Hashable, Sendable {
    /// Seats of a licence that names no number of its own.
    public var maxDevices = 3
    /// Days for which a client may work without asking.
    public var offlineDays = 14
    /// Providers whose purchases come with a licence.
    public var issueOn: Set<ProviderID> = []
    /// Days after which the seat of a device that is not seen may go to another; nil keeps it for ever.
    public var releaseAfterDays: Int? = 90
    /// Seats that may be given back in one calendar month.
    public var deactivationsPerMonth = 10

    public init() {}

    public var releaseAfterMillis: Int64? { releaseAfterDays.map { Int64($0) * UnixMillis.millisPerDay } }
}
