#if Postgres
    internal import SQLStorage
    package import Storage

    /// A statement with its values and, once it ran, its rows.
    package final class PostgresStatement: SQLStatement {
        private let sql: String
        private let database: PostgresDatabase
        private let isRead: Bool
        private var values: [PostgresValue] = []
        private var result: PostgresResult?
        private var row: Int32 = -1
        /// Where the number of a new row comes from, or the one number that is asked for.
        private let sequence: String?
        private let isInsert: Bool
        private var number: Int64?

        /// - Parameter sequence: Gives the last value of an INSERT.
        init(_ sql: String, of database: PostgresDatabase, numberedBy sequence: String? = nil) {
            self.sequence = sequence ?? NumberBlocks.sequence(in: sql)
            isInsert = sequence != nil
            self.sql = sql
            self.database = database
            isRead = sql.hasPrefix("SELECT")
        }

        // MARK: - Binding

        package func bind(_ place: Int32, _ value: Int64?) { set(place, .integer(value)) }
        package func bind(_ place: Int32, _ value: String?) { set(place, .text(value.map(PostgresText.encoded))) }
        package func bind(_ place: Int32, _ value: [UInt8]?) { set(place, .bytes(value)) }

        private func set(_ place: Int32, _ value: PostgresValue) {
            while values.count < place { values.append(.integer(nil)) }
            values[Int(place) - 1] = value
        }

        // MARK: - Running

        package func step() throws(StorageError) -> Bool {
            if let sequence, !isInsert {
                number = number == nil ? try database.nextNumber(of: sequence) : nil
                return number != nil
            }
            if result == nil {
                result = try database.run(sql, values, isRead: isRead)
                row = -1
            }
            row += 1
            guard let result, row < result.count else {
                // The end: the next step runs it anew.
                self.result = nil
                return false
            }
            return true
        }

        package func run() throws(StorageError) {
            defer { reset() }
            try database.runLater(sql, values, isRead: isRead)
        }

        package func insert() throws(StorageError) -> Int64? {
            defer { reset() }
            if let sequence {
                let number = try database.nextNumber(of: sequence)
                values.append(.integer(number))
                try database.runLater(sql, values, isRead: false)
                return number
            }
            let result = try database.run(sql, values, isRead: false)
            return result.count > 0 ? result.integer(0, 0) : nil
        }

        package func reset() {
            result = nil
            number = nil
            row = -1
            values.removeAll(keepingCapacity: true)
        }

        // MARK: - Columns

        package func isNull(_ place: Int32) -> Bool { number == nil && (result?.isNull(row, place) ?? true) }
        package func integer(_ place: Int32) -> Int64 { number ?? result?.integer(row, place) ?? 0 }

        package func text(_ place: Int32) -> String {
            unsafe result?.bytes(row, place) { bytes in unsafe PostgresText.decoded(bytes) } ?? ""
        }

        package func blob(_ place: Int32) -> [UInt8] {
            unsafe result?.bytes(row, place) { bytes in unsafe [UInt8](bytes) } ?? []
        }
    }
#endif
