#if Postgres
    internal import Storage

    /// How far a server's log of writes reaches, and which log it is.
    struct ReplicaPosition: Equatable, Sendable {
        /// The same for every copy that was made from one server.
        var system: Int64
        /// A server that becomes the primary begins a new one.
        var timeline: Int64
        /// Bytes from the beginning of the log: up to here it is written, or replayed.
        var place: Int64

        /// Where a primary is.
        ///
        /// - Throws: Also when the server is none.
        static func ofPrimary(_ database: PostgresDatabase) throws(StorageError) -> ReplicaPosition {
            let query = try database.prepare(
                """
                SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE (pg_current_wal_lsn() - '0/0')::bigint END,
                    CASE WHEN pg_is_in_recovery() THEN NULL
                    ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END,
                    (SELECT system_identifier FROM pg_control_system())
                """
            )
            defer { query.reset() }
            guard try query.step(), !query.isNull(0) else {
                throw .unavailable("\(database.address.name): it takes no writes")
            }
            return ReplicaPosition(system: query.integer(2), timeline: query.integer(1), place: query.integer(0))
        }

        /// Where a copy is; nil when the server is not one.
        static func ofReplica(_ database: PostgresDatabase) throws(StorageError) -> ReplicaPosition? {
            // Which timeline a copy follows stands in its control file a while later; who receives it knows at once, and tells
            // it to those who may read every statistic.
            let query = try database.prepare(
                """
                SELECT pg_is_in_recovery()::int, coalesce(pg_last_wal_replay_lsn() - '0/0', 0)::bigint,
                    greatest((SELECT timeline_id FROM pg_control_checkpoint()),
                        (SELECT max(received_tli) FROM pg_stat_wal_receiver))::bigint,
                    (SELECT system_identifier FROM pg_control_system())
                """
            )
            defer { query.reset() }
            guard try query.step(), query.integer(0) != 0 else { return nil }
            return ReplicaPosition(system: query.integer(3), timeline: query.integer(2), place: query.integer(1))
        }
    }
#endif
