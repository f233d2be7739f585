import CSQLite

/// A write transaction on a gateway's database, held from outside: a storage that fails for a while. For one thread.
final class DatabaseLock {
    private var connection: OpaquePointer?

    /// Takes the lock, waiting up to 5 seconds for a write that is under way.
    init(path: String) throws(ConformanceError) {
        guard sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else {
            throw fault("open")
        }
        sqlite3_busy_timeout(connection, 5000)
        guard sqlite3_exec(connection, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK else {
            throw fault("lock")
        }
    }

    /// Closing ends the transaction; nothing was written in it.
    deinit {
        sqlite3_close_v2(connection)
    }

    private func fault(_ what: String) -> ConformanceError {
        .machine("cannot \(what) the database: \(String(cString: sqlite3_errmsg(connection)))")
    }
}
