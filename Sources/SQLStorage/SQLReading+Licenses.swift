package import Entitlements
package import Licensing
package import Storage

/// The reads of licences on a loop's own connection. Writes nothing: a licence that is asked about stays as it is.
package final class LicenseReader {
    private let reader: any SQLReading
    private let byKey: any SQLStatement
    private let seats: any SQLStatement

    package init(_ reader: any SQLReading) throws(StorageError) {
        self.reader = reader
        byKey = try reader.database.prepare(LicenseSQL.byKey)
        seats = try reader.database.prepare(LicenseSQL.seatsOfLicense)
    }

    /// The licence of a key as it was typed; nil when there is none.
    ///
    /// Reads in the snapshot in which the row will be read: an answer says what was true at one moment.
    package func license(typedKey: String, now: UnixMillis) throws(StorageError) -> LicenseRecord? {
        try reader.readTogether(now)
        defer { byKey.reset() }
        for digest in LicenseKey.digests(ofTyped: typedKey) {
            byKey.reset()
            byKey.bind(1, digest)
            if try byKey.step() { return LicenseSQL.record(byKey) }
        }
        return nil
    }

    package func license(_ id: String) throws(StorageError) -> LicenseRecord? {
        reader.letGo()
        return try LicenseSQL.license(id, in: reader.database)
    }

    /// The devices that hold a licence's seats, in the order they came.
    package func seats(of license: String, now: UnixMillis) throws(StorageError) -> [Seat] {
        try reader.readTogether(now)
        defer { seats.reset() }
        seats.bind(1, license)
        var found: [Seat] = []
        while try seats.step() { found.append(LicenseSQL.seat(seats)) }
        return found
    }

    /// Every licence of a person, whatever id it was made under, with its seats.
    package func licenses(of user: UserID) throws(StorageError) -> [LicenseView] {
        reader.letGo()
        var found: [LicenseView] = []
        for member in try reader.person(of: user) {
            for license in try LicenseSQL.licenses(of: member, in: reader.database) {
                let seats = try LicenseSQL.seats(of: license.id, in: reader.database)
                found.append(LicenseView(license: license, seats: seats))
            }
        }
        return found.sorted { ($0.license.createdAt, $0.license.id) < ($1.license.createdAt, $1.license.id) }
    }

    /// Whether a customer has bought something that belongs to nobody yet.
    package func hasOwnerless(purchasesOf customer: CustomerID) throws(StorageError) -> Bool {
        reader.letGo()
        let query = try reader.database.prepare(
            """
            SELECT 1 FROM dependency JOIN purchase ON purchase.id = dependency.purchase
            WHERE dependency.node = ? AND purchase.owner IS NULL LIMIT 1
            """
        )
        query.bind(1, Ownership.Dependency.customer(customer).node)
        return try query.step()
    }

    /// What a person is entitled to, as values.
    package func subscription(of user: UserID) throws(StorageError) -> Subscription {
        try reader.rowCopy(of: user, in: .production).subscription()
    }
}
