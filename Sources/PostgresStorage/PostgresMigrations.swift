#if Postgres
    internal import SQLStorage
    internal import Storage

    /// The numbered files of `schema/postgres`, applied in order, each once and whole, by one gateway at a time.
    enum PostgresMigrations {
        /// The number of the lock by which gateways that start together take turns: any that no other program is likely to use.
        private static let lock: Int64 = 7_161_480_411_962_370_001

        static var known: [Migration] { Migration.known(below: "schema/postgres/") }

        /// - Returns: The names of the files that were applied now.
        /// - Throws: `.wrongSchema` for a database from a newer version or with an edited file.
        static func apply(to address: PostgresAddress) throws(StorageError) -> [String] {
            let database = try connect(address)
            let encoding = try database.prepare("SELECT current_setting('server_encoding')")
            guard try encoding.step(), encoding.text(0) == "UTF8" else {
                throw .wrongSchema("\(address.name) does not hold every text: make it with ENCODING 'UTF8'")
            }
            // Goes with the connection.
            try database.execute("SELECT pg_advisory_lock(\(lock))")
            var names: [String] = []
            for migration in try pending(in: database) {
                try database.execute("BEGIN")
                do throws(StorageError) {
                    try database.execute(
                        """
                        CREATE TABLE IF NOT EXISTS migration (
                            number BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)
                        """
                    )
                    try database.execute(migration.sql)
                    try migration.note(in: database)
                    try database.execute("COMMIT")
                } catch {
                    database.rollback()
                    throw error
                }
                names.append(migration.name)
            }
            return names
        }

        /// A first start makes its database, where the user may.
        private static func connect(_ address: PostgresAddress) throws(StorageError) -> PostgresDatabase {
            do throws(StorageError) {
                return try PostgresDatabase(address, .migrating)
            } catch {
                guard !address.database.isEmpty, let server = try? PostgresDatabase(address, .founding) else {
                    throw error
                }
                let query = try server.prepare("SELECT count(*) FROM pg_catalog.pg_database WHERE datname = ?")
                query.bind(1, address.database)
                guard try query.step(), query.integer(0) == 0 else { throw error }
                let name = address.database.split(separator: "\"", omittingEmptySubsequences: false).joined(
                    separator: "\"\""
                )
                // Several gateways may start at once: who comes second finds it there.
                try? server.execute("CREATE DATABASE \"\(name)\" ENCODING 'UTF8' TEMPLATE template0")
                return try PostgresDatabase(address, .migrating)
            }
        }

        /// What the database does not have yet; nothing is changed.
        static func pending(in database: PostgresDatabase) throws(StorageError) -> [Migration] {
            let tables = try database.integer(
                "SELECT count(*) FROM pg_catalog.pg_class WHERE oid = to_regclass('migration')"
            )
            let applied = tables > 0 ? try Migration.applied(in: database) : [:]
            return try Migration.pending(of: known, applied: applied, in: database.address.name)
        }
    }
#endif
