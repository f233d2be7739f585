internal import CSQLite
internal import Platform
package import SQLStorage
package import Storage

/// One connection to a SQLite database.
///
/// Opened without SQLite's own mutex, because a connection belongs to the thread that made it (sqlite.org/threadsafe.html,
/// "multi-thread"). Nothing here is Sendable, so the compiler keeps it there.
@safe
package final class SQLiteDatabase: SQLDatabase {
    enum Mode {
        /// Made when it is missing, for its owner only; SQLite gives the files beside it (log, shared memory) its rights.
        case readWrite
        /// For what must not make a database by mistake.
        case existing
        case readOnly
    }

    private let handle: OpaquePointer
    private let busyMillis: Int32
    /// Written by SQLite after each commit of this connection, on its thread.
    private let committedPages: UnsafeMutablePointer<Int32>
    /// A lock that another program holds is looked at this often.
    private static let busyLookMillis: Int32 = 2
    /// Once, before the first connection. A failure leaves SQLite as it was.
    private static let isConfigured: Bool = csqlite_count_no_memory() == SQLITE_OK
    /// A connection that writes has many statements at work; 200 pieces of 1200 bytes are enough for all of them.
    private static let (lookasideBytes, lookasideCount): (Int32, Int32) = (1200, 200)

    /// - Parameter busyMillis: How long to wait for another process that holds the write lock.
    init(path: String, mode: Mode, busyMillis: Int32) throws(StorageError) {
        if mode == .readWrite {
            do throws(SystemError) {
                _ = try PrivateFile.create(path)
            } catch {
                throw .unavailable("\(path): \(error)")
            }
        }
        _ = Self.isConfigured
        var opened: OpaquePointer?
        let flags = mode == .readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        let code = unsafe sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let opened = unsafe opened else {
            let reason = unsafe String(cString: sqlite3_errmsg(opened))
            // A handle is given even when opening fails, and must be closed (sqlite.org/c3ref/open.html).
            unsafe sqlite3_close_v2(opened)
            throw .unavailable("\(path): \(reason)")
        }
        unsafe handle = opened
        self.busyMillis = busyMillis
        unsafe committedPages = .allocate(capacity: 1)
        unsafe committedPages.initialize(to: 0)
        unsafe sqlite3_extended_result_codes(opened, 1)
        if mode != .readOnly {
            unsafe csqlite_set_lookaside(opened, Self.lookasideBytes, Self.lookasideCount)
        }
        wait(busyMillis)
    }

    deinit {
        // Statements are finalized by their own deinit, which runs before or after: `close_v2` waits for them.
        unsafe sqlite3_finalize(dataVersion)
        unsafe sqlite3_wal_hook(handle, nil, nil)
        unsafe sqlite3_close_v2(handle)
        unsafe committedPages.deallocate()
    }

    /// Runs statements that give no rows.
    package func execute(_ sql: String) throws(StorageError) {
        let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code) }
    }

    package func prepare(_ sql: String) throws(StorageError) -> Statement {
        var statement: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement = unsafe statement else { throw error(code) }
        return unsafe Statement(statement, of: self)
    }

    package func prepare(inserting sql: String, key: String) throws(StorageError) -> Statement { try prepare(sql) }

    package let dialect = SQLDialect.sqlite

    /// SQLite's own count of the commits of other connections (sqlite.org/pragma.html#pragma_data_version).
    private var dataVersion: OpaquePointer?

    package func commitMark() throws(StorageError) -> Int64? {
        if unsafe dataVersion == nil {
            let code = unsafe sqlite3_prepare_v3(
                handle,
                "PRAGMA data_version",
                -1,
                UInt32(SQLITE_PREPARE_PERSISTENT),
                &dataVersion,
                nil
            )
            guard code == SQLITE_OK else { throw error(code) }
        }
        defer { unsafe sqlite3_reset(dataVersion) }
        let code = unsafe sqlite3_step(dataVersion)
        guard code == SQLITE_ROW else { throw error(code) }
        return unsafe sqlite3_column_int64(dataVersion, 0)
    }

    package func beginWriting() throws(StorageError) { try execute("BEGIN IMMEDIATE") }

    package func beginReading() throws(StorageError) { try execute("BEGIN") }

    package func commit() throws(StorageError) { try execute("COMMIT") }

    package func endImport() throws(StorageError) { try execute("PRAGMA synchronous = FULL") }

    package func tellOthers() {}

    /// It looks for the largest itself.
    package func continueNumbers(of table: String, _ column: String) {}

    package func settle() { checkpoint(truncate: true, patienceMillis: SQLiteWriterEngine.busyMillis) }

    package func rollback() {
        // One that SQLite has given up itself is over already.
        if isInTransaction { try? execute("ROLLBACK") }
    }

    var lastInsertedRow: Int64 {
        unsafe sqlite3_last_insert_rowid(handle)
    }

    /// Rows changed by the last INSERT, UPDATE or DELETE.
    package var changes: Int {
        Int(unsafe sqlite3_changes(handle))
    }

    var isInTransaction: Bool {
        unsafe sqlite3_get_autocommit(handle) == 0
    }

    /// Counts the pages of the write-ahead log from now on, in place of SQLite's own checkpoints.
    func watchLog() {
        unsafe sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                unsafe context?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            },
            committedPages
        )
    }

    /// Pages in the write-ahead log after the last commit of this connection.
    var logPages: Int { Int(unsafe committedPages.pointee) }

    /// Copies the write-ahead log into the database; the next commit begins it anew.
    ///
    /// - Parameter patienceMillis: How long to wait for readers of the log.
    /// - Returns: False when somebody still needs the log. What could be copied was copied.
    @discardableResult
    func checkpoint(truncate: Bool, patienceMillis: Int32) -> Bool {
        wait(patienceMillis)
        defer { wait(busyMillis) }
        let mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_RESTART
        return unsafe sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil) == SQLITE_OK
    }

    /// What SQLite's own check of every page and index finds (sqlite.org/pragma.html#pragma_integrity_check).
    package func problems() throws(StorageError) -> [String] {
        let query = try prepare("PRAGMA integrity_check(20)")
        var found: [String] = []
        while try query.step() {
            let line = query.text(0)
            if line != "ok" { found.append(line) }
        }
        return found
    }

    /// How long to wait for a lock that another program holds.
    private func wait(_ millis: Int32) {
        // SQLite's own waits grow to 100 ms each, and would miss the moments between the transactions of another program
        // that writes much. The limit travels as the context itself: nothing is pointed at.
        unsafe sqlite3_busy_handler(
            handle,
            { limit, count in
                guard Int(count) * Int(SQLiteDatabase.busyLookMillis) < Int(bitPattern: limit) else { return 0 }
                sqlite3_sleep(SQLiteDatabase.busyLookMillis)
                return 1
            },
            UnsafeMutableRawPointer(bitPattern: Int(millis))
        )
    }

    /// Copies every page into `other`, as the database stood when the copy began.
    ///
    /// - Parameter progress: Called after each step with the pages left and all pages.
    func copy(
        into other: SQLiteDatabase,
        stepPages: Int32,
        progress: (_ left: Int, _ pages: Int) -> Void
    ) throws(StorageError) {
        // With a read transaction of its own around it, the copy never begins again because somebody wrote meanwhile.
        try execute("BEGIN")
        defer { try? execute("COMMIT") }
        let pin = try prepare("SELECT count(*) FROM sqlite_schema")
        _ = try pin.step()
        pin.reset()
        guard let backup = unsafe sqlite3_backup_init(other.handle, "main", handle, "main") else {
            throw unsafe other.error(sqlite3_errcode(other.handle))
        }
        var code = SQLITE_OK
        while code == SQLITE_OK {
            code = unsafe sqlite3_backup_step(backup, stepPages)
            unsafe progress(Int(sqlite3_backup_remaining(backup)), Int(sqlite3_backup_pagecount(backup)))
        }
        let finished = unsafe sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE, finished == SQLITE_OK else {
            throw other.error(code == SQLITE_DONE ? finished : code)
        }
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
