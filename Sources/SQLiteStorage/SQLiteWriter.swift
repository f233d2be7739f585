internal import Crypto
internal import Entitlements
internal import Platform
internal import Storage
internal import Synchronization

/// What is posted to the writer.
struct WriterMessage: Sendable {
    var command: StoreCommand
    var reply: StoreReply
}

/// The only thread that writes.
///
/// It takes everything that waits, carries it out in one transaction, each command in a savepoint of its own, commits once
/// (one sync of the disk for all of them), and only then lets the replies go. With one client a batch is one command and
/// costs one sync; with many it costs one sync for all. A crash before COMMIT loses only what nobody was told about. When
/// COMMIT fails, every command of the batch fails. There is no asynchronous mode.
final class SQLiteWriter {
    /// More commands than this in one transaction would make the first of them wait too long.
    static let batchMax = 256
    /// How long another process may hold the write lock before a write is refused.
    static let busyMillis: Int32 = 1000

    private let database: SQLiteDatabase
    private let transaction: SQLiteTransaction
    private var policy: EntitlementPolicy
    private let measurements: WriterMeasurements
    /// Where the election of all rows anew has come to; nil when none is going on.
    private var reelectedUpTo: Int64?
    private let onChange: @Sendable ([ChangedRow]) -> Void
    private let commits: CommitCounter
    private let begin: Statement
    private let commit: Statement
    private let rollback: Statement
    private let savepoint: Statement
    private let release: Statement
    private let undo: Statement

    init(
        path: String,
        policy: EntitlementPolicy,
        commits: CommitCounter,
        measurements: WriterMeasurements,
        onChange: @escaping @Sendable ([ChangedRow]) -> Void
    ) throws(StorageError) {
        database = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: Self.busyMillis)
        // Every commit is synced: an acknowledged event survives a power cut (sqlite.org/pragma.html#pragma_synchronous).
        try database.execute(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF;
            PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 33554432; PRAGMA cache_size = -16384;
            """
        )
        transaction = try SQLiteTransaction(database)
        self.policy = policy
        self.measurements = measurements
        self.commits = commits
        self.onChange = onChange
        begin = try database.prepare("BEGIN IMMEDIATE")
        commit = try database.prepare("COMMIT")
        rollback = try database.prepare("ROLLBACK")
        savepoint = try database.prepare("SAVEPOINT command")
        release = try database.prepare("RELEASE command")
        undo = try database.prepare("ROLLBACK TO command")
    }

    /// Works until the mailbox is closed and empty.
    func run(_ mailbox: Mailbox<WriterMessage>) {
        var waiting = ContiguousArray<WriterMessage>()
        while true {
            _ = mailbox.wait(milliseconds: reelectedUpTo == nil ? nil : 0)
            mailbox.drain(into: &waiting)
            if waiting.isEmpty, mailbox.isClosed { break }
            if reelectedUpTo != nil { reelectSome() }
            var start = 0
            while start < waiting.count {
                let end = min(start + Self.batchMax, waiting.count)
                write(waiting[start..<end])
                start = end
            }
            waiting.removeAll(keepingCapacity: true)
        }
        database.checkpoint(truncate: true)
    }

    private func write(_ batch: ArraySlice<WriterMessage>) {
        var results: [Result<StoreResult, StorageError>] = []
        results.reserveCapacity(batch.count)
        var changed: [ChangedRow] = []
        do throws(StorageError) {
            try begin.run()
            for message in batch {
                let result = try attempt(message.command, &changed)
                results.append(result)
            }
            try transaction.saveVersion()
            let started = MonotonicNanos.now()
            try commit.run()
            measurements.commitMicros.add(Int(MonotonicNanos.now().nanoseconds(since: started) / 1000))
        } catch {
            abandon()
            measurements.failures.add()
            for message in batch { message.reply(.failure(error)) }
            return
        }
        // Nothing is told to anyone before this line: COMMIT has returned, the disk has it.
        commits.increment()
        measurements.batchSize.add(batch.count)
        measurements.rowsChanged.add(changed.count)
        if !changed.isEmpty { onChange(changed) }
        for (message, result) in zip(batch, results) {
            message.reply(result.map { Committed(afterCommit: $0) })
        }
    }

    /// Carries out one command in a savepoint; its own failure leaves the others alone, a failing disk fails them all.
    private func attempt(
        _ command: StoreCommand,
        _ changed: inout [ChangedRow]
    ) throws(StorageError) -> Result<StoreResult, StorageError> {
        try savepoint.run()
        let before = changed.count
        do throws(StorageError) {
            let result = try perform(command, &changed)
            try release.run()
            return .success(result)
        } catch {
            changed.removeSubrange(before...)
            switch error {
            case .busy, .full, .unavailable, .overloaded, .wrongSchema: throw error
            case .damaged:
                try undo.run()
                try release.run()
                return .failure(error)
            }
        }
    }

    private func abandon() {
        if database.isInTransaction { try? rollback.run() }
        // The counters go back to what the disk has; a failure here shows again with the next batch.
        try? transaction.reload()
    }

    private func perform(
        _ command: StoreCommand,
        _ changed: inout [ChangedRow]
    ) throws(StorageError) -> StoreResult {
        switch command {
        case .ingest(let incoming): return .ingested(try ingest(incoming, &changed))
        case .grant(let request): return try grant(request, &changed)
        case .endGrant(let user, let grantID, let actor): return try endGrant(user, grantID, actor, &changed)
        case .addIdentity(let request): return try addIdentity(request, &changed)
        case .submitPurchase(let submission): return try submit(submission, &changed)
        case .erase(let user, let actor):
            try Erasure(database: database, transaction: transaction, policy: policy)
                .erase(user, at: actor.at, &changed)
            try audit("erase", nil, actor, "")
            return .erased
        case .replay(let sequence, let incoming, let actor):
            return try replay(sequence, incoming, actor, &changed)
        case .adopt(let policy):
            self.policy = policy
            reelectedUpTo = 0
            // Written when all rows are done: a stop before that elects them at the next start.
            try transaction.setMeta(Reelection.metaName, "being adopted")
            return .adopted
        case .probe(let moment):
            try transaction.setMeta("probe", String(moment.value))
            return .ready
        }
    }

    private func ingest(
        _ incoming: IncomingEvent,
        _ changed: inout [ChangedRow]
    ) throws(StorageError) -> EventOutcome {
        var ingestion = Ingestion(policy: policy, transaction: transaction)
        let outcome = try ingestion.ingest(incoming)
        changed += ingestion.changedRows
        return outcome
    }

    private func replay(
        _ sequence: EventSequence,
        _ incoming: IncomingEvent?,
        _ actor: Actor,
        _ changed: inout [ChangedRow]
    ) throws(StorageError) -> StoreResult {
        let query = try database.prepare("SELECT outcome, provider, event_id FROM event WHERE seq = ?")
        query.bind(1, sequence)
        guard try query.step() else { return .notFound }
        let before = EventOutcome(rawValue: UInt8(truncatingIfNeeded: query.integer(0))) ?? .observed
        let name = "\(query.text(1)) \(query.text(2))"
        query.reset()
        var ingestion = Ingestion(policy: policy, transaction: transaction)
        var outcome = before
        if let incoming {
            outcome = try ingestion.replay(sequence, incoming, before: before)
        } else {
            let facts = try database.prepare("SELECT DISTINCT purchase FROM fact WHERE event = ?")
            facts.bind(1, sequence)
            var keys: [PurchaseKey] = []
            while try facts.step() { keys.append(facts.integer(0)) }
            facts.reset()
            _ = try ingestion.recomputeAll(keys, actor.at)
        }
        changed += ingestion.changedRows
        try audit("replay", nil, actor, name)
        return .replayed(outcome)
    }

    /// A few purchases of an election that goes through all of them, in a transaction of its own, so that deliveries wait
    /// no longer than for one of their own batches.
    private func reelectSome() {
        guard let last = reelectedUpTo else { return }
        var changed: [ChangedRow] = []
        do throws(StorageError) {
            let query = try database.prepare("SELECT id FROM purchase WHERE id > ? ORDER BY id LIMIT ?")
            query.bind(1, last)
            query.bind(2, Int64(Self.batchMax))
            var keys: [PurchaseKey] = []
            while try query.step() { keys.append(query.integer(0)) }
            query.reset()
            try begin.run()
            var ingestion = Ingestion(policy: policy, transaction: transaction)
            _ = try ingestion.recomputeAll(keys, UnixMillis(wallClockMillis()))
            changed = ingestion.changedRows
            if keys.isEmpty { try transaction.setMeta(Reelection.metaName, PolicyCoding.encode(policy)) }
            try transaction.saveVersion()
            try commit.run()
            reelectedUpTo = keys.last
        } catch {
            // Tried again with the next turn.
            abandon()
            measurements.failures.add()
            return
        }
        commits.increment()
        measurements.rowsChanged.add(changed.count)
        if !changed.isEmpty { onChange(changed) }
    }

    // MARK: - By hand

    private func grant(_ request: GrantRequest, _ changed: inout [ChangedRow]) throws(StorageError) -> StoreResult {
        let known = try database.prepare(
            "SELECT until, reason, entitlement FROM manual_grant WHERE user_id = ? AND grant_id = ?"
        )
        known.bind(1, request.user.value)
        known.bind(2, request.grantID)
        if try known.step() {
            let isSame =
                known.optionalInteger(0) == request.until?.value && known.text(1) == request.reason
                && known.text(2) == request.entitlement
            known.reset()
            return isSame ? .granted(isNew: false) : .grantConflict
        }
        known.reset()
        let insert = try database.prepare(
            """
            INSERT INTO manual_grant (user_id, grant_id, until, reason, entitlement, created_at) VALUES (?, ?, ?, ?, ?, ?)
            """
        )
        insert.bind(1, request.user.value)
        insert.bind(2, request.grantID)
        insert.bind(3, request.until?.value)
        insert.bind(4, request.reason)
        insert.bind(5, request.entitlement)
        insert.bind(6, request.by.at.value)
        try insert.run()
        let event = ManualProvider.event(granting: request, eventID: eventID("grant"))
        _ = try ingest(event, &changed)
        try audit("grant", request.user, request.by, request.grantID)
        return .granted(isNew: true)
    }

    private func endGrant(
        _ user: UserID,
        _ grantID: String,
        _ actor: Actor,
        _ changed: inout [ChangedRow]
    ) throws(StorageError) -> StoreResult {
        let update = try database.prepare(
            "UPDATE manual_grant SET ended_at = ? WHERE user_id = ? AND grant_id = ? AND ended_at IS NULL"
        )
        update.bind(1, actor.at.value)
        update.bind(2, user.value)
        update.bind(3, grantID)
        try update.run()
        guard database.changes > 0 else { return try isKnown(grantID, of: user) ? .grantEnded : .notFound }
        let event = ManualProvider.event(
            ending: grantID,
            of: user,
            eventID: eventID("grant_ended"),
            at: actor.at
        )
        _ = try ingest(event, &changed)
        try audit("end_grant", user, actor, grantID)
        return .grantEnded
    }

    private func isKnown(_ grantID: String, of user: UserID) throws(StorageError) -> Bool {
        let query = try database.prepare("SELECT 1 FROM manual_grant WHERE user_id = ? AND grant_id = ?")
        query.bind(1, user.value)
        query.bind(2, grantID)
        defer { query.reset() }
        return try query.step()
    }

    private func addIdentity(
        _ request: IdentityRequest,
        _ changed: inout [ChangedRow]
    ) throws(StorageError) -> StoreResult {
        let known = try database.prepare(
            "SELECT 1 FROM claim WHERE provider = ? AND external_id = ? AND user_id = ?"
        )
        known.bind(1, request.provider.name)
        known.bind(2, request.externalID)
        known.bind(3, request.user.value)
        let isKnown = try known.step()
        known.reset()
        let event = ManualProvider.event(adding: request, eventID: eventID("identity"))
        _ = try ingest(event, &changed)
        try audit("identity", request.user, request.by, "\(request.provider.name) \(request.externalID)")
        return .identityAdded(isNew: !isKnown)
    }

    private func submit(
        _ submission: PurchaseSubmission,
        _ changed: inout [ChangedRow]
    ) throws(StorageError) -> StoreResult {
        var ingestion = Ingestion(policy: policy, transaction: transaction)
        let result = try ingestion.submit(submission, claimEventID: eventID("identity"))
        changed += ingestion.changedRows
        guard result != .ownedByAnother else { return .ownedByAnother }
        if result == .owned(isNew: true) {
            let detail = "\(submission.event.provider.name) \(submission.id.value)"
            try audit("submit", submission.user, submission.by, detail)
        }
        return .submitted
    }

    /// A new id for an event made by hand. What is asked for twice is known by the grant, not by the event.
    private func eventID(_ type: String) -> String {
        type + ":" + Hex.encode(RandomBytes.make(12))
    }

    private func audit(
        _ action: String,
        _ user: UserID?,
        _ actor: Actor,
        _ detail: String
    ) throws(StorageError) {
        let insert = try database.prepare(
            "INSERT INTO audit (at, key_id, action, user_id, detail) VALUES (?, ?, ?, ?, ?)"
        )
        insert.bind(1, actor.at.value)
        insert.bind(2, actor.keyID)
        insert.bind(3, action)
        insert.bind(4, user?.value)
        insert.bind(5, detail)
        try insert.run()
    }
}

/// Counts commits, so that a reader knows without a system call whether its snapshot is the newest.
public final class CommitCounter: Sendable {
    private let count = Atomic<Int>(0)

    public init() {}

    public var value: Int { count.load(ordering: .acquiring) }

    func increment() {
        count.wrappingAdd(1, ordering: .releasing)
    }
}
