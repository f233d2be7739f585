package import Entitlements
package import Storage

/// A caller's key as it is kept: a digest, never the key.
package struct KeyRecord: Hashable, Sendable {
    package var id: String
    package var digest: [UInt8]
    package var isAdmin: Bool
    package var label: String
    /// Set by the database.
    package var createdAt: UnixMillis?
    package var revokedAt: UnixMillis?

    package init(id: String, digest: [UInt8], isAdmin: Bool, label: String) {
        self.id = id
        self.digest = digest
        self.isAdmin = isAdmin
        self.label = label
    }
}

/// The keys in the database.
package enum KeyRecords {
    /// Keys that are not revoked.
    package static func active(in location: any DatabaseLocation) throws(StorageError) -> [KeyRecord] {
        try active(in: try location.connect(.reading))
    }

    package static func active(in database: any SQLDatabase) throws(StorageError) -> [KeyRecord] {
        try records(database, "WHERE revoked_at IS NULL")
    }

    /// Every key there ever was, the oldest first.
    package static func all(in location: any DatabaseLocation) throws(StorageError) -> [KeyRecord] {
        try records(try location.connect(.reading), "")
    }

    private static func records(_ database: any SQLDatabase, _ filter: String) throws(StorageError) -> [KeyRecord] {
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
    package static func insert(
        _ records: [KeyRecord],
        by maker: Actor,
        in location: any DatabaseLocation
    ) throws(StorageError) {
        let database = try writing(location)
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
        try database.commit()
    }

    /// Takes a key's rights away for good.
    ///
    /// - Returns: False when no key has this id, or it was revoked before.
    package static func revoke(_ id: String, by maker: Actor, in location: any DatabaseLocation) throws(StorageError)
        -> Bool
    {
        let database = try writing(location)
        let update = try database.prepare("UPDATE api_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL")
        update.bind(1, maker.at.value)
        update.bind(2, id)
        try update.run()
        guard database.changes > 0 else { return false }
        try audit("key_revoked", id, maker, database)
        try database.commit()
        return true
    }

    /// Inside a transaction; closing the connection gives up one that did not come to its end.
    private static func writing(_ location: any DatabaseLocation) throws(StorageError) -> any SQLDatabase {
        let database = try location.connect(.writing)
        try database.beginWriting()
        return database
    }

    private static func audit(
        _ action: String,
        _ detail: String,
        _ maker: Actor,
        _ database: any SQLDatabase
    ) throws(StorageError) {
        let insert = try database.prepare("INSERT INTO audit (at, key_id, action, detail) VALUES (?, ?, ?, ?)")
        insert.bind(1, maker.at.value)
        insert.bind(2, maker.keyID)
        insert.bind(3, action)
        insert.bind(4, detail)
        try insert.run()
    }
}
