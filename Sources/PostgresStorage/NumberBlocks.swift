#if Postgres
    /// Numbers of sequences that were taken many at a time, so that not every new row waits for its number.
    ///
    /// They are good on the connection that took them: a server that has crashed, or the standby in its place, may give the same ones
    /// out again to somebody else.
    struct NumberBlocks {
        static let size = 32

        private var left: [String: ArraySlice<Int64>] = [:]

        /// - Parameter sequence: As it stands within `nextval( )`.
        mutating func next(of sequence: String) -> Int64? { left[sequence]?.popFirst() }

        mutating func took(_ numbers: [Int64], of sequence: String) { left[sequence] = numbers[...] }

        mutating func forget() { left = [:] }

        static let call = "SELECT nextval("

        /// The sequence, of a statement that asks for one number and nothing else.
        static func sequence(in sql: String) -> String? {
            guard sql.hasPrefix(call), sql.hasSuffix(")") else { return nil }
            return String(sql.dropFirst(call.count).dropLast())
        }

        /// An INSERT of one certain row that takes its number along, as the last value; nil for one that may insert nothing.
        static func numbered(_ sql: String, key: String) -> (sql: String, sequence: String)? {
            let parts = sql.split(separator: ") VALUES (")
            guard parts.count == 2, parts[1].hasSuffix(")"), !parts[1].dropLast().contains(")"),
                parts[0].hasPrefix("INSERT INTO "), let table = parts[0].dropFirst(12).split(separator: " ").first
            else { return nil }
            let text = "\(parts[0]), \(key)) VALUES (\(parts[1].dropLast()), ?)"
            return (text, "pg_get_serial_sequence('\(table)', '\(key)')")
        }
    }
#endif
