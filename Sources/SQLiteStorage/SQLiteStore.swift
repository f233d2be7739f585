package import Entitlements
internal import Platform
package import SQLStorage
package import Storage

/// The embedded store: one writer thread, and a reader for every thread that asks for one.
package final class SQLiteStore: Store {
    package let path: String
    private let writer: WriterThread
    private let commits: CommitCounter
    package let measurements: WriterMeasurements

    private init(path: String, writer: WriterThread, commits: CommitCounter, measurements: WriterMeasurements) {
        self.path = path
        self.writer = writer
        self.commits = commits
        self.measurements = measurements
    }

    /// Brings the database up to date, elects the rows anew when the configuration changed, and starts the writer.
    ///
    /// - Parameter cacheBytes: What rows in memory may take beside the database's own pages, for all readers; 0 for none.
    package static func open(
        path: String,
        policy configured: EntitlementPolicy?,
        receivers: [String]? = nil,
        listener: (any ChangeListener)? = nil,
        cacheBytes: Int = 0,
        onChange: @escaping @Sendable ([ChangedRow]) -> Void
    ) throws(StorageError) -> SQLiteStore {
        let location = SQLiteLocation(path: path)
        _ = try location.migrate()
        let policy = try location.prepare(configured, receivers: receivers)
        let (measurements, commits) = (WriterMeasurements(), CommitCounter(cacheBytes: cacheBytes))
        let writer = try WriterThread.start { () throws(StorageError) in
            try SQLWriter(
                try SQLiteWriterEngine(path: path, commits: commits),
                policy: policy,
                measurements: measurements,
                listener: listener,
                onChange: onChange
            )
        }
        return SQLiteStore(path: path, writer: writer, commits: commits, measurements: measurements)
    }

    package var name: String { path }
    package var waiting: Int { writer.waiting }
    package var hasLease: Bool { true }

    package var files: [(file: String, bytes: Int)] {
        [("database", path), ("log", path + "-wal")].compactMap { file, path in
            FileSize.bytes(of: path).map { (file, $0) }
        }
    }

    package func submit(_ command: StoreCommand, bytes: Int, _ reply: @escaping StoreReply) -> Bool {
        writer.submit(command, bytes: bytes, reply)
    }

    package func makeReader() throws(StorageError) -> any SQLReading {
        try makeReader(keepsRows: false)
    }

    /// A reader for the calling thread.
    ///
    /// - Parameter keepsRows: Whether it shares the rows in memory, where the store was opened with room for them.
    package func makeReader(keepsRows: Bool) throws(StorageError) -> SQLiteReader {
        try SQLiteReader(path: path, commits: commits, keepsRows: keepsRows)
    }

    package func close() { writer.close() }
}
