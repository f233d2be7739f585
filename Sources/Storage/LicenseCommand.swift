public import Entitlements
public import Licensing

/// A change to licences and their seats.
public enum LicenseCommand: Sendable {
    /// What the seller has configured counts from now on. Kept in memory; asked for again at every start.
    case adopt(LicenseSettings)
    case create(NewLicense)
    /// Puts another key in the place of the one there is, which opens nothing from then on.
    case replaceKey(licenseID: String, key: LicenseKeyRecord, by: Actor)
    case revoke(licenseID: String, by: Actor)
    case activate(SeatRequest)
    case deactivate(SeatRelease)
    case seen([SeatSighting])
}

/// What is kept of a key.
public struct LicenseKeyRecord: Hashable, Sendable {
    public var digest: [UInt8]
    /// Its last characters, to be shown.
    public var hint: String

    public init(_ key: String) {
        digest = LicenseKey.digest(key)
        hint = LicenseKey.hint(key)
    }
}

/// A licence to be made.
public struct NewLicense: Sendable {
    public var licenseID: String
    public var key: LicenseKeyRecord
    public var user: UserID
    public var entitlement: String
    /// Nil: what is configured, now and later.
    public var maxDevices: Int?
    /// The key was sold elsewhere: the same key again is the same licence.
    public var isImported: Bool
    public var by: Actor

    public init(
        licenseID: String,
        key: LicenseKeyRecord,
        user: UserID,
        entitlement: String,
        maxDevices: Int?,
        isImported: Bool,
        by: Actor
    ) {
        self.licenseID = licenseID
        self.key = key
        self.user = user
        self.entitlement = entitlement
        self.maxDevices = maxDevices
        self.isImported = isImported
        self.by = by
    }
}

/// Whose seats are meant: one licence's, or those of a signed-in person, who needs no key.
public enum SeatHolder: Hashable, Sendable {
    case license(String)
    case account(UserID, entitlement: String)
}

/// That a device asks for a seat.
public struct SeatRequest: Sendable {
    public var holder: SeatHolder
    public var deviceID: String
    public var deviceName: String?
    public var at: UnixMillis

    public init(holder: SeatHolder, deviceID: String, deviceName: String?, at: UnixMillis) {
        self.holder = holder
        self.deviceID = deviceID
        self.deviceName = deviceName
        self.at = at
    }
}

/// That a seat is given back.
public struct SeatRelease: Sendable {
    public var holder: SeatHolder
    public var deviceID: String
    public var at: UnixMillis

    public init(holder: SeatHolder, deviceID: String, at: UnixMillis) {
        self.holder = holder
        self.deviceID = deviceID
        self.at = at
    }
}

/// That a device was seen.
public struct SeatSighting: Sendable {
    public var licenseID: String
    public var deviceID: String
    public var at: UnixMillis

    public init(licenseID: String, deviceID: String, at: UnixMillis) {
        self.licenseID = licenseID
        self.deviceID = deviceID
        self.at = at
    }
}

/// What a change to licences came to.
public enum LicenseResult: Hashable, Sendable {
    case created(LicenseRecord, isNew: Bool)
    /// The imported key is another licence's.
    case keyTaken
    case keyReplaced(LicenseRecord)
    case revoked
    case notFound
    /// The licence was revoked, so it has no seats to give.
    case isRevoked
    case activated(LicenseRecord, Seat)
    /// These devices hold the seats.
    case full([Seat])
    case deactivated(wasSeated: Bool)
    /// Enough seats were given back this month.
    case refused(until: UnixMillis)
    case noted
}

/// A licence as the store keeps it.
public struct LicenseRecord: Hashable, Sendable {
    /// Where a licence comes from.
    public enum Source: UInt8, Sendable {
        case admin = 0
        case imported = 1
        /// Made with a purchase.
        case purchase = 2
        /// Made when a signed-in person's first device came.
        case account = 3

        public var name: StaticString {
            switch self {
            case .admin: "admin"
            case .imported: "imported"
            case .purchase: "purchase"
            case .account: "account"
            }
        }
    }

    public var id: String
    /// Whose row decides what the licence is good for.
    public var user: UserID
    public var entitlement: String
    public var maxDevices: Int?
    public var source: Source
    /// The key's last characters; nil when it has no key.
    public var hint: String?
    public var createdAt: UnixMillis
    public var revokedAt: UnixMillis?

    public init(
        id: String,
        user: UserID,
        entitlement: String,
        maxDevices: Int?,
        source: Source,
        hint: String?,
        createdAt: UnixMillis,
        revokedAt: UnixMillis?
    ) {
        self.id = id
        self.user = user
        self.entitlement = entitlement
        self.maxDevices = maxDevices
        self.source = source
        self.hint = hint
        self.createdAt = createdAt
        self.revokedAt = revokedAt
    }
}

/// A licence and the devices that hold its seats.
public struct LicenseView: Hashable, Sendable {
    public var license: LicenseRecord
    public var seats: [Seat]

    public init(license: LicenseRecord, seats: [Seat]) {
        self.license = license
        self.seats = seats
    }
}
