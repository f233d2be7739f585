#if Postgres
    package import Storage

    /// What the store asks of an engine now and then.
    extension PostgresDatabase {
        package func tellOthers() throws(StorageError) {
            try execute("SELECT pg_notify('\(PostgresNote.channel)', '\(PostgresNote.command)')")
        }

        package func continueNumbers(of table: String, _ column: String) throws(StorageError) {
            try execute(
                """
                SELECT setval(pg_get_serial_sequence('\(table)', '\(column)'), max(\(column))) FROM \(table)
                HAVING max(\(column)) IS NOT NULL
                """
            )
        }

        package func problems() throws(StorageError) -> [String] {
            var found: [String] = []
            for (setting, needed) in [("fsync", "on"), ("full_page_writes", "on"), ("server_encoding", "UTF8")] {
                let query = try prepare("SELECT current_setting(?)")
                query.bind(1, setting)
                defer { query.reset() }
                if try query.step(), query.text(0) != needed {
                    found.append("the server runs with \(setting) = \(query.text(0))")
                }
            }
            return found
        }

        package func endImport() {}

        package func settle() {}
    }
#endif
