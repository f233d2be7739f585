#if Postgres
    import Dispatch
    import Entitlements
    import Platform
    import TestSupport
    import Testing

    @testable internal import PostgresStorage
    @testable internal import SQLStorage
    @testable internal import SQLiteStorage
    @testable internal import Storage

    /// The store over a server of its own: the same answers as over a file, several gateways beside each other, and a server that
    /// goes away.
    @Suite(.serialized, .enabled(if: PostgresServer.isInstalled))
    struct PostgresStorageTests {
        private static let server = Result { try PostgresServer() }

        private static func grant(_ user: String, _ id: String, at: Double = 1) -> StoreCommand {
            .grant(
                GrantRequest(
                    user: person(user),
                    grantID: id,
                    until: nil,
                    reason: "r",
                    entitlement: "pro",
                    by: Actor(keyID: "k", at: day(at))
                )
            )
        }

        /// Hands a command in and waits for what comes of it.
        private static func write(_ command: StoreCommand, to store: any Store) -> Result<StoreResult, StorageError> {
            let done = DispatchSemaphore(value: 0)
            let answer = Locked<Result<StoreResult, StorageError>>(.failure(.overloaded))
            let isTaken = store.submit(command) { result in
                answer.with { $0 = result.map(\.value) }
                done.signal()
            }
            if isTaken { done.wait() }
            return answer.with { $0 }
        }

        private static func eventually(_ isSo: () throws -> Bool) rethrows -> Bool {
            for _ in 0..<1200 {
                if try isSo() { return true }
                _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(50))
            }
            return false
        }

        // MARK: - One text for both engines

        @Test("the same history gives the same rows as in a file", arguments: HistoryTests.seeds.prefix(5))
        func sameAsInAFile(_ seed: UInt64) async throws {
            try await onOwnThread {
                let server = try Self.server.get()
                var history = RandomHistory(seed: seed)
                let events = history.events()
                let file = try Ledger(policy: history.policy)
                try file.take(events)
                let location = try server.location("history_\(seed)")
                let ledger = try Ledger(on: try location.connect(.writing), policy: history.policy)
                try ledger.take(events.shuffled(using: &history.generator))
                let (left, right) = (try file.picture(), try ledger.picture())
                #expect(left == right, "seed \(seed)")
                #expect(try ledger.differences() == [])
                let again = try ledger.take(events)
                #expect(again.allSatisfy { $0 == .duplicate || $0 == .observed })
                for user in ["u0", "u1"] {
                    try file.erase(person(user), at: day(150))
                    try ledger.erase(person(user), at: day(150))
                }
                #expect(try file.picture().rows == ledger.picture().rows, "seed \(seed), erased")
                #expect(try ledger.differences() == [])
            }
        }

        @Test func everyReadOfASupporterIsUnderstoodByTheServer() async throws {
            try await onOwnThread {
                let location = try Self.server.get().location("views")
                var history = RandomHistory(seed: 7)
                let ledger = try Ledger(on: try location.connect(.writing), policy: history.policy)
                let events = history.events()
                try ledger.take(events)
                let store = try location.open(policy: history.policy, receivers: ["r"], listener: nil, cacheBytes: 0) {
                    _ in
                }
                defer { store.close() }
                guard case .success = Self.write(Self.grant("u1", "g"), to: store) else {
                    Issue.record("no grant")
                    return
                }
                let reader = try store.makeReader()
                let user = person("u1")
                #expect(try reader.counts().rows[.production] ?? 0 > 0)
                #expect(!(try reader.events(EventFilter(limit: 5)).isEmpty))
                #expect(try reader.user(user, eventsMax: 10).grants.count == 1)
                #expect(try reader.kept(of: user).grants.count == 1)
                #expect(try reader.knownPerson(user).users.contains(user))
                #expect(try reader.audit(limit: 5, before: nil).count == 1)
                #expect(try reader.messages(of: user).count == 1)
                #expect(try reader.dueMessages(for: "r", upTo: .latest, limit: 5).count == 1)
                #expect(try reader.changedRows(after: 0, in: .production, limit: 50, user: user).count == 1)
                #expect(try reader.lastSequence() > 0)
                _ = try reader.parked(limit: 10, before: nil)
                _ = try reader.overlappingPeople(history.policy, at: day(10))
                _ = try reader.sweptUsers(after: "", limit: 10, since: day(0), includesLifetime: true)
                _ = try reader.sweptParked(after: 0, limit: 10, since: day(0))
                _ = try reader.sweepSize()
                _ = try reader.dueTasks(at: .latest, limit: 5)
                let rows = try reader.rowCopies(of: [(user, .production), (person("nobody"), .production)])
                guard case .row(_, _, let body) = rows[0], case .none = rows[1] else {
                    Issue.record("\(rows)")
                    return
                }
                #expect(try SubscriptionRow.decode(body).entitlements.contains { $0.name == "pro" })
                _ = Self.write(.prune(payloadsBefore: .latest, now: .latest), to: store)
                _ = Self.write(.erase(user: user, by: Actor(keyID: "k", at: day(3))), to: store)
                guard case .erased = try reader.rowCopies(of: [(user, .production)])[0] else {
                    Issue.record("not erased")
                    return
                }
            }
        }

        // MARK: - Statements that nobody waits for

        @Test func aStatementThatNobodyWaitedForFailsTheWholeTransaction() async throws {
            try await onOwnThread {
                let location = try Self.server.get().location("later")
                let database = try PostgresDatabase(location.address, .writing)
                let save = try database.prepare("SAVEPOINT command")
                let undo = try database.prepare("ROLLBACK TO SAVEPOINT command")
                let insert = try database.prepare("INSERT INTO meta (name, value) VALUES (?, ?)")
                func put(_ name: String?) throws {
                    insert.bind(1, name)
                    insert.bind(2, Array("x".utf8))
                    try insert.run()
                }
                for _ in 0..<2 {
                    try database.beginWriting()
                    try save.run()
                    try put("good")
                    try put(nil)
                    #expect(throws: StorageError.self) { try database.integer("SELECT count(*) FROM meta") }
                    // Going back to the savepoint would hide what somebody else believes to have written.
                    #expect(throws: StorageError.self) { try undo.run() }
                    #expect(throws: StorageError.self) { try database.commit() }
                    database.rollback()
                }
                try database.beginWriting()
                try put(nil)
                #expect(throws: StorageError.self) { try database.commit() }
                database.rollback()
                // And one that somebody waits for does not.
                try database.beginWriting()
                try put("kept")
                try save.run()
                #expect(throws: StorageError.self) { try database.integer("SELECT 1 / 0") }
                try undo.run()
                try put("after")
                #expect(database.changes == 1)
                try database.commit()
                let kept = "SELECT count(*) FROM meta WHERE name IN ('good', 'kept', 'after')"
                #expect(try database.integer(kept) == 2)
            }
        }

        @Test func numbersAreTakenInBlocksAndNeverTwice() async throws {
            try await onOwnThread {
                let location = try Self.server.get().location("numbers")
                let databases = try (0..<2).map { _ in try PostgresDatabase(location.address, .writing) }
                var seen: Set<Int64> = []
                for round in 0..<60 {
                    let database = databases[round % 2]
                    let insert = try database.prepare(
                        inserting: "INSERT INTO mention (purchase, body) VALUES (?, ?)",
                        key: "id"
                    )
                    let next = try database.prepare(SQLDialect.postgres.nextNumber(of: "mention", "id"))
                    try database.beginWriting()
                    insert.bind(1, 7)
                    insert.bind(2, Array("m".utf8))
                    #expect(seen.insert(try #require(try insert.insert())).inserted)
                    #expect(try next.step())
                    #expect(seen.insert(next.integer(0)).inserted)
                    #expect(try !next.step())
                    // What is given up gives numbers up with it.
                    if round % 5 == 0 { database.rollback() } else { try database.commit() }
                }
                #expect(try databases[0].integer("SELECT count(*) FROM mention WHERE purchase = 7") == 48)
                #expect(
                    NumberBlocks.numbered("INSERT INTO a (b) VALUES (?) ON CONFLICT (b) DO NOTHING", key: "c") == nil
                )
            }
        }

        @Test func aBatchCostsFewRoundTrips() async throws {
            try await onOwnThread {
                let location = try Self.server.get().location("trips")
                let engine = try PostgresWriterEngine(location.address, "trips")
                let writer = try SQLWriter(engine, policy: Ledger.plainPolicy, measurements: WriterMeasurements()) {
                    _ in
                }
                let database = try #require(engine.database as? PostgresDatabase)
                let (mailbox, answers) = (try Mailbox<WriterMessage>(capacity: 4096), Locked(0))
                func post(_ numbers: Range<Int>) {
                    for number in numbers {
                        let event = Happening.state(
                            "stripe",
                            "e\(number)",
                            of: "sub_\(number)",
                            at: 1,
                            period: 1,
                            end: 30,
                            user: "u\(number)"
                        )
                        _ = mailbox.post(
                            WriterMessage(command: .ingest(event)) { result in
                                if case .success = result { answers.with { $0 += 1 } }
                            }
                        )
                    }
                }
                post(0..<300)
                mailbox.close()
                let before = database.roundTrips
                writer.run(mailbox)
                let trips = database.roundTrips - before
                #expect(answers.with { $0 } == 300)
                print("round trips for 300 deliveries: \(trips)")
                #expect(trips < 300 * 5)
            }
        }

        // MARK: - Several gateways

        @Test func eightWritersLoseNothing() async throws {
            try await onOwnThread {
                let location = try Self.server.get().location("writers")
                let stores = try (0..<2).map { _ in try location.open(policy: Ledger.plainPolicy) }
                defer { for store in stores { store.close() } }
                let failures = Locked<[String]>([])
                let (writers, each) = (8, 25)
                DispatchQueue.concurrentPerform(iterations: writers) { writer in
                    for number in 0..<each {
                        let commands: [StoreCommand] = [
                            Self.grant("u\(number % 3)", "g\(writer)-\(number)", at: Double(number)),
                            // The same event from every writer.
                            .ingest(
                                Happening.state(
                                    "stripe",
                                    "e\(number)",
                                    of: "sub_\(number % 4)",
                                    at: Double(number),
                                    period: Double(number),
                                    end: Double(number + 30),
                                    user: "u\(number % 3)"
                                )
                            ),
                        ]
                        for command in commands {
                            let result = Self.write(command, to: stores[writer % 2])
                            if case .failure(let error) = result { failures.with { $0.append(error.description) } }
                        }
                    }
                }
                #expect(failures.with { $0 } == [])
                let database = try location.connect(.reading)
                #expect(try database.integer("SELECT count(*) FROM manual_grant") == Int64(writers * each))
                #expect(try database.integer("SELECT count(*) FROM audit") == Int64(writers * each))
                #expect(try database.integer("SELECT count(*) FROM event WHERE provider = 'stripe'") == Int64(each))
                #expect(
                    try database.integer("SELECT count(*) - count(DISTINCT sequence) FROM subscription") == 0,
                    "two changes with one number"
                )
                #expect(try database.integer("SELECT count FROM row_count WHERE environment = 0") == 3)
                let report = try location.rebuild(policy: Ledger.plainPolicy, now: day(100), checkOnly: true)
                #expect(report.differences == [])
            }
        }

        @Test func aChangeIsToldToOtherGatewaysAndOneOfThemHasTheLease() async throws {
            try await onOwnThread {
                let location = try Self.server.get().location("news")
                let heard = Locked<[ChangedRow]>([])
                let first = try location.open(policy: Ledger.plainPolicy)
                #expect(Self.eventually { first.hasLease })
                let second = try location.open(policy: nil, receivers: nil, listener: nil, cacheBytes: 0) { rows in
                    heard.with { $0 += rows }
                }
                defer { second.close() }
                #expect(
                    Self.eventually {
                        _ = Self.write(Self.grant("u1", "g\(wallClockMillis())"), to: first)
                        return heard.with { $0.contains(ChangedRow(user: person("u1"), environment: .production)) }
                    }
                )
                #expect(!second.hasLease)
                first.close()
                #expect(Self.eventually { second.hasLease })
            }
        }

        @Test func gatewaysThatStartTogetherMakeTheTablesOnce() async throws {
            try await onOwnThread {
                let location = PostgresLocation(try PostgresAddress(try Self.server.get().url("together")))
                let applied = Locked<[[String]]>([])
                let failures = Locked<[String]>([])
                DispatchQueue.concurrentPerform(iterations: 4) { _ in
                    do {
                        let names = try location.migrate()
                        applied.with { $0.append(names) }
                    } catch {
                        failures.with { $0.append("\(error)") }
                    }
                }
                #expect(failures.with { $0 } == [])
                #expect(applied.with { $0.flatMap { $0 } } == PostgresMigrations.known.map(\.name))
            }
        }

        // MARK: - A server that goes away

        @Test func aLostServerIsSaidAtOnceAndComesBack() async throws {
            try await onOwnThread {
                let server = try PostgresServer()
                let location = try server.location("lost")
                let store = try location.open(policy: Ledger.plainPolicy)
                defer { store.close() }
                let reader = try store.makeReader()
                guard case .success = Self.write(Self.grant("u1", "before"), to: store) else {
                    Issue.record("no grant")
                    return
                }
                server.kill()
                for _ in 0..<3 {
                    guard case .failure(.unavailable) = Self.write(Self.grant("u1", "lost"), to: store) else {
                        Issue.record("a write without a server")
                        return
                    }
                    #expect(throws: StorageError.self) { try reader.rowCopies(of: [(person("u1"), .production)]) }
                }
                try server.start()
                #expect(
                    Self.eventually {
                        if case .success = Self.write(Self.grant("u1", "after"), to: store) { return true }
                        return false
                    }
                )
                #expect(Self.eventually { (try? reader.user(person("u1"), eventsMax: 5).grants.count) == 2 })
                #expect(Self.eventually { store.hasLease })
            }
        }

        // MARK: - Moving

        @Test func everythingComesOverAndBackAgain() async throws {
            try await onOwnThread {
                let folder = try TemporaryFolder(prefix: "move")
                defer { folder.remove() }
                let file = SQLiteLocation(path: folder.file("gateway.db"))
                var history = RandomHistory(seed: 11)
                _ = try file.migrate()
                let ledger = try Ledger(on: try file.connect(.writing), policy: history.policy)
                try ledger.take(history.events())
                let store = try file.open(policy: history.policy, receivers: ["r"], listener: nil, cacheBytes: 0) { _ in
                }
                for number in 0..<1200 { _ = Self.write(Self.grant("g\(number)", "g"), to: store) }
                _ = Self.write(.erase(user: person("g7"), by: Actor(keyID: "k", at: day(3))), to: store)
                store.close()

                let server = PostgresLocation(try PostgresAddress(try Self.server.get().url("moved")))
                // Cut off in the middle: it goes on, and is not served before.
                struct CutOff: Error {}
                _ = try DatabaseCopy(from: file, to: server)
                #expect(throws: StorageError.self) { try server.open(policy: history.policy) }
                let tables = try DatabaseCopy(from: file, to: server).run { _ in }
                #expect(tables.first { $0.name == "manual_grant" }?.rows == 1199)
                let over = try Ledger(on: try server.connect(.writing), policy: history.policy)
                #expect(try over.picture() == ledger.picture())
                #expect(try over.differences() == [])
                #expect(throws: StorageError.self) { try DatabaseCopy(from: file, to: server) }

                let moved = try server.open(policy: history.policy)
                guard case .success(.granted(isNew: true)) = Self.write(Self.grant("new", "g"), to: moved) else {
                    Issue.record("numbers do not go on")
                    return
                }
                moved.close()
                let back = SQLiteLocation(path: folder.file("back.db"))
                let returned = try DatabaseCopy(from: server, to: back).run { _ in }
                #expect(returned.first { $0.name == "manual_grant" }?.rows == 1200)
                #expect(try back.rebuild(policy: history.policy, now: day(100), checkOnly: true).differences == [])
            }
        }
    }
#endif
