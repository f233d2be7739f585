internal import Crypto
package import Entitlements
package import SQLStorage
package import Storage

/// The reading side: one connection and its prepared statements. Belongs to the loop thread that made it.
///
/// The read snapshot is kept open across requests as long as nothing was committed and it is young, because taking and
/// letting go of SQLite's file locks costs more than the read. It is let go before the loop sleeps, and when the writer has
/// committed, so that nobody reads an old row after a newer one was acknowledged. While the log of writes is to be begun anew
/// it ends with each read.
package final class SQLiteReader: SQLReading {
    /// Another process's commit (a command on the same file) shows after this long at the latest.
    static let snapshotMillisMax: Int64 = 100

    package let database: SQLiteDatabase
    private let commits: CommitCounter
    /// Rows in memory, and this reader's place to look at one.
    private let kept: (rows: RowCache, packed: PackedRow)?
    private let row: Statement
    private let erased: Statement
    private let anyErased: Statement
    private let begin: Statement
    private let commit: Statement
    private var snapshot: (commits: Int, since: Int64)?
    /// Whether the snapshot holds an erased user; nil as long as nobody asked.
    private var hasErased: Bool?

    init(path: String, commits: CommitCounter, keepsRows: Bool = false) throws(StorageError) {
        kept = keepsRows ? commits.rows.map { ($0, PackedRow($0.templates)) } : nil
        database = try SQLiteDatabase(path: path, mode: .readOnly, busyMillis: 1000)
        // No memory map: it would be faster by a system call a page, and would hold as much memory as the file has bytes.
        try database.execute("PRAGMA query_only = ON; PRAGMA cache_size = -24576;")
        self.commits = commits
        row = try database.prepare(
            "SELECT version, updated_at, body FROM subscription WHERE user_id = ? AND environment = ?"
        )
        erased = try database.prepare("SELECT version, updated_at FROM erased WHERE digest = ? AND environment = ?")
        anyErased = try database.prepare("SELECT EXISTS (SELECT 1 FROM erased)")
        begin = try database.prepare("BEGIN")
        commit = try database.prepare("COMMIT")
    }

    /// Calls `body` with the user's row, or with nil when there is none.
    ///
    /// - Parameter user: The id's bytes, checked and in its kept form.
    package func withRow(
        of user: UnsafeRawBufferPointer,
        in environment: StoreEnvironment,
        now: UnixMillis,
        _ body: (borrowing RowView?) -> Void
    ) throws(StorageError) {
        let hash = unsafe commits.stamps.hash(user, environment)
        if let kept, kept.rows.find(hash, kept.packed) {
            kept.packed.withRow(body)
            // A loop that finds everything here must not hold an old snapshot for it.
            if !isSnapshotGood(now) { letGo() }
            return
        }
        let known = try keepSnapshot(now)
        unsafe row.bindText(1, uncopied: user)
        row.bind(2, Int64(environment.rawValue))
        defer {
            row.reset()
            if commits.mustLetGo { letGo() }
        }
        guard try row.step() else {
            body(nil)
            return
        }
        let bytes = unsafe row.blobInPlace(2)
        let view = unsafe RowView(version: row.integer(0), updatedAt: UnixMillis(row.integer(1)), body: bytes.span)
        if let kept { kept.rows.keep(hash, view, asOf: known, commits.stamps, kept.packed) }
        body(view)
    }

    /// The version of an erased user; nil when the user was never there. To be asked right after `withRow` found nothing.
    ///
    /// - Parameter user: The id's bytes, checked and in its kept form.
    package func erasedVersion(
        of user: UnsafeRawBufferPointer,
        in environment: StoreEnvironment
    ) throws(StorageError) -> (Int64, UnixMillis)? {
        // Most databases hold none, and then no digest has to be made.
        if hasErased == nil {
            defer { anyErased.reset() }
            hasErased = try anyErased.step() && anyErased.integer(0) != 0
        }
        guard hasErased == true else { return nil }
        defer { erased.reset() }
        erased.bind(2, Int64(environment.rawValue))
        let prefix = SQLTransaction.erasedPrefix
        var isFound: Result<Bool, StorageError> = .success(false)
        unsafe Digest.withSHA256(
            of: UnsafeRawBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount),
            user
        ) { digest in
            unsafe erased.bind(1, uncopied: digest)
            isFound = Result { () throws(StorageError) in try erased.step() }
        }
        return try isFound.get() ? (erased.integer(0), UnixMillis(erased.integer(1))) : nil
    }

    package func readTogether(_ now: UnixMillis) throws(StorageError) { try keepSnapshot(now) }

    /// What a person is entitled to, as values.
    package func subscription(of user: UserID, now: UnixMillis) throws(StorageError) -> Subscription {
        let id = Array(user.value.utf8)
        var body: [UInt8]?
        try unsafe id.withUnsafeBufferPointer { bytes throws(StorageError) in
            try unsafe withRow(of: UnsafeRawBufferPointer(bytes), in: .production, now: now) { row in
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

    /// Makes sure of a snapshot no older than the newest commit, and says which commit was the newest known before it.
    @discardableResult
    func keepSnapshot(_ now: UnixMillis) throws(StorageError) -> Int {
        if let snapshot, isSnapshotGood(now) { return snapshot.commits }
        letGo()
        let known = commits.value
        snapshot = (known, now.value)
        try begin.run()
        return known
    }

    /// False when there is one that is to be let go.
    private func isSnapshotGood(_ now: UnixMillis) -> Bool {
        guard let snapshot else { return true }
        let age = now.value - snapshot.since
        return snapshot.commits == commits.value && age >= 0 && age < Self.snapshotMillisMax
            && !commits.mustLetGo
    }

    /// Ends the snapshot: before the loop sleeps, and before anything that reads with other statements.
    package func letGo() {
        // Asked without a snapshot, it is not of the next one.
        hasErased = nil
        guard snapshot != nil else { return }
        snapshot = nil
        // Nothing was written; ending a read transaction cannot fail in a way that matters.
        try? commit.run()
    }
}
