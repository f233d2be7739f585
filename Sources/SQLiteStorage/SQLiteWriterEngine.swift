internal import SQLStorage
internal import Storage

/// The writer's side of a file: its commits are synced, and the readers of this process are told which rows they wrote.
final class SQLiteWriterEngine: WriterEngine {
    /// How long another process may hold the write lock before a write is refused.
    static let busyMillis: Int32 = 1000
    /// How long another process's commit may go unnoticed; a reader's snapshot adds its own age.
    let idleMillis = 250

    private let file: SQLiteDatabase
    private let commits: CommitCounter
    private var checkpoints: LogCheckpoints

    init(path: String, commits: CommitCounter) throws(StorageError) {
        file = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: Self.busyMillis)
        // Every commit is synced: an acknowledged event survives a power cut (sqlite.org/pragma.html#pragma_synchronous).
        try file.execute(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF;
            PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 33554432; PRAGMA cache_size = -16384;
            """
        )
        self.commits = commits
        checkpoints = LogCheckpoints(file, commits: commits)
    }

    var database: any SQLDatabase { file }

    func othersWrote() {
        commits.stamps.markAll(commit: commits.value + 1)
        commits.rows?.forgetAll()
        commits.increment()
    }

    func willCommit(_ changed: [ChangedRow], lastVersion: Int64) {}

    /// Tells the readers what this commit has written.
    func committed(_ changed: [ChangedRow]) {
        let commit = commits.value + 1
        for row in changed {
            let hash = commits.stamps.hash(row.user, row.environment)
            commits.stamps.mark(hash, commit: commit)
            commits.rows?.forget(hash)
        }
        commits.increment()
    }

    func rest() { checkpoints.afterCommit() }

    /// One that waits for a lock has waited long enough.
    var isWorthRepeating: Bool { false }

    func finish() { checkpoints.finish() }
}
