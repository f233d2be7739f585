internal import Crypto
public import Storage

/// The numbered files of `schema/sqlite`, applied in order, each once and whole.
///
/// A database remembers the checksum of every file it was made with: a file that was edited after its release, or a
/// database from a newer version of the program, is refused instead of guessed at.
public enum Migrations {
    struct Migration {
        let number: Int
        let name: String
        let sql: String
        let checksum: String
    }

    static var known: [Migration] {
        EmbeddedFile.all(below: "schema/sqlite/").compactMap { file in
            let name = file.path.split(separator: "/").last.map(String.init) ?? ""
            guard let number = Int(name.prefix { $0 != "_" }) else { return nil }
            return Migration(
                number: number,
                name: name,
                sql: String(decoding: file.bytes, as: UTF8.self),
                checksum: Digest.sha256Hex(file.bytes)
            )
        }
    }

    /// Brings the database at `path` up to date.
    ///
    /// - Returns: The names of the files that were applied now.
    /// - Throws: `.wrongSchema` for a database from a newer version or with an edited file.
    public static func apply(to path: String) throws(StorageError) -> [String] {
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
                let insert = try database.prepare("INSERT INTO migration (number, name, checksum) VALUES (?, ?, ?)")
                insert.bind(1, Int64(migration.number))
                insert.bind(2, migration.name)
                insert.bind(3, migration.checksum)
                try insert.run()
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
    package static func pending(at path: String) throws(StorageError) -> [String] {
        try pending(in: SQLiteDatabase(path: path, mode: .readOnly, busyMillis: 1000), path: path).map(\.name)
    }

    /// What the database does not have yet.
    static func pending(in database: SQLiteDatabase, path: String) throws(StorageError) -> [Migration] {
        var applied: [Int64: String] = [:]
        let tables = try database.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'migration'")
        if tables > 0 {
            let query = try database.prepare("SELECT number, checksum FROM migration")
            while try query.step() { applied[query.integer(0)] = query.text(1) }
        }
        let known = known
        if let newest = applied.keys.max(), newest > Int64(known.last?.number ?? 0) {
            throw .wrongSchema(
                "\(path) was made by a newer version of the gateway (its schema is \(newest), this program knows up to \(known.last?.number ?? 0)); start that version"
            )
        }
        var pending: [Migration] = []
        for migration in known {
            guard let checksum = applied[Int64(migration.number)] else {
                pending.append(migration)
                continue
            }
            guard checksum == migration.checksum else {
                throw .wrongSchema(
                    "\(path) was made with another \(migration.name) than this program has; restore the program it was made with"
                )
            }
        }
        return pending
    }
}
