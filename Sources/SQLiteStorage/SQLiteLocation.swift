package import Entitlements
internal import Platform
package import SQLStorage
package import Storage

/// A database in a file.
package struct SQLiteLocation: DatabaseLocation {
    package let path: String

    package init(path: String) {
        self.path = path
    }

    package var name: String { path }
    package var hint: String { "--database names a file in a folder that can be written" }
    package var repair: String { "stop the gateway and restore a backup" }
    package var besides: String { path }
    package var isThere: Bool { PrivateFile.isThere(path) }

    package func connect(_ use: ConnectionUse) throws(StorageError) -> any SQLDatabase {
        switch use {
        case .reading: return try SQLiteDatabase(path: path, mode: .readOnly, busyMillis: 1000)
        case .writing:
            let database = try SQLiteDatabase(path: path, mode: .existing, busyMillis: 10_000)
            try database.execute("PRAGMA synchronous = FULL")
            return database
        case .importing:
            let database = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 30_000)
            try database.execute(
                """
                PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 32000;
                PRAGMA journal_size_limit = 134217728; PRAGMA cache_size = -262144; PRAGMA temp_store = MEMORY;
                """
            )
            return database
        }
    }

    package func migrate() throws(StorageError) -> [String] { try Migrations.apply(to: path) }

    package func pendingMigrations() throws(StorageError) -> [String] { try Migrations.pending(at: path) }

    package func open(
        policy configured: EntitlementPolicy?,
        receivers: [String]?,
        listener: (any ChangeListener)?,
        cacheBytes: Int,
        onChange: @escaping @Sendable ([ChangedRow]) -> Void
    ) throws(StorageError) -> any Store {
        try SQLiteStore.open(
            path: path,
            policy: configured,
            receivers: receivers,
            listener: listener,
            cacheBytes: cacheBytes,
            onChange: onChange
        )
    }
}
