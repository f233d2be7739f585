internal import Platform
internal import Synchronization

/// Brings the write-ahead log back into the database, so that it stays short however much is read and written.
///
/// SQLite would do it by itself inside COMMIT, where the senders wait for it, and it begins the log anew only at a moment at
/// which no reader stands in it: readers that keep their snapshots leave no such moment, and the log grows without end. So the
/// writer does it here, when its answers are out, and asks the readers to let go when the log is long.
struct Checkpoints {
    /// Pages of 2 KiB. From 8 MiB on the log is copied back; from 24 MiB on the readers have to let go.
    static let pagesToCopy = 4000
    static let pagesTooMany = 12_000
    /// How long the readers are waited for. They let go within a turn of their loops; another process may not.
    private static let waitMillis: Int32 = 100
    /// When another process would not let go, it is not asked with every commit.
    private static let pauseMillis = 5000

    private let database: SQLiteDatabase
    private let commits: CommitCounter
    private var copiedAt = 0
    private var again = MonotonicNanos(value: 0)

    init(_ database: SQLiteDatabase, _ commits: CommitCounter) {
        self.database = database
        self.commits = commits
        database.countLogPages()
    }

    /// To be called when the answers to a commit are out.
    mutating func afterCommit() {
        let pages = database.logPages
        if pages < copiedAt { copiedAt = 0 }
        if pages >= Self.pagesTooMany, MonotonicNanos.now() >= again { return empty() }
        guard pages - copiedAt >= Self.pagesToCopy else { return }
        copiedAt = pages
        database.checkpoint(truncate: false)
    }

    private mutating func empty() {
        commits.isLogLong.store(true, ordering: .releasing)
        database.setBusy(milliseconds: Self.waitMillis)
        if database.checkpoint(truncate: true) {
            copiedAt = 0
        } else {
            again = MonotonicNanos.now().adding(milliseconds: Self.pauseMillis)
        }
        database.setBusy(milliseconds: SQLiteWriter.busyMillis)
        commits.isLogLong.store(false, ordering: .releasing)
    }
}
