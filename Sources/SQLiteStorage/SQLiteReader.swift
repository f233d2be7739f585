public import Entitlements
public import Storage

/// A row where it lies, for the length of one call.
public struct RowView: ~Escapable {
    public let version: Int64
    public let updatedAt: UnixMillis
    public let body: Span<UInt8>

    @_lifetime(copy body)
    public init(version: Int64, updatedAt: UnixMillis, body: Span<UInt8>) {
        self.version = version
        self.updatedAt = updatedAt
        self.body = body
    }
}

/// The reading side: one connection and its prepared statements. Belongs to the loop thread that made it.
///
/// The read snapshot is kept open across requests as long as nothing was committed and it is young, because taking and
/// letting go of SQLite's file locks costs more than the read. It is let go before the loop sleeps, and when the writer has
/// committed, so that nobody reads an old row after a newer one was acknowledged. While the log of writes is to be begun anew
/// it ends with each read.
public final class SQLiteReader {
    /// Another process's commit (a command on the same file) shows after this long at the latest.
    static let snapshotMillisMax: Int64 = 100

    let database: SQLiteDatabase
    private let commits: CommitCounter
    private let row: Statement
    private let erased: Statement
    private let begin: Statement
    private let commit: Statement
    private var snapshot: (commits: Int, since: Int64)?

    init(path: String, commits: CommitCounter) throws(StorageError) {
        database = try SQLiteDatabase(path: path, mode: .readOnly, busyMillis: 1000)
        try database.execute("PRAGMA query_only = ON; PRAGMA cache_size = -8192; PRAGMA mmap_size = 268435456;")
        self.commits = commits
        row = try database.prepare(
            "SELECT version, updated_at, body FROM subscription WHERE user_id = ? AND environment = ?"
        )
        erased = try database.prepare("SELECT version, updated_at FROM erased WHERE digest = ? AND environment = ?")
        begin = try database.prepare("BEGIN")
        commit = try database.prepare("COMMIT")
    }

    /// Calls `body` with the user's row, or with nil when there is none.
    ///
    /// - Parameter user: The id's bytes, checked and in its kept form.
    public func withRow<Value>(
        of user: UnsafeRawBufferPointer,
        in environment: StoreEnvironment,
        now: UnixMillis,
        _ body: (borrowing RowView?) -> Value
    ) throws(StorageError) -> Value {
        try keepSnapshot(now)
        unsafe row.bindText(1, uncopied: user)
        row.bind(2, Int64(environment.rawValue))
        defer {
            row.reset()
            if commits.mustLetGo { letGo() }
        }
        guard try row.step() else { return body(nil) }
        let bytes = unsafe row.blobInPlace(2)
        return unsafe body(
            RowView(version: row.integer(0), updatedAt: UnixMillis(row.integer(1)), body: bytes.span)
        )
    }

    /// The version of an erased user; nil when the user was never there.
    public func erasedVersion(of user: UserID, in environment: StoreEnvironment) throws(StorageError) -> (
        Int64, UnixMillis
    )? {
        erased.bind(1, SQLiteTransaction.digest(of: user))
        erased.bind(2, Int64(environment.rawValue))
        defer { erased.reset() }
        return try erased.step() ? (erased.integer(0), UnixMillis(erased.integer(1))) : nil
    }

    private func keepSnapshot(_ now: UnixMillis) throws(StorageError) {
        if let snapshot {
            let age = now.value - snapshot.since
            let isNewest = snapshot.commits == commits.value && !commits.mustLetGo
            if isNewest, age >= 0, age < Self.snapshotMillisMax { return }
            letGo()
        }
        snapshot = (commits.value, now.value)
        try begin.run()
    }

    /// Ends the snapshot: before the loop sleeps, and before anything that reads with other statements.
    public func letGo() {
        guard snapshot != nil else { return }
        snapshot = nil
        // Nothing was written; ending a read transaction cannot fail in a way that matters.
        try? commit.run()
    }
}
