#if Postgres
    internal import CLibPQ

    /// What a statement came to, with all its rows.
    @safe
    final class PostgresResult {
        private let handle: OpaquePointer
        let count: Int32

        init(_ handle: OpaquePointer) {
            unsafe self.handle = handle
            count = unsafe PQntuples(handle)
        }

        deinit {
            unsafe PQclear(handle)
        }

        var isFailure: Bool {
            switch unsafe PQresultStatus(handle) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY, PGRES_PIPELINE_SYNC: false
            default: true
            }
        }

        /// The end of a pipeline.
        var isSync: Bool { unsafe PQresultStatus(handle) == PGRES_PIPELINE_SYNC }

        /// Five characters that say what failed; empty when the connection did.
        var sqlState: String {
            // The field is named by its letter (postgresql.org/docs/current/libpq-exec.html, PG_DIAG_SQLSTATE).
            guard let state = unsafe PQresultErrorField(handle, Int32(UInt8(ascii: "C"))) else { return "" }
            return unsafe String(cString: state)
        }

        /// What failed in words, without the values that the details may name.
        var message: String {
            guard let message = unsafe PQresultErrorField(handle, Int32(UInt8(ascii: "M"))) else {
                return "the connection was lost"
            }
            return unsafe String(cString: message)
        }

        /// The first word of what was done: of a COMMIT that had to undo everything it is another one.
        var command: String { unsafe String(cString: PQcmdStatus(handle)) }

        /// Rows that an INSERT, UPDATE or DELETE has changed.
        var changes: Int { unsafe Int(String(cString: PQcmdTuples(handle))) ?? 0 }

        func isNull(_ row: Int32, _ place: Int32) -> Bool { unsafe PQgetisnull(handle, row, place) == 1 }

        /// The bytes of a value; empty for NULL.
        func bytes<Value>(_ row: Int32, _ place: Int32, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
            // They are valid as long as the result is.
            let start = unsafe PQgetvalue(handle, row, place)
            let count = Int(unsafe PQgetlength(handle, row, place))
            return unsafe body(UnsafeRawBufferPointer(start: start, count: count))
        }

        /// A whole number of any width, or a truth; 0 for NULL.
        func integer(_ row: Int32, _ place: Int32) -> Int64 {
            unsafe bytes(row, place) { bytes in
                var value: UInt64 = 0
                for index in 0..<bytes.count { value = unsafe value << 8 | UInt64(bytes[index]) }
                let unused = UInt64(64 - bytes.count * 8)
                guard bytes.count > 1, unused < 64 else { return Int64(value) }
                return Int64(bitPattern: value << unused) >> Int64(unused)
            }
        }
    }
#endif
