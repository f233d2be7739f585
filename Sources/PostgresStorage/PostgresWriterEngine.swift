#if Postgres
    internal import SQLStorage
    internal import Storage

    /// The writer's side of a server: other gateways are told of what was written when it is there for all to see.
    final class PostgresWriterEngine: WriterEngine {
        /// How often the clock is asked whether it has changed an answer that another gateway has written.
        let idleMillis = 1000

        private let server: PostgresDatabase
        private let instance: String
        private let notify: PostgresStatement

        init(_ address: PostgresAddress, _ instance: String) throws(StorageError) {
            server = try PostgresDatabase(address, .writing)
            self.instance = instance
            notify = try server.prepare("SELECT pg_notify(?, ?)")
        }

        var database: any SQLDatabase { server }

        func othersWrote() {}

        func willCommit(_ changed: [ChangedRow], lastVersion: Int64) throws(StorageError) {
            for text in PostgresNote.texts(changed, from: instance) {
                notify.bind(1, PostgresNote.channel)
                notify.bind(2, text)
                try notify.run()
            }
        }

        func committed(_ changed: [ChangedRow]) {}

        func rest() {}

        var isWorthRepeating: Bool { server.wasInTheWay }

        func finish() {}
    }
#endif
