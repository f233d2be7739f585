internal import SQLStorage
internal import SQLiteStorage
internal import Storage

#if Postgres
    internal import PostgresStorage
#endif

/// Which kind of database an address names.
enum DatabaseAddress {
    static func isPostgres(_ text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }

    /// - Parameter replica: A server that copies it, for reads, and how many seconds that may be behind.
    /// - Throws: When this program cannot use it.
    static func location(
        _ text: String,
        replica: (address: String, lagSeconds: Int)? = nil
    ) throws(ConfigurationError) -> any DatabaseLocation {
        guard isPostgres(text) else {
            if replica == nil { return SQLiteLocation(path: text) }
            throw ConfigurationError(
                "database-replica",
                "a file has no replica",
                hint: "a replica belongs to a --database on a PostgreSQL server"
            )
        }
        #if Postgres
            do throws(StorageError) {
                let address = try PostgresAddress(text)
                guard let replica else { return PostgresLocation(address) }
                let copy = try PostgresAddress(replica.address)
                if copy.isOfSeveral { throw .unavailable("\(copy.name): a replica is one server") }
                return PostgresLocation(address, replica: (copy, replica.lagSeconds))
            } catch {
                throw ConfigurationError(
                    "database",
                    error.description,
                    hint: "postgres://user:password@host:5432/database"
                )
            }
        #else
            throw ConfigurationError(
                "database",
                "this build has no PostgreSQL",
                hint: "name a SQLite file, or build with: swift build -c release --traits Postgres"
            )
        #endif
    }
}
