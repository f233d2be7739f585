internal import Platform

/// Keeps the write-ahead log short.
///
/// SQLite begins the log anew only at a moment when nobody reads from it. Loops that are busy keep a snapshot nearly all the
/// time, so that this moment never comes by itself, and the log would grow by some 10 KB with each event. Past a length the
/// readers are therefore asked to let go after each read, for the few milliseconds that a checkpoint takes.
struct LogCheckpoints {
    /// 16 MiB of pages of 2 KiB: the copy costs a fraction of a second, and happens once for more than a thousand events.
    static let pagesMax = 8000
    /// How long the readers of other processes are waited for; those of this one let go within a read.
    static let patienceMillis: Int32 = 100
    /// A reader of another process (a backup) may take minutes, and writes do not wait for it more often than this.
    static let pauseMillis = 2000
    /// From 64 MiB on somebody should know who reads for so long.
    static let pagesWarned = 32_000
    static let warningSeconds = 60

    private let database: SQLiteDatabase
    private let commits: CommitCounter
    private var nextTry = MonotonicNanos(value: 0)
    private var nextWarning = MonotonicNanos(value: 0)

    init(_ database: SQLiteDatabase, commits: CommitCounter) {
        self.database = database
        self.commits = commits
        database.watchLog()
    }

    /// To be called when a commit's replies are out.
    mutating func afterCommit() {
        let pages = database.logPages
        guard pages >= Self.pagesMax else { return }
        let now = MonotonicNanos.now()
        guard now >= nextTry else { return }
        commits.askReadersToLetGo(true)
        defer { commits.askReadersToLetGo(false) }
        let isDone = database.checkpoint(
            truncate: false,
            patienceMillis: Self.patienceMillis
        )
        if isDone { return }
        nextTry = .now().adding(milliseconds: Self.pauseMillis)
        if pages >= Self.pagesWarned, now >= nextWarning {
            nextWarning = now.adding(seconds: Self.warningSeconds)
            Log.warning(
                "the log of writes grows: another process has been reading the database for long",
                ("pages", .integer(Int64(pages)))
            )
        }
    }

    /// Empties the log at the end of the writer.
    func finish() {
        database.checkpoint(truncate: true, patienceMillis: SQLiteWriterEngine.busyMillis)
    }
}
