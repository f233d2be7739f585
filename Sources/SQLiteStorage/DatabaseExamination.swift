public import Entitlements
public import Storage

/// What can be said of a database file without changing it.
public struct DatabaseExamination: Sendable {
    /// Numbered files that the program has and the database has not.
    public var pendingMigrations: [String] = []
    /// Why this program cannot use the database.
    public var schemaProblem: String?
    /// What SQLite's own check finds; empty is sound.
    public var problems: [String] = []
    /// What the rows were made with; nil when no gateway has run on it.
    public var policy: EntitlementPolicy?
    public var people: Int64 = 0
    /// Events that somebody has to look at, by what became of them.
    public var waiting: [EventOutcome: Int64] = [:]
    /// Keys that are not revoked.
    public var keys: [KeyRecord] = []

    /// - Throws: When the file cannot be opened or is no database.
    public init(of path: String) throws(StorageError) {
        let database = try SQLiteDatabase(path: path, mode: .existing, busyMillis: 5000)
        problems = try database.problems()
        do throws(StorageError) {
            pendingMigrations = try Migrations.pending(in: database, path: path).map(\.name)
        } catch {
            schemaProblem = error.description
            return
        }
        guard pendingMigrations.isEmpty else { return }
        people = try database.integer("SELECT count(DISTINCT user_id) FROM subscription")
        let query = try database.prepare("SELECT outcome, count(*) FROM event WHERE outcome >= 5 GROUP BY outcome")
        while try query.step() {
            guard let outcome = EventOutcome(rawValue: UInt8(truncatingIfNeeded: query.integer(0))) else { continue }
            waiting[outcome] = query.integer(1)
        }
        keys = try KeyRecords.active(database)
        policy = try? SQLiteStore.storedPolicy(path: path)
    }
}

extension SQLiteDatabase {
    /// What SQLite's own check of every page and index finds (sqlite.org/pragma.html#pragma_integrity_check).
    func problems() throws(StorageError) -> [String] {
        let query = try prepare("PRAGMA integrity_check(20)")
        var found: [String] = []
        while try query.step() {
            let line = query.text(0)
            if line != "ok" { found.append(line) }
        }
        return found
    }

    /// The first value of the first row; 0 when there is none.
    func integer(_ sql: String) throws(StorageError) -> Int64 {
        let query = try prepare(sql)
        return try query.step() ? query.integer(0) : 0
    }
}
