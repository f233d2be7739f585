public import Entitlements
public import Storage

/// A caller's key as it is kept: a digest, never the key.
public struct KeyRecord: Hashable, Sendable {
    public var id: String
    public var digest: [UInt8]
    public var isAdmin: Bool
    public var label: String

    public init(id: String, digest: [UInt8], isAdmin: Bool, label: String) {
        self.id = id
        self.digest = digest
        self.isAdmin = isAdmin
        self.label = label
    }
}

/// The keys in the database.
public enum KeyRecords {
    /// Keys that are not revoked.
    public static func active(in path: String) throws(StorageError) -> [KeyRecord] {
        let database = try SQLiteDatabase(path: path, mode: .readOnly, busyMillis: 1000)
        let query = try database.prepare(
            "SELECT id, digest, scope, label FROM api_key WHERE revoked_at IS NULL ORDER BY created_at, id"
        )
        var records: [KeyRecord] = []
        while try query.step() {
            records.append(
                KeyRecord(
                    id: query.text(0),
                    digest: query.blob(1),
                    isAdmin: query.integer(2) == 1,
                    label: query.text(3)
                )
            )
        }
        return records
    }

    /// Inserts all of them or none.
    public static func insert(_ records: [KeyRecord], at moment: UnixMillis, in path: String) throws(StorageError) {
        let database = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 10_000)
        // Closing the connection gives up a transaction that did not come to its end.
        try database.execute("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")
        let insert = try database.prepare(
            "INSERT INTO api_key (id, digest, scope, label, created_at) VALUES (?, ?, ?, ?, ?)"
        )
        for record in records {
            insert.bind(1, record.id)
            insert.bind(2, record.digest)
            insert.bind(3, record.isAdmin ? 1 : 0)
            insert.bind(4, record.label)
            insert.bind(5, moment.value)
            try insert.run()
        }
        try database.execute("COMMIT")
    }
}
