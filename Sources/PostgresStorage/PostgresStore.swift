#if Postgres
    package import Entitlements
    internal import Platform
    package import SQLStorage
    package import Storage

    /// A database on a server at work: one writer thread, a thread that hears of other gateways, and a connection for every
    /// thread that reads.
    package final class PostgresStore: Store {
        private let address: PostgresAddress
        private let writer: WriterThread
        private let news: PostgresNews
        private let copy: PostgresReplica?
        private let watch: ReplicaWatch?
        package let measurements: WriterMeasurements

        init(
            _ address: PostgresAddress,
            _ writer: WriterThread,
            _ news: PostgresNews,
            _ copy: PostgresReplica?,
            _ watch: ReplicaWatch?,
            _ measurements: WriterMeasurements
        ) {
            self.copy = copy
            self.watch = watch
            self.address = address
            self.writer = writer
            self.news = news
            self.measurements = measurements
        }

        package var name: String { address.name }
        package var waiting: Int { writer.waiting }
        package var replica: ReplicaMeasurements? { copy?.measurements }
        package var hasLease: Bool { news.hasLease }
        package var files: [(file: String, bytes: Int)] { [] }

        package func submit(_ command: StoreCommand, bytes: Int, _ reply: @escaping StoreReply) -> Bool {
            writer.submit(command, bytes: bytes, reply)
        }

        package func makeReader() throws(StorageError) -> any SQLReading { try PostgresReader(address, copy) }

        package func close() {
            writer.close()
            news.stop()
            watch?.stop()
        }
    }

    /// A connection that reads. It comes back by itself when the server does.
    package final class PostgresReader: SQLReading {
        package let database: PostgresDatabase
        private let replica: PostgresReplica?
        private let copy: PostgresDatabase?

        init(_ address: PostgresAddress, _ replica: PostgresReplica? = nil) throws(StorageError) {
            database = try PostgresDatabase(address, .reading, isPatient: true)
            self.replica = replica
            copy = try replica.map { replica throws(StorageError) in
                try PostgresDatabase(replica.address, .copying, isPatient: true)
            }
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
            try Self.rowCopies(of: keys, in: database)
        }

        package func rows(_ questions: [RowQuestion]) throws(StorageError) -> [FoundRow] {
            guard let replica, let copy else {
                return try rowCopies(of: questions.map { ($0.user, $0.environment) }).map {
                    FoundRow($0, isNewest: true)
                }
            }
            var found = [FoundRow?](repeating: nil, count: questions.count)
            func ask(_ places: [Int], _ database: PostgresDatabase, isNewest: Bool) throws(StorageError) {
                let keys = places.map { (questions[$0].user, questions[$0].environment) }
                for (place, row) in zip(places, try Self.rowCopies(of: keys, in: database)) {
                    found[place] = FoundRow(row, isNewest: isNewest)
                }
            }
            let known = replica.knows(questions)
            let ofCopy = questions.indices.filter { known[$0] }
            if !ofCopy.isEmpty {
                do throws(StorageError) {
                    try ask(ofCopy, copy, isNewest: false)
                    replica.measurements.rowsOfReplica.add(ofCopy.count)
                } catch {
                    // The primary answers, and all others until the copy is found well again.
                    replica.found(wholeAt: nil)
                }
            }
            let left = found.indices.filter { found[$0] == nil }
            if !left.isEmpty {
                try ask(left, database, isNewest: true)
                replica.measurements.rowsOfPrimary.add(left.count)
            }
            return found.map { $0 ?? FoundRow(.none, isNewest: false) }
        }

        private static func rowCopies(
            of keys: [(UserID, StoreEnvironment)],
            in database: PostgresDatabase
        ) throws(StorageError) -> [RowCopy] {
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
