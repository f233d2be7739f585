internal import Entitlements
internal import Licensing
internal import Storage

/// Licences and seats as they stand in answers and in what is handed to a person.
extension JSONWriter {
    /// The members of a licence, in an object that is open.
    ///
    /// - Parameter devices: How many seats it has.
    mutating func members(of license: LicenseRecord, devices: Int) {
        key("license_id")
        string(license.id)
        key("user_id")
        string(license.user.value)
        key("entitlement")
        string(license.entitlement)
        key("max_devices")
        integer(Int64(devices))
        key("source")
        string(license.source.name)
        key("key_hint")
        optional(license.hint)
        key("created_at")
        time(license.createdAt)
        key("revoked_at")
        time(license.revokedAt)
    }

    mutating func seats(_ seats: [Seat]) {
        list("devices", seats) { $0.seat($1) }
    }

    mutating func seat(_ seat: Seat) {
        raw("{")
        key("device_id")
        string(seat.deviceID)
        key("device_name")
        optional(seat.deviceName)
        key("activated_at")
        time(seat.activatedAt)
        key("last_seen_at")
        time(seat.lastSeenAt)
        raw("}")
    }
}
