#if Postgres
    package import Entitlements
    package import SQLStorage
    package import Storage

    /// A database on a server at work: one writer thread, a thread that hears of other gateways, and a connection for every
    /// thread that reads.
    package final class PostgresStore: Store {
        private let address: PostgresAddress
        private let writer: WriterThread
        private let news: PostgresNews
        package let measurements: WriterMeasurements

        init(
            _ address: PostgresAddress,
            _ writer: WriterThread,
            _ news: PostgresNews,
            _ measurements: WriterMeasurements
        ) {
            self.address = address
            self.writer = writer
            self.news = news
            self.measurements = measurements
        }

        package var name: String { address.name }
        package var waiting: Int { writer.waiting }
        package var hasLease: Bool { news.hasLease }
        package var files: [(file: String, bytes: Int)] { [] }

        package func submit(_ command: StoreCommand, bytes: Int, _ reply: @escaping StoreReply) -> Bool {
            writer.submit(command, bytes: bytes, reply)
        }

        package func makeReader() throws(StorageError) -> any SQLReading { try PostgresReader(address) }

        package func close() {
            writer.close()
            news.stop()
        }
    }

    /// A connection that reads. It comes back by itself when the server does.
    package final class PostgresReader: SQLReading {
        package let database: PostgresDatabase

        init(_ address: PostgresAddress) throws(StorageError) {
            database = try PostgresDatabase(address, .reading, isPatient: true)
        }

        /// Every read sees what was committed before it: no snapshot is kept.
        package func letGo() {}

        package func readTogether(_ now: UnixMillis) {}

        /// A row, or what is left of an erased one, by one statement.
        private static let row = """
            SELECT version, updated_at, body FROM subscription WHERE user_id = $1 AND environment = $2
            UNION ALL SELECT version, updated_at, NULL FROM erased WHERE digest = $3 AND environment = $2
            """

        package func rowCopies(of keys: [(UserID, StoreEnvironment)]) throws(StorageError) -> [RowCopy] {
            let questions = keys.map { user, environment in
                [
                    PostgresValue.text(PostgresText.encoded(user.value)),
                    .integer(Int64(environment.rawValue)),
                    .bytes(RowSQL.digest(of: user)),
                ]
            }
            return try database.pipeline(Self.row, questions).map { result in
                guard result.count > 0 else { return .none }
                let (version, updatedAt) = (result.integer(0, 0), UnixMillis(result.integer(0, 1)))
                guard !result.isNull(0, 2) else { return .erased(version: version, updatedAt: updatedAt) }
                return .row(
                    version: version,
                    updatedAt: updatedAt,
                    body: unsafe result.bytes(0, 2) { bytes in unsafe [UInt8](bytes) }
                )
            }
        }
    }
#endif
