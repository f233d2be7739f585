package import Entitlements
package import Storage

/// What can be said of a database without changing it.
package struct DatabaseExamination: Sendable {
    /// Numbered files that the program has and the database has not.
    package var pendingMigrations: [String] = []
    /// Why this program cannot use the database.
    package var schemaProblem: String?
    /// What the engine's own check finds; empty is sound.
    package var problems: [String] = []
    /// What the rows were made with; nil when no gateway has run on it.
    package var policy: EntitlementPolicy?
    package var people: Int64 = 0
    /// Events that somebody has to look at, by what became of them.
    package var waiting: [EventOutcome: Int64] = [:]
    /// Keys that are not revoked.
    package var keys: [KeyRecord] = []

    /// - Throws: When the file cannot be opened or is no database.
    package init(of location: any DatabaseLocation) throws(StorageError) {
        let database = try location.connect(.reading)
        problems = try database.problems()
        do throws(StorageError) {
            pendingMigrations = try location.pendingMigrations()
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
        keys = try KeyRecords.active(in: database)
        policy = try? location.storedPolicy()
    }
}
