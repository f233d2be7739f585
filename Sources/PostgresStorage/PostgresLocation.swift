#if Postgres
    package import Entitlements
    internal import Platform
    package import SQLStorage
    package import Storage

    /// A database on a PostgreSQL server.
    package struct PostgresLocation: DatabaseLocation {
        package let address: PostgresAddress
        /// A server that copies it, and how many seconds that may be behind.
        package let replica: (address: PostgresAddress, lagSeconds: Int)?

        package init(_ address: PostgresAddress, replica: (address: PostgresAddress, lagSeconds: Int)? = nil) {
            (self.address, self.replica) = (address, replica)
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

        package func examineReplica() -> ReplicaExamination? {
            guard let replica else { return nil }
            var found = ReplicaExamination(name: replica.address.name)
            do throws(StorageError) {
                let copy = try ReplicaPosition.ofReplica(try PostgresDatabase(replica.address, .watching))
                let primary = try ReplicaPosition.ofPrimary(try PostgresDatabase(address, .watching))
                if let problem = ReplicaWatch.problem(primary, copy) {
                    (found.problem, found.hint) = (problem.reason, problem.hint)
                }
            } catch {
                (found.problem, found.hint) = (error.description, hint)
            }
            return found
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
            // Commands read what they have written.
            let copy = listener == nil ? nil : replica.map { PostgresReplica($0.address, lagSeconds: $0.lagSeconds) }
            let onChange: @Sendable ([ChangedRow]) -> Void = { rows in
                copy?.changed(rows)
                onChange(rows)
            }
            let news = try PostgresNews.start(address, instance, copy, listener, onChange)
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
                do throws(StorageError) {
                    let watch = try copy.map { copy throws(StorageError) in try ReplicaWatch.start(address, copy) }
                    return PostgresStore(address, writer, news, copy, watch, measurements)
                } catch {
                    writer.close()
                    throw error
                }
            } catch {
                news.stop()
                throw error
            }
        }
    }
#endif
