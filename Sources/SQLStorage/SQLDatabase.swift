package import Storage

/// One connection to a database that speaks SQL, as the one text of the store sees it: what is said to it is the same for
/// every engine, and what differs is told by `dialect`.
///
/// Belongs to the thread that made it.
package protocol SQLDatabase: AnyObject {
    associatedtype Prepared: SQLStatement

    var dialect: SQLDialect { get }

    /// Runs statements that give no rows and take no values.
    func execute(_ sql: String) throws(StorageError)

    /// A statement with `?` or `?1` for its values. The same text may be prepared again and again.
    func prepare(_ sql: String) throws(StorageError) -> Prepared

    /// An INSERT of at most one row that gets a number of its own in the column `key`.
    func prepare(inserting sql: String, key: String) throws(StorageError) -> Prepared

    /// Rows changed by the last INSERT, UPDATE or DELETE that was run.
    var changes: Int { get }

    /// A number that moves whenever another connection has committed; nil where the engine has none.
    func commitMark() throws(StorageError) -> Int64?

    /// Begins a transaction in which nobody else writes until it ends.
    func beginWriting() throws(StorageError)

    /// Begins a transaction that sees the database as it stands now.
    func beginReading() throws(StorageError)

    func commit() throws(StorageError)

    /// From now on every commit is on the disk when it returns, the earlier ones with it.
    func endImport() throws(StorageError)

    /// Programs that serve the same database are told, when the open transaction is committed, that rows have changed; nothing
    /// where they see it by themselves.
    func tellOthers() throws(StorageError)

    /// Numbers that the database gives go on after those that were carried into a table.
    func continueNumbers(of table: String, _ column: String) throws(StorageError)

    /// What the engine finds wrong with the database or with how it is run; empty is sound.
    func problems() throws(StorageError) -> [String]

    /// Puts the database in order after a long work.
    func settle()

    /// Gives the open transaction up; nothing happens when there is none.
    func rollback()
}

extension SQLDatabase {
    /// The first value of the first row; 0 when there is none.
    package func integer(_ sql: String) throws(StorageError) -> Int64 {
        let query = try prepare(sql)
        defer { query.reset() }
        return try query.step() ? query.integer(0) : 0
    }
}

/// A statement with its values and its rows.
package protocol SQLStatement: AnyObject {
    // Binding: places count from 1.
    func bind(_ place: Int32, _ value: Int64?)
    func bind(_ place: Int32, _ value: String?)
    func bind(_ place: Int32, _ value: [UInt8]?)

    /// True when there is a row to read.
    func step() throws(StorageError) -> Bool

    /// Runs a statement that gives no row, and makes it ready for the next use.
    func run() throws(StorageError)

    /// Runs an INSERT that was prepared with its key.
    ///
    /// - Returns: The new row's own number; nil when nothing was inserted.
    func insert() throws(StorageError) -> Int64?

    /// Ends the run, and forgets what was bound.
    func reset()

    // Columns: places count from 0.
    func isNull(_ place: Int32) -> Bool
    func integer(_ place: Int32) -> Int64
    func text(_ place: Int32) -> String
    func blob(_ place: Int32) -> [UInt8]
}

extension SQLStatement {
    package func optionalInteger(_ place: Int32) -> Int64? { isNull(place) ? nil : integer(place) }
    package func optionalText(_ place: Int32) -> String? { isNull(place) ? nil : text(place) }
    package func optionalBlob(_ place: Int32) -> [UInt8]? { isNull(place) ? nil : blob(place) }
}

/// Where the engines do not speak the same SQL.
package enum SQLDialect: Sendable {
    case sqlite
    case postgres

    /// The index that a query goes through where the engine has to be told.
    func indexed(by index: String) -> String {
        switch self {
        case .sqlite: "INDEXED BY \(index)"
        case .postgres: ""
        }
    }

    /// A query for the number of a table's next row, to be asked where nobody else writes.
    func nextNumber(of table: String, _ column: String) -> String {
        switch self {
        case .sqlite: "SELECT coalesce(max(\(column)), 0) + 1 FROM \(table)"
        case .postgres: "SELECT nextval(pg_get_serial_sequence('\(table)', '\(column)'))"
        }
    }
}
