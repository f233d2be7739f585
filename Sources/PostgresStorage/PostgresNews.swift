#if Postgres
    internal import Platform
    internal import Storage
    internal import Synchronization

    /// Hears of what other gateways have written, and holds the lease for the work that only one of them is to do.
    ///
    /// The lease is a lock of this thread's connection: the server gives it to another gateway as soon as this one is gone.
    final class PostgresNews: Sendable {
        private enum Message: Sendable {}

        private static let lookMillis = 250
        /// How often the lease of somebody else is asked for, and the connection looked after.
        private static let leaseSeconds = 1
        /// The number of the lock, next to that of the migrations.
        private static let leaseLock: Int64 = 7_161_480_411_962_370_002

        private let mailbox: Mailbox<Message>
        private let thread: WorkerThread
        private let lease: Lease

        private init(_ mailbox: Mailbox<Message>, _ thread: WorkerThread, _ lease: Lease) {
            self.mailbox = mailbox
            self.thread = thread
            self.lease = lease
        }

        var hasLease: Bool { lease.isHeld.load(ordering: .acquiring) }

        static func start(
            _ address: PostgresAddress,
            _ instance: String,
            _ replica: PostgresReplica?,
            _ listener: (any ChangeListener)?,
            _ onChange: @escaping @Sendable ([ChangedRow]) -> Void
        ) throws(StorageError) -> PostgresNews {
            do throws(SystemError) {
                let (mailbox, lease) = (try Mailbox<Message>(capacity: 1), Lease())
                let thread = try WorkerThread.start(name: "news") {
                    let worker = Worker(address, instance, replica, listener, onChange, lease)
                    while !mailbox.isClosed {
                        if !worker.look() { _ = mailbox.wait(milliseconds: lookMillis) }
                    }
                    lease.isHeld.store(false, ordering: .releasing)
                }
                return PostgresNews(mailbox, thread, lease)
            } catch {
                throw .unavailable("\(error)")
            }
        }

        func stop() {
            mailbox.close()
            thread.join()
        }

        /// Set by the thread that hears, read by everyone.
        private final class Lease: Sendable {
            let isHeld = Atomic<Bool>(false)
        }

        /// The thread's own state.
        private final class Worker {
            private let address: PostgresAddress
            private let instance: String
            private let replica: PostgresReplica?
            private let listener: (any ChangeListener)?
            private let onChange: @Sendable ([ChangedRow]) -> Void
            private let lease: Lease
            private var database: PostgresDatabase?
            private var askLease = MonotonicNanos(value: 0)

            init(
                _ address: PostgresAddress,
                _ instance: String,
                _ replica: PostgresReplica?,
                _ listener: (any ChangeListener)?,
                _ onChange: @escaping @Sendable ([ChangedRow]) -> Void,
                _ lease: Lease
            ) {
                (self.address, self.instance, self.replica, self.listener) = (address, instance, replica, listener)
                (self.onChange, self.lease) = (onChange, lease)
            }

            /// False when the server is not there.
            func look() -> Bool {
                do throws(StorageError) {
                    let database = try connected()
                    if askLease <= .now() {
                        let asked = MonotonicNanos.now()
                        try ask(database)
                        take(database.notifications())
                        // What was told before the answer has come before it.
                        replica?.heard(upTo: asked)
                    }
                    try database.waitForNews(milliseconds: lookMillis)
                    take(database.notifications())
                    return true
                } catch {
                    database = nil
                    replica?.heard(upTo: nil)
                    lease.isHeld.store(false, ordering: .releasing)
                    return false
                }
            }

            private func connected() throws(StorageError) -> PostgresDatabase {
                if let database, database.isConnected { return database }
                let opened = try PostgresDatabase(address, .listening)
                try opened.execute("LISTEN \(PostgresNote.channel)")
                database = opened
                askLease = .now()
                // Whatever was said meanwhile was not heard.
                listener?.othersWrote()
                return opened
            }

            private func ask(_ database: PostgresDatabase) throws(StorageError) {
                askLease = .now().adding(seconds: leaseSeconds)
                if lease.isHeld.load(ordering: .relaxed) {
                    // Also finds out that the connection is gone.
                    return try database.execute("SELECT 1")
                }
                let query = try database.prepare("SELECT pg_try_advisory_lock(?)")
                query.bind(1, leaseLock)
                defer { query.reset() }
                guard try query.step(), query.integer(0) != 0 else { return }
                lease.isHeld.store(true, ordering: .releasing)
                // Messages may have been waiting for somebody.
                listener?.outboxGrew()
            }

            private func take(_ texts: [String]) {
                let notes = texts.compactMap { PostgresNote($0) }.filter { $0.instance != instance }
                guard !notes.isEmpty else { return }
                // A command tells that it has changed something, not what.
                if notes.contains(where: { $0.instance == PostgresNote.command }) { replica?.everythingChanged() }
                let changed = notes.flatMap(\.changed)
                if !changed.isEmpty { onChange(changed) }
                listener?.othersWrote()
            }
        }
    }
#endif
