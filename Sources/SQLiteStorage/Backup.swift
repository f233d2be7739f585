internal import Platform
internal import SQLStorage
package import Storage

/// A copy of the database as it stood at one moment, taken beside a running gateway and checked before it gets its name.
package enum Backup {
    /// A step's pages: a few megabytes, so that progress is told often.
    private static let stepPages: Int32 = 2048

    /// What a backup came to.
    package struct Report: Sendable {
        public var pages: Int
        public var bytes: Int64
        /// People with a row.
        public var people: Int64
    }

    /// - Parameter replacing: Whether a file of that name may be replaced; it stays until the new one is whole.
    /// - Parameter progress: Called with the pages copied so far and all pages.
    /// - Returns: Nil when there is a file of that name, and it may not be replaced.
    /// - Throws: `.damaged` when the copy does not pass SQLite's own check; no file is left then.
    package static func make(
        of path: String,
        to file: String,
        replacing: Bool,
        progress: (_ done: Int, _ pages: Int) -> Void
    ) throws(StorageError) -> Report? {
        if !replacing, PrivateFile.isThere(file) { return nil }
        let source = try SQLiteDatabase(path: path, mode: .existing, busyMillis: 10_000)
        let partial = file + ".partial"
        // What an interrupted backup has left.
        PrivateFile.remove(partial)
        defer { PrivateFile.remove(partial) }
        let report = try copy(source, partial, progress)
        do throws(SystemError) {
            return try PrivateFile.publish(partial, as: file, replacing: replacing) ? report : nil
        } catch {
            throw .unavailable("\(file): \(error)")
        }
    }

    private static func copy(
        _ source: SQLiteDatabase,
        _ file: String,
        _ progress: (_ done: Int, _ pages: Int) -> Void
    ) throws(StorageError) -> Report {
        // Makes the file for its owner only.
        let copy = try SQLiteDatabase(path: file, mode: .readWrite, busyMillis: 1000)
        var pages = 0
        try source.copy(into: copy, stepPages: stepPages) { left, all in
            pages = all
            progress(all - left, all)
        }
        // One file and no log beside it; the gateway goes back to its log when it opens the file.
        try copy.execute("PRAGMA journal_mode = DELETE")
        if let problem = try copy.problems().first { throw .damaged("the copy is not whole: \(problem)") }
        return Report(
            pages: pages,
            bytes: Int64(pages) * (try copy.integer("PRAGMA page_size")),
            people: try copy.integer("SELECT count(DISTINCT user_id) FROM subscription")
        )
    }
}
