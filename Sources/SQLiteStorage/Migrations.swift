internal import SQLStorage
internal import Storage

/// The numbered files of `schema/sqlite`, applied in order, each once and whole.
///
/// A database remembers the checksum of every file it was made with: a file that was edited after its release, or a
/// database from a newer version of the program, is refused instead of guessed at.
enum Migrations {
    static var known: [Migration] { Migration.known(below: "schema/sqlite/") }

    /// Brings the database at `path` up to date.
    ///
    /// - Returns: The names of the files that were applied now.
    /// - Throws: `.wrongSchema` for a database from a newer version or with an edited file.
    static func apply(to path: String) throws(StorageError) -> [String] {
        let database = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 10_000)
        // Before any table is there: the page size is fixed with the first one. Rows and facts are small, and 2 KiB pages
        // write less of what did not change.
        try database.execute("PRAGMA page_size = 2048; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
        try database.execute(
            "CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL) STRICT"
        )
        var names: [String] = []
        for migration in try pending(in: database, path: path) {
            try database.execute("BEGIN IMMEDIATE")
            do throws(StorageError) {
                try database.execute(migration.sql)
                try migration.note(in: database)
                try database.execute("COMMIT")
            } catch {
                try? database.execute("ROLLBACK")
                throw error
            }
            names.append(migration.name)
        }
        return names
    }

    /// Names of the files that the database at `path` does not have yet; nothing is changed.
    static func pending(at path: String) throws(StorageError) -> [String] {
        try pending(in: SQLiteDatabase(path: path, mode: .readOnly, busyMillis: 1000), path: path).map(\.name)
    }

    /// What the database does not have yet.
    static func pending(in database: SQLiteDatabase, path: String) throws(StorageError) -> [Migration] {
        let tables = try database.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'migration'")
        let applied = tables > 0 ? try Migration.applied(in: database) : [:]
        return try Migration.pending(of: known, applied: applied, in: path)
    }
}
