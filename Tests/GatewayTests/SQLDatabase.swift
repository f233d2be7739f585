internal import CSQLite

/// A database file beside the program, to look into it and to damage it. For one thread.
final class SQLDatabase {
    private var handle: OpaquePointer?

    init(_ path: String) throws {
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else {
            throw GatewayTestError("\(path) cannot be opened")
        }
    }

    deinit {
        sqlite3_close_v2(handle)
    }

    func execute(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
            throw GatewayTestError("\(sql): \(String(cString: sqlite3_errmsg(handle)))")
        }
    }

    /// The first value of the first row.
    func text(_ sql: String) throws -> String {
        try rows(sql).first ?? ""
    }

    func integer(_ sql: String) throws -> Int64 {
        Int64(try text(sql)) ?? -1
    }

    /// The columns of every row, joined by `|`; bytes in hexadecimal.
    func rows(_ sql: String) throws -> [String] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
            throw GatewayTestError("\(sql): \(String(cString: sqlite3_errmsg(handle)))")
        }
        defer { sqlite3_finalize(statement) }
        var rows: [String] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                rows.append((0..<sqlite3_column_count(statement)).map { column(statement, $0) }.joined(separator: "|"))
            case SQLITE_DONE: return rows
            default: throw GatewayTestError("\(sql): \(String(cString: sqlite3_errmsg(handle)))")
            }
        }
    }

    private func column(_ statement: OpaquePointer?, _ index: Int32) -> String {
        guard sqlite3_column_type(statement, index) == SQLITE_BLOB else {
            return sqlite3_column_text(statement, index).map { String(cString: $0) } ?? "null"
        }
        let count = Int(sqlite3_column_bytes(statement, index))
        guard let bytes = sqlite3_column_blob(statement, index) else { return "" }
        return SHA256Digest.hex(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
    }
}
