#if Postgres
    internal import Platform
    internal import Storage

    /// Looks again and again how far a copy of the database is behind.
    final class ReplicaWatch: Sendable {
        private enum Message: Sendable {}

        private static let lookMillis = 200

        private let mailbox: Mailbox<Message>
        private let thread: WorkerThread

        private init(_ mailbox: Mailbox<Message>, _ thread: WorkerThread) {
            self.mailbox = mailbox
            self.thread = thread
        }

        static func start(_ primary: PostgresAddress, _ replica: PostgresReplica) throws(StorageError) -> ReplicaWatch {
            do throws(SystemError) {
                let mailbox = try Mailbox<Message>(capacity: 1)
                let thread = try WorkerThread.start(name: "replica") {
                    var looks = Looks(primary, replica)
                    while !mailbox.isClosed {
                        looks.look()
                        _ = mailbox.wait(milliseconds: lookMillis)
                    }
                }
                return ReplicaWatch(mailbox, thread)
            } catch {
                throw .unavailable("\(error)")
            }
        }

        func stop() {
            mailbox.close()
            thread.join()
        }

        /// What is wrong with a copy, beside how far it is behind; nil when it is one of this primary's.
        static func problem(_ primary: ReplicaPosition, _ copy: ReplicaPosition?) -> (reason: String, hint: String)? {
            guard let copy else {
                return (
                    "it is no replica: it takes writes of its own",
                    "name a standby (pg_is_in_recovery() is true on it), or name none"
                )
            }
            if copy.system != primary.system {
                return (
                    "it is a copy of another server: its system identifier is \(copy.system), the database's \(primary.system)",
                    "make it with pg_basebackup from the server of the database"
                )
            }
            if copy.timeline != primary.timeline {
                return (
                    "it follows timeline \(copy.timeline), and the database is on \(primary.timeline)",
                    "let it follow the server that is the primary now; GRANT pg_monitor shows its timeline at once"
                )
            }
            return nil
        }
    }

    /// The watching thread's own state.
    private struct Looks {
        /// Where the primary's log ended at moments of the past; longer ago than any bound says nothing.
        private static let noted = 2000

        private let replica: PostgresReplica
        private let primary: PostgresDatabase?
        private let copy: PostgresDatabase?
        private var ends: [(at: MonotonicNanos, position: ReplicaPosition)] = []
        private var wholeAt: MonotonicNanos?
        /// What the log was told last: each state is told once.
        private var told: String?

        init(_ address: PostgresAddress, _ replica: PostgresReplica) {
            self.replica = replica
            primary = try? PostgresDatabase(address, .watching, isPatient: true)
            copy = try? PostgresDatabase(replica.address, .watching, isPatient: true)
        }

        mutating func look() {
            guard let primary, let copy else { return }
            noteEnd(of: primary)
            // Without the primary an older note still says how far the copy was.
            guard let last = ends.last else { return replica.found(wholeAt: nil) }
            do throws(StorageError) {
                let position = try ReplicaPosition.ofReplica(copy)
                if let problem = ReplicaWatch.problem(last.position, position) {
                    wholeAt = nil
                    tell(problem.reason, hint: problem.hint)
                } else if let position {
                    if let index = ends.lastIndex(where: { $0.position.place <= position.place }) {
                        wholeAt = ends[index].at
                        ends.removeFirst(index)
                    }
                    tell(nil)
                }
            } catch {
                wholeAt = nil
            }
            replica.found(wholeAt: wholeAt)
        }

        private mutating func noteEnd(of primary: PostgresDatabase) {
            // Before the question: what is committed from here on may be missing in the answer.
            let moment = MonotonicNanos.now()
            guard let position = try? ReplicaPosition.ofPrimary(primary) else { return }
            if let last = ends.last?.position, last.system != position.system || last.timeline != position.timeline {
                (ends, wholeAt) = ([], nil)
            }
            ends.append((moment, position))
            if ends.count > Self.noted { ends.removeFirst() }
        }

        private mutating func tell(_ reason: String?, hint: String = "") {
            guard reason != told else { return }
            defer { told = reason }
            guard let reason else {
                return Log.info("reads go to the replica", ("database", .string(replica.address.name)))
            }
            Log.error(
                "the replica cannot be used, reads go to the primary",
                ("database", .string(replica.address.name)),
                ("reason", .string(reason)),
                ("hint", .string(hint))
            )
        }
    }
#endif
