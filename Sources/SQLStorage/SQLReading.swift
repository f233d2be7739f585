package import Entitlements
package import Storage

/// A connection that reads. What is asked of it is the same text for every engine.
///
/// Belongs to the thread that made it, which may wait for the answer.
package protocol SQLReading: AnyObject {
    associatedtype Database: SQLDatabase

    var database: Database { get }

    /// The rows of several users, in one round trip where that is more than one call.
    func rowCopies(of keys: [(UserID, StoreEnvironment)]) throws(StorageError) -> [RowCopy]

    /// The same where some of them may be a moment old, if a copy of the database answers faster or further away.
    func rows(_ questions: [RowQuestion]) throws(StorageError) -> [FoundRow]

    /// What follows is read from one snapshot as far as the engine keeps one, no older than the newest commit.
    func readTogether(_ now: UnixMillis) throws(StorageError)

    /// Ends the snapshot, if one is kept: before the thread sleeps, and before anything is read that must be new.
    func letGo()
}

/// Which row is asked for.
package struct RowQuestion: Sendable {
    package var user: UserID
    package var environment: StoreEnvironment
    /// As the last commit has left it, not as a copy of the database knows it.
    package var isNewest: Bool

    package init(user: UserID, environment: StoreEnvironment, isNewest: Bool) {
        (self.user, self.environment, self.isNewest) = (user, environment, isNewest)
    }
}

/// A row, and whether it is as the last commit has left it.
package struct FoundRow: Sendable {
    package var copy: RowCopy
    package var isNewest: Bool

    package init(_ copy: RowCopy, isNewest: Bool) {
        (self.copy, self.isNewest) = (copy, isNewest)
    }
}

/// A row as it was read, or what is left of an erased one; copied, so that it may travel to another thread.
package enum RowCopy: Sendable {
    case row(version: Int64, updatedAt: UnixMillis, body: [UInt8])
    /// The user was erased.
    case erased(version: Int64, updatedAt: UnixMillis)
    /// The user was never there.
    case none

    /// What the row says, as values.
    package func subscription() throws(StorageError) -> Subscription {
        guard case .row(_, _, let body) = self else { return Subscription() }
        return try SubscriptionRow.decode(body)
    }
}

extension SQLReading {
    func indexed(by index: String) -> String { database.dialect.indexed(by: index) }

    package func rowCopies(of keys: [(UserID, StoreEnvironment)]) throws(StorageError) -> [RowCopy] {
        var rows: [RowCopy] = []
        for (user, environment) in keys { rows.append(try rowCopy(of: user, in: environment)) }
        return rows
    }

    package func rows(_ questions: [RowQuestion]) throws(StorageError) -> [FoundRow] {
        try rowCopies(of: questions.map { ($0.user, $0.environment) }).map { FoundRow($0, isNewest: true) }
    }

    /// The row of a user, copied.
    package func rowCopy(of user: UserID, in environment: StoreEnvironment) throws(StorageError) -> RowCopy {
        letGo()
        let query = try database.prepare(RowSQL.row)
        query.bind(1, user.value)
        query.bind(2, Int64(environment.rawValue))
        defer { query.reset() }
        if try query.step() { return RowSQL.row(query) }
        let erased = try database.prepare(RowSQL.erased)
        erased.bind(1, SQLTransaction.digest(of: user))
        erased.bind(2, Int64(environment.rawValue))
        defer { erased.reset() }
        return try erased.step() ? RowSQL.erased(erased) : .none
    }
}

/// How a single row is asked for.
package enum RowSQL {
    package static let row = "SELECT version, updated_at, body FROM subscription WHERE user_id = ? AND environment = ?"
    package static let erased = "SELECT version, updated_at FROM erased WHERE digest = ? AND environment = ?"

    /// By what an erased user is known.
    package static func digest(of user: UserID) -> [UInt8] { SQLTransaction.digest(of: user) }

    package static func row(_ query: any SQLStatement) -> RowCopy {
        .row(version: query.integer(0), updatedAt: UnixMillis(query.integer(1)), body: query.blob(2))
    }

    package static func erased(_ query: any SQLStatement) -> RowCopy {
        .erased(version: query.integer(0), updatedAt: UnixMillis(query.integer(1)))
    }
}
