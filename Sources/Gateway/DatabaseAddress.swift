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

    /// - Throws: When this program cannot use it.
    static func location(_ text: String) throws(ConfigurationError) -> any DatabaseLocation {
        guard isPostgres(text) else { return SQLiteLocation(path: text) }
        #if Postgres
            do throws(StorageError) {
                return PostgresLocation(try PostgresAddress(text))
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
