#if Postgres
    internal import TestSupport

    @testable internal import PostgresStorage

    extension PostgresServer {
        /// A new database with the tables and nothing in them.
        func location(_ name: String) throws -> PostgresLocation {
            let location = PostgresLocation(try PostgresAddress(url(name)))
            _ = try location.migrate()
            return location
        }
    }
#endif
