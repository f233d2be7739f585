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
    /// A lock that another program holds is looked at this often.
    private static let busyLookMillis: Int32 = 2

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
        unsafe sqlite3_extended_result_codes(opened, 1)
        // SQLite's own waits grow to 100 ms each, and would miss the moments between the transactions of another program
        // that writes much. The limit travels as the context itself: nothing is pointed at.
        unsafe sqlite3_busy_handler(
            opened,
            { limit, count in
                guard Int(count) * Int(SQLiteDatabase.busyLookMillis) < Int(bitPattern: limit) else { return 0 }
                sqlite3_sleep(SQLiteDatabase.busyLookMillis)
                return 1
            },
            UnsafeMutableRawPointer(bitPattern: Int(busyMillis))
        )
    }

    deinit {
        // Statements are finalized by their own deinit, which runs before or after: `close_v2` waits for them.
        unsafe sqlite3_close_v2(handle)
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
    /// Returns the number of pages the log had.
    @discardableResult
    func checkpoint(truncate: Bool) -> Int {
        var (pages, done): (Int32, Int32) = (0, 0)
        let mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        // A checkpoint that cannot run now is tried again after a later commit.
        _ = unsafe sqlite3_wal_checkpoint_v2(handle, nil, mode, &pages, &done)
        return Int(max(pages, 0))
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
