internal import Entitlements
internal import Licensing
internal import Storage

/// Licences and seats as they are read, by the writer and by readers alike.
enum LicenseSQL {
    static let columns = "id, user_id, entitlement, max_devices, source, hint, created_at, revoked_at"

    static func record(_ row: any SQLStatement) -> LicenseRecord {
        LicenseRecord(
            id: row.text(0),
            user: UserID(unchecked: row.text(1)),
            entitlement: row.text(2),
            maxDevices: row.optionalInteger(3).map { Int(clamping: $0) },
            source: LicenseRecord.Source(rawValue: UInt8(truncatingIfNeeded: row.integer(4))) ?? .admin,
            hint: row.optionalText(5),
            createdAt: UnixMillis(row.integer(6)),
            revokedAt: row.optionalInteger(7).map { UnixMillis($0) }
        )
    }

    static func seat(_ row: any SQLStatement) -> Seat {
        Seat(
            deviceID: row.text(0),
            deviceName: row.optionalText(1),
            activatedAt: UnixMillis(row.integer(2)),
            lastSeenAt: UnixMillis(row.integer(3))
        )
    }

    static let byKey = "SELECT \(columns) FROM license WHERE digest = ?"
    static let seatsOfLicense = """
        SELECT device_id, device_name, activated_at, last_seen_at FROM seat WHERE license = ?
        ORDER BY activated_at, device_id
        """

    static func license(_ id: String, in database: any SQLDatabase) throws(StorageError) -> LicenseRecord? {
        let query = try database.prepare("SELECT \(columns) FROM license WHERE id = ?")
        query.bind(1, id)
        return try query.step() ? record(query) : nil
    }

    static func license(keyed digest: [UInt8], in database: any SQLDatabase) throws(StorageError) -> LicenseRecord? {
        let query = try database.prepare(byKey)
        query.bind(1, digest)
        return try query.step() ? record(query) : nil
    }

    static func licenses(of user: UserID, in database: any SQLDatabase) throws(StorageError) -> [LicenseRecord] {
        let query = try database.prepare("SELECT \(columns) FROM license WHERE user_id = ? ORDER BY created_at, id")
        query.bind(1, user.value)
        var found: [LicenseRecord] = []
        while try query.step() { found.append(record(query)) }
        return found
    }

    static func seats(of license: String, in database: any SQLDatabase) throws(StorageError) -> [Seat] {
        let query = try database.prepare(seatsOfLicense)
        query.bind(1, license)
        var found: [Seat] = []
        while try query.step() { found.append(seat(query)) }
        return found
    }
}
