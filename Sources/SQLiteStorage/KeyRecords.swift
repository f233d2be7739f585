public import Entitlements
public import Storage

/// A caller's key as it is kept: a digest, never the key.
public struct KeyRecord: Hashable, Sendable {
    public var id: String
    public var digest: [UInt8]
    public var isAdmin: Bool
    public var label: String
    /// Set by the database.
    public var createdAt: UnixMillis?
    public var revokedAt: UnixMillis?

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
        try active(try SQLiteDatabase(path: path, mode: .readOnly, busyMillis: 1000))
    }

    static func active(_ database: SQLiteDatabase) throws(StorageError) -> [KeyRecord] {
        try records(database, "WHERE revoked_at IS NULL")
    }

    /// Every key there ever was, the oldest first.
    public static func all(in path: String) throws(StorageError) -> [KeyRecord] {
        try records(try SQLiteDatabase(path: path, mode: .readOnly, busyMillis: 1000), "")
    }

    private static func records(_ database: SQLiteDatabase, _ filter: String) throws(StorageError) -> [KeyRecord] {
        let query = try database.prepare(
            """
            SELECT id, digest, scope, label, created_at, revoked_at FROM api_key \(filter) ORDER BY created_at, id
            """
        )
        var records: [KeyRecord] = []
        while try query.step() {
            var record = KeyRecord(
                id: query.text(0),
                digest: query.blob(1),
                isAdmin: query.integer(2) == 1,
                label: query.text(3)
            )
            record.createdAt = UnixMillis(query.integer(4))
            record.revokedAt = query.optionalInteger(5).map(UnixMillis.init)
            records.append(record)
        }
        return records
    }

    /// Inserts all of them or none.
    ///
    /// - Parameter maker: Who makes them, for the audit.
    public static func insert(
        _ records: [KeyRecord],
        by maker: Actor,
        in path: String
    ) throws(StorageError) {
        let database = try writing(path)
        let insert = try database.prepare(
            "INSERT INTO api_key (id, digest, scope, label, created_at) VALUES (?, ?, ?, ?, ?)"
        )
        for record in records {
            insert.bind(1, record.id)
            insert.bind(2, record.digest)
            insert.bind(3, record.isAdmin ? 1 : 0)
            insert.bind(4, record.label)
            insert.bind(5, maker.at.value)
            try insert.run()
            try audit("key_created", record.id + (record.isAdmin ? " admin" : " read"), maker, database)
        }
        try database.execute("COMMIT")
    }

    /// Takes a key's rights away for good.
    ///
    /// - Returns: False when no key has this id, or it was revoked before.
    public static func revoke(_ id: String, by maker: Actor, in path: String) throws(StorageError) -> Bool {
        let database = try writing(path)
        let update = try database.prepare("UPDATE api_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL")
        update.bind(1, maker.at.value)
        update.bind(2, id)
        try update.run()
        guard database.changes > 0 else { return false }
        try audit("key_revoked", id, maker, database)
        try database.execute("COMMIT")
        return true
    }

    /// Inside a transaction; closing the connection gives up one that did not come to its end.
    private static func writing(_ path: String) throws(StorageError) -> SQLiteDatabase {
        let database = try SQLiteDatabase(path: path, mode: .existing, busyMillis: 10_000)
        try database.execute("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")
        return database
    }

    private static func audit(
        _ action: String,
        _ detail: String,
        _ maker: Actor,
        _ database: SQLiteDatabase
    ) throws(StorageError) {
        let insert = try database.prepare("INSERT INTO audit (at, key_id, action, detail) VALUES (?, ?, ?, ?)")
        insert.bind(1, maker.at.value)
        insert.bind(2, maker.keyID)
        insert.bind(3, action)
        insert.bind(4, detail)
        try insert.run()
    }
}
