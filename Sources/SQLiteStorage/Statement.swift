internal import CSQLite
internal import SQLStorage
package import Storage

/// A prepared statement, kept for the life of its connection.
@safe
package final class Statement: SQLStatement {
    private let handle: OpaquePointer
    // Keeps the connection open as long as the statement is there.
    private let database: SQLiteDatabase

    init(_ handle: OpaquePointer, of database: SQLiteDatabase) {
        unsafe self.handle = handle
        self.database = database
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    // MARK: - Binding (places count from 1)

    package func bind(_ place: Int32, _ value: Int64) {
        unsafe sqlite3_bind_int64(handle, place, value)
    }

    package func bind(_ place: Int32, _ value: Int64?) {
        if let value { bind(place, value) } else { unsafe sqlite3_bind_null(handle, place) }
    }

    package func bind(_ place: Int32, _ value: String) {
        // An empty text may have no pointer, and a null one would be NULL.
        guard !value.isEmpty else {
            unsafe sqlite3_bind_text(handle, place, "", 0, csqlite_transient())
            return
        }
        var value = value
        // SQLite copies the text before the call returns.
        _ = value.withUTF8 { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { text in
                unsafe sqlite3_bind_text(handle, place, text.baseAddress, Int32(text.count), csqlite_transient())
            }
        }
    }

    package func bind(_ place: Int32, _ value: String?) {
        if let value { bind(place, value) } else { unsafe sqlite3_bind_null(handle, place) }
    }

    package func bind(_ place: Int32, _ value: [UInt8]) {
        // An empty blob has no pointer, and a null one would be NULL.
        guard !value.isEmpty else {
            unsafe sqlite3_bind_zeroblob(handle, place, 0)
            return
        }
        // SQLite copies the bytes before the call returns.
        _ = unsafe value.withUnsafeBytes { bytes in
            unsafe sqlite3_bind_blob(handle, place, bytes.baseAddress, Int32(bytes.count), csqlite_transient())
        }
    }

    package func bind(_ place: Int32, _ value: [UInt8]?) {
        if let value { bind(place, value) } else { unsafe sqlite3_bind_null(handle, place) }
    }

    /// Binds bytes as text without copying them: they must stay as they are until the statement is reset.
    func bindText(_ place: Int32, uncopied bytes: UnsafeRawBufferPointer) {
        unsafe sqlite3_bind_text(
            handle,
            place,
            bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
            Int32(bytes.count),
            csqlite_static()
        )
    }

    /// Binds a blob without copying it: it must stay as it is until the next step is done.
    func bind(_ place: Int32, uncopied bytes: UnsafeRawBufferPointer) {
        unsafe sqlite3_bind_blob(handle, place, bytes.baseAddress, Int32(bytes.count), csqlite_static())
    }

    // MARK: - Running

    /// True when there is a row to read.
    package func step() throws(StorageError) -> Bool {
        let code = unsafe sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default:
            let error = database.error(code)
            reset()
            throw error
        }
    }

    /// Runs a statement that gives no row, and makes it ready for the next use.
    package func run() throws(StorageError) {
        _ = try step()
        reset()
    }

    package func insert() throws(StorageError) -> Int64? {
        try run()
        return database.changes > 0 ? database.lastInsertedRow : nil
    }

    /// Ends the run; bindings are let go with it, so that nothing uncopied is pointed at longer than needed.
    package func reset() {
        unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
    }

    // MARK: - Columns (places count from 0)

    package func isNull(_ place: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, place) == SQLITE_NULL
    }

    package func integer(_ place: Int32) -> Int64 {
        unsafe sqlite3_column_int64(handle, place)
    }

    package func optionalInteger(_ place: Int32) -> Int64? {
        isNull(place) ? nil : integer(place)
    }

    package func text(_ place: Int32) -> String {
        // The pointer is valid until the next step or reset, and the text is copied here.
        guard let bytes = unsafe sqlite3_column_text(handle, place) else { return "" }
        let count = Int(unsafe sqlite3_column_bytes(handle, place))
        return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    package func optionalText(_ place: Int32) -> String? {
        isNull(place) ? nil : text(place)
    }

    package func blob(_ place: Int32) -> [UInt8] {
        let bytes = unsafe blobInPlace(place)
        return unsafe [UInt8](bytes)
    }

    package func optionalBlob(_ place: Int32) -> [UInt8]? {
        isNull(place) ? nil : blob(place)
    }

    /// The bytes where SQLite holds them: valid until the next step or reset.
    func blobInPlace(_ place: Int32) -> UnsafeBufferPointer<UInt8> {
        guard let bytes = unsafe sqlite3_column_blob(handle, place) else {
            return unsafe UnsafeBufferPointer(start: nil, count: 0)
        }
        let count = Int(unsafe sqlite3_column_bytes(handle, place))
        return unsafe UnsafeBufferPointer(start: bytes.assumingMemoryBound(to: UInt8.self), count: count)
    }
}
