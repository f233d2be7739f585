#if Postgres
    package import Entitlements
    internal import Platform
    package import SQLStorage
    package import Storage

    /// A database on a PostgreSQL server.
    package struct PostgresLocation: DatabaseLocation {
        package let address: PostgresAddress

        package init(_ address: PostgresAddress) {
            self.address = address
        }

        package var name: String { address.name }
        package var hint: String {
            "psql with the same address tells whether the server is there and lets this user in"
        }
        package var repair: String { "set it so in postgresql.conf: what was acknowledged must survive a power cut" }
        /// In the working directory.
        package var besides: String { "gateway" }
        /// Whether it is there is known when it is asked.
        package var isThere: Bool { true }

        package func connect(_ use: ConnectionUse) throws(StorageError) -> any SQLDatabase {
            switch use {
            case .reading: try PostgresDatabase(address, .reading)
            case .writing, .importing: try PostgresDatabase(address, .writing)
            }
        }

        package func migrate() throws(StorageError) -> [String] { try PostgresMigrations.apply(to: address) }

        package func pendingMigrations() throws(StorageError) -> [String] {
            try PostgresMigrations.pending(in: PostgresDatabase(address, .reading)).map(\.name)
        }

        package func open(
            policy configured: EntitlementPolicy?,
            receivers: [String]?,
            listener: (any ChangeListener)?,
            cacheBytes: Int,
            onChange: @escaping @Sendable ([ChangedRow]) -> Void
        ) throws(StorageError) -> any Store {
            _ = try migrate()
            let policy = try prepare(configured, receivers: receivers)
            let (measurements, address, instance) = (WriterMeasurements(), address, PostgresNote.newInstance())
            let news = try PostgresNews.start(address, instance, listener, onChange)
            do throws(StorageError) {
                let writer = try WriterThread.start { () throws(StorageError) in
                    try SQLWriter(
                        try PostgresWriterEngine(address, instance),
                        policy: policy,
                        measurements: measurements,
                        listener: listener,
                        onChange: onChange
                    )
                }
                return PostgresStore(address, writer, news, measurements)
            } catch {
                news.stop()
                throw error
            }
        }
    }
#endif
