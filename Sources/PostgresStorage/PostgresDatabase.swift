#if Postgres
    internal import CLibPQ
    internal import Glibc
    internal import Platform
    package import SQLStorage
    package import Storage

    /// One connection to a PostgreSQL server, made when it is needed and made again when it was lost.
    ///
    /// Nothing here is Sendable, so the compiler keeps it on the thread that made it.
    @safe
    package final class PostgresDatabase: SQLDatabase {
        /// How long the server may take for a connection, for a statement, and for one that many wait for, before the connection
        /// counts as lost.
        private static let connectMillis = 3000
        private static let answerMillis = 60_000
        private static let soonMillis = 5000
        /// More results than this do not wait to be read.
        private static let unreadMax = 256
        private static let copyMillis = 1000
        /// Less than a statement may take (`statement_timeout`): a server that ends a COMMIT's wait for its standby says that
        /// all is well.
        private static let commitMillis = 20_000
        /// Tries to connect again come in these distances.
        private static let pauseMillis = (first: 50, last: 2000)

        let address: PostgresAddress
        private let use: Use
        /// Nil while it is lost.
        private var handle: OpaquePointer?
        /// Names of the statements that this connection has prepared, by their text and the types of their values.
        private var names: [StatementKey: String] = [:]
        private var lastName = 0
        private(set) var transaction = Transaction.none
        private var nextTry = MonotonicNanos(value: 0)
        private var pause = PostgresDatabase.pauseMillis.first
        private var wasTold = false
        /// Which of the address's servers is tried first.
        private var firstHost = 0
        /// Warnings of the server since the last COMMIT began. libpq counts here, on the thread of this connection and only within
        /// calls to it; the place lives longer than the connection.
        private let warnings: UnsafeMutablePointer<Int32>
        private var lastChanges = 0
        /// Statements of the open transaction that were sent and whose results nobody has read.
        private var unread = 0
        /// Names that are good only when these results are.
        private var unsureNames: [StatementKey] = []
        /// What is asked first in a transaction that writes, as it was the last time, and the answers that came with its beginning.
        private var opening = OpeningReads()
        private var blocks = NumberBlocks()
        /// Times that somebody has waited for the server.
        private(set) var roundTrips = 0
        /// What came of a statement that nobody waited for: nothing more happens in this transaction.
        private var failure: StorageError?
        /// The last failure was another transaction in the way (SQLSTATE 40001, 40P01).
        private(set) var wasInTheWay = false
        package let dialect = SQLDialect.postgres

        enum Transaction {
            case none
            case open
            /// The connection went away in the middle: nothing more happens in it.
            case lost
        }

        struct StatementKey: Hashable {
            var sql: String
            var types: [UInt32]
        }

        /// - Parameter isPatient: Connects when something is asked for the first time, so that it can be made while the server is
        ///   not there.
        init(_ address: PostgresAddress, _ use: Use, isPatient: Bool = false) throws(StorageError) {
            self.address = address
            self.use = use
            unsafe warnings = .allocate(capacity: 1)
            unsafe warnings.initialize(to: 0)
            if !isPatient { try connect() }
        }

        deinit {
            unsafe PQfinish(handle)
            unsafe warnings.deallocate()
        }

        // MARK: - The connection

        /// The socket to wait on; nil while there is no connection.
        var socket: Int32? {
            guard let handle = unsafe handle else { return nil }
            let socket = unsafe PQsocket(handle)
            return socket < 0 ? nil : socket
        }

        var isConnected: Bool { unsafe handle != nil }

        private func connect() throws(StorageError) {
            let now = MonotonicNanos.now()
            guard now >= nextTry else { throw .unavailable("\(address.name): no connection; it is tried again") }
            do throws(StorageError) {
                try open()
                pause = Self.pauseMillis.first
                if wasTold { Log.info("the database is there again", ("database", .string(address.name))) }
                wasTold = false
            } catch {
                close()
                nextTry = .now().adding(milliseconds: pause)
                pause = min(pause * 2, Self.pauseMillis.last)
                throw error
            }
        }

        private func open() throws(StorageError) {
            let (hosts, ports) = address.hosts(beginningAt: firstHost)
            unsafe handle = clibpq_connect_start(
                address.url,
                "entitlement-gateway",
                "10000",
                use.database,
                hosts,
                ports
            )
            guard let opened = unsafe handle, unsafe PQstatus(opened) != CONNECTION_BAD else { throw lost() }
            let deadline = MonotonicNanos.now().adding(milliseconds: Self.connectMillis)
            var polling = PGRES_POLLING_WRITING
            while polling != PGRES_POLLING_OK {
                guard polling != PGRES_POLLING_FAILED else { throw lost() }
                let events = polling == PGRES_POLLING_READING ? POLLIN : POLLOUT
                guard wait(Int16(events), until: deadline) else {
                    // Of several servers the next one is tried first the next time: this one keeps everybody waiting.
                    firstHost += 1
                    throw lost("no answer in time")
                }
                polling = unsafe PQconnectPoll(opened)
            }
            unsafe PQsetnonblocking(opened, 1)
            names = [:]
            transaction = .none
            try executeOnce(
                """
                SET client_encoding = 'UTF8'; SET bytea_output = 'hex'; SET TimeZone = 'UTC';
                SET client_min_messages = 'error'; SET default_transaction_isolation = 'read committed';
                SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
                """
            )
            switch use {
            case .reading: try executeOnce("SET default_transaction_read_only = on; SET statement_timeout = 50000")
            case .copying, .watching:
                try executeOnce("SET default_transaction_read_only = on; SET statement_timeout = 4000")
            case .writing:
                // Whoever stands still in the middle of a write must not keep the others waiting for good.
                try executeOnce(
                    """
                    SET lock_timeout = 8000; SET statement_timeout = 30000; SET idle_in_transaction_session_timeout = 15000;
                    SET client_min_messages = 'warning';
                    """
                )
                unsafe clibpq_count_warnings(opened, warnings)
            case .migrating, .listening, .founding: break
            }
        }

        private func close() {
            unsafe PQfinish(handle)
            unsafe handle = nil
            names = [:]
            (unread, unsureNames) = (0, [])
            opening.forget()
            blocks.forget()
            if transaction == .open { transaction = .lost }
        }

        /// Closes the connection, and says why.
        private func lost(_ reason: String? = nil) -> StorageError {
            var text = reason ?? "the connection was lost"
            if reason == nil, let handle = unsafe handle {
                // The first line names no value of a statement, and the address without its password.
                let message = unsafe String(cString: PQerrorMessage(handle))
                text = message.split(separator: "\n").first.map(String.init) ?? text
            }
            close()
            wasInTheWay = false
            // Whoever makes the tables may find out first that the database is to be made, and says itself what is wrong.
            if !wasTold, use != .migrating, use != .founding {
                Log.warning("the database is not there", ("database", .string(address.name)), ("reason", .string(text)))
            }
            wasTold = true
            return .unavailable("\(address.name): \(text)")
        }

        private func ready() throws(StorageError) -> OpaquePointer {
            guard transaction != .lost else { throw .unavailable("\(address.name): the connection was lost") }
            if unsafe handle == nil { try connect() }
            guard let handle = unsafe handle else { throw .unavailable("\(address.name): no connection") }
            return unsafe handle
        }

        /// False when the deadline has passed.
        private func wait(_ events: Int16, until deadline: MonotonicNanos) -> Bool {
            while true {
                let left = deadline.nanoseconds(since: .now()) / 1_000_000
                guard left > 0, let socket else { return false }
                var entry = pollfd(fd: socket, events: events, revents: 0)
                let count = unsafe poll(&entry, 1, Int32(clamping: left))
                if count > 0 { return true }
                if count < 0, errno != EINTR { return false }
            }
        }

        /// Waits at most so long for something from the server that nobody asked for; what it is stands in the connection then.
        func waitForNews(milliseconds: Int) throws(StorageError) {
            let handle = unsafe try ready()
            if wait(Int16(POLLIN), until: .now().adding(milliseconds: milliseconds)) {
                guard unsafe PQconsumeInput(handle) == 1 else { throw lost() }
            }
        }

        /// Texts of the notifications that have come.
        func notifications() -> [String] {
            var found: [String] = []
            while let handle = unsafe handle, let note = unsafe PQnotifies(handle) {
                unsafe found.append(String(cString: note.pointee.extra))
                unsafe PQfreemem(note)
            }
            return found
        }

        // MARK: - Asking

        /// Sends what waits in the connection, and reads until a result is whole.
        func awaitResult(until deadline: MonotonicNanos) throws(StorageError) -> PostgresResult? {
            // Not a new connection in place of the one that was asked.
            guard let handle = unsafe handle else { throw .unavailable("\(address.name): the connection was lost") }
            while true {
                let unsent = unsafe PQflush(handle)
                guard unsent >= 0 else { throw lost() }
                if unsafe PQisBusy(handle) == 0 {
                    guard let result = unsafe PQgetResult(handle) else { return nil }
                    return unsafe PostgresResult(result)
                }
                guard wait(Int16(unsent == 1 ? POLLIN | POLLOUT : POLLIN), until: deadline) else {
                    throw lost("no answer in time")
                }
                guard unsafe PQconsumeInput(handle) == 1 else { throw lost() }
            }
        }

        /// The last result of what was sent; all of them are read to the end.
        private func results() throws(StorageError) -> PostgresResult {
            let millis = use == .listening || use == .watching ? Self.soonMillis : Self.answerMillis
            let deadline = MonotonicNanos.now().adding(milliseconds: millis)
            roundTrips += 1
            var last: PostgresResult?
            var failure: StorageError?
            while let result = try awaitResult(until: deadline) {
                if result.isFailure, failure == nil { failure = error(of: result) }
                if let failure, !isConnected { throw failure }
                last = result
            }
            if let failure { throw failure }
            guard let last else { throw lost("no answer") }
            return last
        }

        /// What a failure means for whoever asked (postgresql.org/docs/current/errcodes-appendix.html).
        func error(of result: PostgresResult) -> StorageError {
            let state = result.sqlState
            wasInTheWay = state == "40001" || state == "40P01"
            switch state {
            case "40001", "40P01", "55P03": return .busy
            case "53100": return .full
            case "XX001", "XX002": return .damaged(result.message)
            case "42P01":
                return .wrongSchema("\(address.name): \(result.message); entitlement-gateway migrate makes the tables")
            default:
                // The server ends, is read-only after a change of roles, or ended this connection: another one is looked for.
                let isGone = state.hasPrefix("08") || state.hasPrefix("57P") || state == "25006" || state == "25P03"
                let isBad = unsafe handle.map { unsafe PQstatus($0) == CONNECTION_BAD } ?? true
                if isGone || isBad {
                    return lost(result.message)
                }
                return .unavailable("\(result.message) (SQLSTATE \(state))")
            }
        }

        private func executeOnce(_ sql: String) throws(StorageError) {
            let handle = unsafe try ready()
            let wasPiped = isPiped
            if wasPiped { try leavePipeline() }
            guard unsafe PQsendQuery(handle, sql) == 1 else { throw lost() }
            lastChanges = try results().changes
            if wasPiped { try enterPipeline() }
        }

        package func execute(_ sql: String) throws(StorageError) {
            try again { () throws(StorageError) in try executeOnce(sql) }
        }

        /// Does it once more on a new connection when the old one turns out to be gone and nothing was begun on it.
        private func again<Value>(_ work: () throws(StorageError) -> Value) throws(StorageError) -> Value {
            // What listens has said on its connection what it wants to hear, and holds a lock.
            let wasIdle = transaction == .none && isConnected && use != .listening
            do throws(StorageError) {
                return try work()
            } catch {
                guard wasIdle, !isConnected, transaction == .none else { throw error }
                return try work()
            }
        }

        package func prepare(_ sql: String) throws(StorageError) -> PostgresStatement {
            PostgresStatement(PostgresText.translated(sql), of: self)
        }

        package func prepare(inserting sql: String, key: String) throws(StorageError) -> PostgresStatement {
            if let (numbered, sequence) = NumberBlocks.numbered(sql, key: key) {
                return PostgresStatement(PostgresText.translated(numbered), of: self, numberedBy: sequence)
            }
            return PostgresStatement(PostgresText.translated(sql) + " RETURNING \(key)", of: self)
        }

        /// Runs a prepared statement.
        ///
        /// - Parameter isRead: It changes nothing, so that it may be asked again on a new connection.
        func run(_ sql: String, _ values: [PostgresValue], isRead: Bool) throws(StorageError) -> PostgresResult {
            func once() throws(StorageError) -> PostgresResult {
                if isPiped {
                    if !isRead { opening.end() }
                    if let known = opening.answer(to: .init(sql: sql, values: values)) { return known }
                    try post(sql, values)
                    return try readAll(within: Self.answerMillis)
                }
                let name = try name(of: sql, values)
                try send(name, values)
                return try results()
            }
            let result = isRead ? try again(once) : try once()
            lastChanges = result.changes
            return result
        }

        /// - Parameter sequence: As it stands within `nextval( )`.
        func nextNumber(of sequence: String) throws(StorageError) -> Int64 {
            if let number = blocks.next(of: sequence) { return number }
            // The transaction that takes a block makes it durable before any row with a number of it is.
            let count = isPiped ? NumberBlocks.size : 1
            let sql = "\(NumberBlocks.call)\(sequence)) FROM generate_series(1, \(count))"
            let result = try run(sql, [], isRead: false)
            blocks.took((0..<result.count).map { result.integer($0, 0) }, of: sequence)
            guard let number = blocks.next(of: sequence) else {
                throw .unavailable("\(address.name): no number for a row")
            }
            return number
        }

        // MARK: - Statements that nobody waits for

        /// Runs a statement whose rows nobody wants. In a transaction that writes it only goes out with the next one that somebody
        /// waits for, COMMIT at the latest: a round trip less.
        func runLater(_ sql: String, _ values: [PostgresValue], isRead: Bool) throws(StorageError) {
            guard transaction == .open, isPiped else {
                _ = try run(sql, values, isRead: isRead)
                return
            }
            opening.end()
            try post(sql, values)
            if unread >= Self.unreadMax { lastChanges = try readAll(within: Self.answerMillis).changes }
        }

        /// Asks for the results that nobody has waited for; a failure shows with whatever comes next.
        package var changes: Int {
            guard unread > 0 else { return lastChanges }
            do throws(StorageError) {
                lastChanges = try readAll(within: Self.answerMillis).changes
            } catch {
                failure = failure ?? error
                lastChanges = 0
            }
            return lastChanges
        }

        private var isPiped: Bool { unsafe handle.map { unsafe PQpipelineStatus($0) == PQ_PIPELINE_ON } ?? false }

        private func enterPipeline() throws(StorageError) {
            let handle = unsafe try ready()
            guard unsafe PQenterPipelineMode(handle) == 1 else { throw lost() }
        }

        private func leavePipeline() throws(StorageError) {
            if unread > 0 { lastChanges = try readAll(within: Self.answerMillis).changes }
            let handle = unsafe try ready()
            guard unsafe PQexitPipelineMode(handle) == 1 else { throw lost() }
        }

        /// Puts a statement into the pipeline, and before it what prepares it.
        ///
        /// - Returns: The place of its result among those that are unread.
        @discardableResult
        private func post(_ sql: String, _ values: [PostgresValue]) throws(StorageError) -> Int {
            if let failure { throw failure }
            let handle = unsafe try ready()
            let key = StatementKey(sql: sql, types: values.map(\.type))
            if names[key] == nil {
                unsafe try sendPrepare(key, handle)
                unsureNames.append(key)
                unread += 1
            }
            guard let name = names[key] else { throw lost() }
            try send(name, values)
            unread += 1
            return unread - 1
        }

        /// Sends what is in the pipeline, and reads every result of it.
        ///
        /// - Returns: That of the last statement.
        private func readAll(within millis: Int) throws(StorageError) -> PostgresResult {
            guard let last = try readEach(within: millis).last else { throw lost("no answer") }
            return last
        }

        /// - Returns: A result for each statement that was unread.
        /// - Throws: What the first statement that failed came to. Was it not the last one, then others believe that it did well: the
        ///   transaction has failed as a whole.
        private func readEach(within millis: Int) throws(StorageError) -> [PostgresResult] {
            let handle = unsafe try ready()
            guard unsafe PQpipelineSync(handle) == 1 else { throw lost() }
            let deadline = MonotonicNanos.now().adding(milliseconds: millis)
            roundTrips += 1
            var results: [PostgresResult] = []
            var last: PostgresResult?
            var failed: (error: StorageError, place: Int)?
            while true {
                // An empty answer stands between the results of two statements.
                guard let result = try awaitResult(until: deadline) else {
                    if let result = last { results.append(result) }
                    last = nil
                    continue
                }
                if result.isSync { break }
                last = result
                guard result.isFailure, failed == nil else { continue }
                let error = error(of: result)
                guard isConnected else { throw error }
                failed = (error, results.count + 1)
            }
            let (count, unsure) = (unread, unsureNames)
            (unread, unsureNames) = (0, [])
            guard let failed else { return results }
            for key in unsure { names[key] = nil }
            guard failed.place < count else { throw failed.error }
            let isOfAll = failed.error.isOfTheDatabase
            failure = isOfAll ? failed.error : .unavailable(failed.error.description)
            throw failure ?? failed.error
        }

        /// The server's name of a statement; prepared when it is used for the first time on this connection.
        func name(of sql: String, _ values: [PostgresValue]) throws(StorageError) -> String {
            let handle = unsafe try ready()
            let key = StatementKey(sql: sql, types: values.map(\.type))
            if let name = names[key] { return name }
            let name = unsafe try sendPrepare(key, handle)
            names[key] = nil
            _ = try results()
            names[key] = name
            return name
        }

        /// - Returns: The name under which the server will know it.
        @discardableResult
        private func sendPrepare(_ key: StatementKey, _ handle: OpaquePointer) throws(StorageError) -> String {
            lastName += 1
            let name = "s\(lastName)"
            let isSent = unsafe key.types.withUnsafeBufferPointer { types in
                unsafe PQsendPrepare(handle, name, key.sql, Int32(types.count), types.baseAddress)
            }
            guard isSent == 1 else { throw lost() }
            names[key] = name
            return name
        }

        func send(_ name: String, _ values: [PostgresValue]) throws(StorageError) {
            let handle = unsafe try ready()
            let isSent = unsafe PostgresValue.withPointers(values) { pointers, lengths, formats in
                unsafe PQsendQueryPrepared(handle, name, Int32(values.count), pointers, lengths, formats, 1)
            }
            guard isSent == 1 else { throw lost() }
        }

        // MARK: - Many questions at once

        /// Asks the same question with many values in one round trip.
        ///
        /// - Returns: The results in the order of the values.
        func pipeline(_ sql: String, _ questions: [[PostgresValue]]) throws(StorageError) -> [PostgresResult] {
            guard let first = questions.first else { return [] }
            return try again { () throws(StorageError) in
                let name = try name(of: sql, first)
                let handle = unsafe try ready()
                guard unsafe PQenterPipelineMode(handle) == 1 else { throw lost() }
                for values in questions { try send(name, values) }
                guard unsafe PQpipelineSync(handle) == 1 else { throw lost() }
                let millis = use == .copying ? Self.copyMillis : Self.soonMillis
                let deadline = MonotonicNanos.now().adding(milliseconds: millis)
                var found: [PostgresResult] = []
                var failure: StorageError?
                while true {
                    // An empty answer stands between the results of two questions.
                    guard let result = try awaitResult(until: deadline) else { continue }
                    if result.isSync { break }
                    if result.isFailure, failure == nil { failure = error(of: result) }
                    if let failure, !isConnected { throw failure }
                    found.append(result)
                }
                guard unsafe PQexitPipelineMode(handle) == 1 else { throw lost() }
                if let failure { throw failure }
                return found
            }
        }

        // MARK: - Transactions

        package func commitMark() throws(StorageError) -> Int64? { nil }

        package func beginWriting() throws(StorageError) {
            wasInTheWay = false
            transaction = .none
            failure = nil
            try again { () throws(StorageError) in
                if !isPiped { try enterPipeline() }
                try post("BEGIN", [])
                // Writers take turns by this row: what is read from here on is what the one before has left.
                try post("SELECT value FROM meta WHERE name = 'version' FOR UPDATE", [])
                let questions = opening.begin()
                var places: [Int] = []
                for question in questions { places.append(try post(question.sql, question.values)) }
                let results = try readEach(within: Self.answerMillis)
                opening.came(places.compactMap { results.indices.contains($0) ? results[$0] : nil })
            }
            transaction = .open
        }

        package func beginReading() throws(StorageError) {
            transaction = .none
            try execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            transaction = .open
        }

        package func commit() throws(StorageError) {
            // A transaction that has failed inside is rolled back by COMMIT, and that is no success.
            if let handle = unsafe handle, unsafe PQtransactionStatus(handle) == PQTRANS_INERROR {
                rollback()
                throw .unavailable("\(address.name): the transaction had failed")
            }
            unsafe warnings.pointee = 0
            if isPiped {
                try post("COMMIT", [])
                let done = try readAll(within: Self.commitMillis)
                transaction = .none
                try leavePipeline()
                guard done.command == "COMMIT" else {
                    throw .unavailable("\(address.name): the transaction had failed")
                }
            } else {
                try executeOnce("COMMIT")
                transaction = .none
            }
            // Somebody has ended the wait for the standby: the disk of this server has it, and no other. Nobody may be told that
            // it is safe, and whoever sends it again is told the truth.
            guard unsafe warnings.pointee == 0 else { throw lost("the commit did not reach the standby") }
        }

        package func rollback() {
            if isPiped {
                // What is still to be read says nothing any more.
                if unread > 0 { _ = try? readAll(within: Self.answerMillis) }
                do throws(StorageError) { try leavePipeline() } catch { close() }
            }
            failure = nil
            if let handle = unsafe handle, unsafe PQtransactionStatus(handle) != PQTRANS_IDLE {
                do throws(StorageError) { try executeOnce("ROLLBACK") } catch { close() }
            }
            transaction = .none
        }
    }
#endif
