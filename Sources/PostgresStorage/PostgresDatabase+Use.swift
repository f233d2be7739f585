#if Postgres
    extension PostgresDatabase {
        /// What a connection is for: how long it waits, and what it may do.
        enum Use {
            case reading
            case writing
            /// Waits for locks as long as it takes.
            case migrating
            /// Hears of others.
            case listening
            /// Reads from a copy, for somebody who can ask elsewhere.
            case copying
            /// Looks how far servers are.
            case watching
            /// Makes the database itself, from the one that every server has.
            case founding

            var database: String? {
                if case .founding = self { "postgres" } else { nil }
            }
        }
    }
#endif
