public import Entitlements
public import Licensing
public import Storage

/// The reads of licences on a loop's own connection. Writes nothing: a licence that is asked about stays as it is.
public final class LicenseReader {
    private let reader: SQLiteReader
    private let byKey: Statement
    private let seats: Statement

    public init(_ reader: SQLiteReader) throws(StorageError) {
        self.reader = reader
        byKey = try reader.database.prepare(LicenseSQL.byKey)
        seats = try reader.database.prepare(LicenseSQL.seatsOfLicense)
    }

    /// The licence of a key as it was typed; nil when there is none.
    ///
    /// Reads in the snapshot in which the row will be read: an answer says what was true at one moment.
    public func license(typedKey: String, now: UnixMillis) throws(StorageError) -> LicenseRecord? {
        try reader.keepSnapshot(now)
        defer { byKey.reset() }
        for digest in LicenseKey.digests(ofTyped: typedKey) {
            byKey.reset()
            byKey.bind(1, digest)
            if try byKey.step() { return LicenseSQL.record(byKey) }
        }
        return nil
    }

    public func license(_ id: String) throws(StorageError) -> LicenseRecord? {
        reader.letGo()
        return try LicenseSQL.license(id, in: reader.database)
    }

    /// The devices that hold a licence's seats, in the order they came.
    public func seats(of license: String, now: UnixMillis) throws(StorageError) -> [Seat] {
        try reader.keepSnapshot(now)
        defer { seats.reset() }
        seats.bind(1, license)
        var found: [Seat] = []
        while try seats.step() { found.append(LicenseSQL.seat(seats)) }
        return found
    }

    /// Every licence of a person, whatever id it was made under, with its seats.
    public func licenses(of user: UserID) throws(StorageError) -> [LicenseView] {
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
    public func hasOwnerless(purchasesOf customer: CustomerID) throws(StorageError) -> Bool {
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
    public func subscription(of user: UserID, now: UnixMillis) throws(StorageError) -> Subscription {
        let id = Array(user.value.utf8)
        var body: [UInt8]?
        try unsafe id.withUnsafeBufferPointer { bytes throws(StorageError) in
            try unsafe reader.withRow(of: UnsafeRawBufferPointer(bytes), in: .production, now: now) { row in
                switch row {
                case .some(let row):
                    var copy: [UInt8] = []
                    for index in 0..<row.body.count { copy.append(row.body[index]) }
                    body = copy
                case .none: break
                }
            }
        }
        return try body.map { bytes throws(StorageError) in try SubscriptionRow.decode(bytes) } ?? Subscription()
    }
}
