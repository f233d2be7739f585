internal import CSQLite
internal import Storage

/// One connection to a SQLite database.
///
/// Opened without SQLite's own mutex, because a connection belongs to the thread that made it (sqlite.org/threadsafe.html,
/// "multi-thread"). Nothing here is Sendable, so the compiler keeps it there.
@safe
final class SQLiteDatabase {
    enum Mode {
        case readWrite
        case readOnly
    }

    private let handle: OpaquePointer
    /// Written by SQLite's hook on this connection's own thread, within COMMIT.
    private let loggedPages: UnsafeMutablePointer<Int32>

    /// - Parameter busyMillis: How long to wait for another process that holds the write lock.
    init(path: String, mode: Mode, busyMillis: Int32) throws(StorageError) {
        var opened: OpaquePointer?
        let flags = mode == .readWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY
        let code = unsafe sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let opened = unsafe opened else {
            let reason = unsafe String(cString: sqlite3_errmsg(opened))
            // A handle is given even when opening fails, and must be closed (sqlite.org/c3ref/open.html).
            unsafe sqlite3_close_v2(opened)
            throw .unavailable("\(path): \(reason)")
        }
        unsafe handle = opened
        unsafe loggedPages = .allocate(capacity: 1)
        unsafe loggedPages.initialize(to: 0)
        unsafe sqlite3_extended_result_codes(opened, 1)
        unsafe sqlite3_busy_timeout(opened, busyMillis)
    }

    deinit {
        // Statements are finalized by their own deinit, which runs before or after: `close_v2` waits for them.
        _ = unsafe sqlite3_wal_hook(handle, nil, nil)
        unsafe sqlite3_close_v2(handle)
        unsafe loggedPages.deallocate()
    }

    /// Runs statements that give no rows.
    func execute(_ sql: String) throws(StorageError) {
        let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code) }
    }

    func prepare(_ sql: String) throws(StorageError) -> Statement {
        var statement: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement = unsafe statement else { throw error(code) }
        return unsafe Statement(statement, of: self)
    }

    var lastInsertedRow: Int64 {
        unsafe sqlite3_last_insert_rowid(handle)
    }

    /// Rows changed by the last INSERT, UPDATE or DELETE.
    var changes: Int {
        Int(unsafe sqlite3_changes(handle))
    }

    var isInTransaction: Bool {
        unsafe sqlite3_get_autocommit(handle) == 0
    }

    /// Copies the write-ahead log into the database and empties it, as far as no reader needs it.
    /// False when somebody stood in the way; then it is to be tried again after a later commit.
    @discardableResult
    func checkpoint(truncate: Bool) -> Bool {
        let mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        guard unsafe sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil) == SQLITE_OK else { return false }
        if truncate { unsafe loggedPages.pointee = 0 }
        return true
    }

    /// From here on the log is not copied back by COMMIT; ``logPages`` says how long it is.
    func countLogPages() {
        // The hook takes the place of SQLite's own, which would copy. The pointer lives as long as the connection.
        _ = unsafe sqlite3_wal_hook(
            handle,
            { pages, _, _, count in
                unsafe pages?.assumingMemoryBound(to: Int32.self).pointee = count
                return SQLITE_OK
            },
            loggedPages
        )
    }

    /// Pages in the write-ahead log after this connection's last commit.
    var logPages: Int { Int(unsafe loggedPages.pointee) }

    /// How long to wait for others from here on.
    func setBusy(milliseconds: Int32) {
        unsafe sqlite3_busy_timeout(handle, milliseconds)
    }

    /// What SQLite's code means for whoever asked (sqlite.org/rescode.html).
    func error(_ code: Int32) -> StorageError {
        let reason = unsafe String(cString: sqlite3_errmsg(handle))
        switch code & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED: return .busy
        case SQLITE_FULL: return .full
        case SQLITE_CORRUPT, SQLITE_NOTADB: return .damaged(reason)
        default: return .unavailable("\(reason) (SQLite \(code))")
        }
    }
}
