internal import Crypto
package import Entitlements
package import Platform
package import Storage

/// What is posted to the writer.
package struct WriterMessage: Sendable {
    var command: StoreCommand
    var reply: StoreReply
}

/// The only thread that writes.
///
/// It takes everything that waits, carries it out in one transaction, commits once (one sync of the disk for all of them), and
/// only then lets the replies go; a command that fails takes no other with it. With one client a batch is one command and
/// costs one sync; with many it costs one sync for all. A crash before COMMIT loses only what nobody was told about. When
/// COMMIT fails, every command of the batch fails. There is no asynchronous mode.
package final class SQLWriter {
    /// More commands than this in one transaction would make the first of them wait too long.
    static let batchMax = 256
    /// A transaction that others were in the way of is tried so often.
    private static let triesMax = 6

    private let engine: any WriterEngine
    private let database: any SQLDatabase
    private let transaction: SQLTransaction
    private let licenses: LicenseDesk
    private var policy: EntitlementPolicy
    private let measurements: WriterMeasurements
    /// A policy that counts from the commit of the present batch on.
    private var adopted: EntitlementPolicy?
    /// The election of all rows anew; nil when none is going on.
    private var election: Election?
    private let onChange: @Sendable ([ChangedRow]) -> Void
    private let listener: (any ChangeListener)?
    /// The database's mark when the counters were read last, and when this program was told of others last.
    private var seenMark: Int64?
    private var othersMark: Int64?
    private var othersLookedFor = MonotonicNanos.now()
    /// When to try again to turn rows, after an attempt failed.
    private var turnAgain = MonotonicNanos(value: 0)
    /// Whether each command has a savepoint of its own: it costs a copy of every page that the command changes, so a batch is
    /// tried without first, and once more with them when a command in it has failed.
    private var isCareful = false
    private var needsCare = false
    private let savepoint: any SQLStatement
    private let release: any SQLStatement
    private let undo: any SQLStatement

    package init(
        _ engine: any WriterEngine,
        policy: EntitlementPolicy,
        measurements: WriterMeasurements,
        listener: (any ChangeListener)? = nil,
        onChange: @escaping @Sendable ([ChangedRow]) -> Void
    ) throws(StorageError) {
        self.engine = engine
        let database = engine.database
        self.database = database
        transaction = try SQLTransaction(database)
        licenses = try LicenseDesk(database, transaction)
        self.policy = policy
        self.measurements = measurements
        self.onChange = onChange
        self.listener = listener
        savepoint = try database.prepare("SAVEPOINT command")
        release = try database.prepare("RELEASE SAVEPOINT command")
        undo = try database.prepare("ROLLBACK TO SAVEPOINT command")
        transaction.nextTurn = try transaction.firstTurn()
        lookForOthers()
    }

    /// Works until the mailbox is closed and empty.
    package func run(_ mailbox: Mailbox<WriterMessage>) {
        var waiting = ContiguousArray<WriterMessage>()
        while true {
            let pause = election.map { min($0.pauseMillis, millisToNextTurn) } ?? millisToNextTurn
            _ = mailbox.wait(milliseconds: pause)
            let isLast = mailbox.drain(into: &waiting)
            if waiting.isEmpty, isLast { break }
            if MonotonicNanos.now() >= othersLookedFor.adding(milliseconds: engine.idleMillis) { lookForOthers() }
            electSome()
            if waiting.isEmpty { lookForTurns() }
            turnSome()
            var start = 0
            while start < waiting.count {
                let end = min(start + Self.batchMax, waiting.count)
                write(waiting[start..<end])
                start = end
            }
            waiting.removeAll(keepingCapacity: true)
        }
        engine.finish()
    }

    /// Looks whether another program (a command on the same file) has committed: then no row that a reader keeps counts any
    /// more. Where the engine has no mark for that, others tell by themselves.
    private func lookForOthers() {
        othersLookedFor = .now()
        // A database that cannot be read now is looked at again soon, and what is kept is not relied on meanwhile.
        var found: Int64? = -1
        do throws(StorageError) { found = try database.commitMark() } catch { found = -1 }
        guard let found, found != othersMark || found < 0 else { return }
        othersMark = found
        othersWrote()
    }

    private func othersWrote() {
        engine.othersWrote()
        listener?.othersWrote()
    }

    private func write(_ batch: ArraySlice<WriterMessage>) {
        var tries = 1
        defer { isCareful = false }
        while true {
            do throws(StorageError) {
                try writeOnce(batch)
                return
            } catch {
                let isWorthRepeating = engine.isWorthRepeating
                abandon()
                if needsCare {
                    (needsCare, isCareful) = (false, true)
                    continue
                }
                if isWorthRepeating, tries < Self.triesMax {
                    tries += 1
                    continue
                }
                measurements.failures.add()
                for message in batch { message.reply(.failure(error)) }
                return
            }
        }
    }

    /// - Throws: Nothing was told to anyone then.
    private func writeOnce(_ batch: ArraySlice<WriterMessage>) throws(StorageError) {
        var results: [Result<StoreResult, StorageError>] = []
        results.reserveCapacity(batch.count)
        var changed: [ChangedRow] = []
        try beginBatch()
        for message in batch {
            let result = try attempt(message.command, &changed)
            results.append(result)
        }
        try commit(changed)
        // Nothing is told to anyone before this line: COMMIT has returned, the disk has it.
        engine.committed(changed)
        if let adopted {
            policy = adopted
            election = Election()
            self.adopted = nil
        }
        measurements.batchSize.add(batch.count)
        measurements.rowsChanged.add(changed.count)
        tell(changed)
        for (message, result) in zip(batch, results) {
            message.reply(result.map { Committed(afterCommit: $0) })
        }
        engine.rest()
    }

    /// Ends the transaction well.
    private func commit(_ changed: [ChangedRow]) throws(StorageError) {
        if try transaction.saveCounters() { try engine.willCommit(changed, lastVersion: transaction.counters.version) }
        let started = MonotonicNanos.now()
        try database.commit()
        measurements.commitMicros.add(Int(MonotonicNanos.now().nanoseconds(since: started) / 1000))
    }

    /// Carries out one command; its own failure leaves the others alone, a failing disk fails them all.
    private func attempt(
        _ command: StoreCommand,
        _ changed: inout [ChangedRow]
    ) throws(StorageError) -> Result<StoreResult, StorageError> {
        if isCareful { try savepoint.run() }
        transaction.beginCommand()
        let (before, recorded) = (changed.count, transaction.changes.recorded.count)
        let counters = isCareful ? transaction.counters : nil
        do throws(StorageError) {
            let result = try perform(command, &changed)
            if isCareful { try release.run() }
            return .success(result)
        } catch {
            changed.removeSubrange(before...)
            transaction.changes.forget(after: recorded)
            if error.isOfTheDatabase { throw error }
            guard let counters else {
                needsCare = true
                throw error
            }
            try undo.run()
            transaction.goBack(to: counters)
            try release.run()
            return .failure(error)
        }
    }

    private func abandon() {
        adopted = nil
        transaction.changes.forget()
        database.rollback()
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
        case .endGrant(let user, let grantID, let reason, let actor):
            return try endGrant(user, grantID, reason, actor, &changed)
        case .addIdentity(let request): return try addIdentity(request, &changed)
        case .submitPurchase(let submission): return try submit(submission, &changed)
        case .erase(let user, let actor):
            try Erasure(database: database, transaction: transaction, policy: policy)
                .erase(user, at: actor.at, &changed)
            try audit("erase", nil, actor, "")
            return .erased
        case .forgetAddresses(let moment):
            changed += try AddressPurge(database: database, transaction: transaction).forgetAll(policy, at: moment)
            return .ready
        case .license(let command): return .license(try licenses.perform(command))
        case .providerTask(let command): return try ProviderTasks(database: database).perform(command)
        case .replay(let sequence, let incoming, let actor):
            return try replay(sequence, incoming, actor, &changed)
        case .adopt(let policy):
            adopted = policy
            try transaction.setMeta(Reelection.metaName, PolicyCoding.encode(policy))
            // Taken away when all rows are done: a stop before that elects them at the next start.
            try transaction.setMeta(Reelection.unfinishedName, "1")
            return .adopted
        case .sent(let report):
            try Outbox(database: database).record(report)
            return .sent
        case .resend(let messageID, let actor):
            let count = try Outbox(database: database).resend(messageID, at: actor.at)
            if count > 0 { try audit("resend", nil, actor, messageID ?? "all") }
            return .resent(count)
        case .takeReading(let reading): return try take(reading, &changed)
        case .remember(let memory, let value):
            try transaction.setMeta(memory.rawValue, value)
            return .remembered
        case .prune(let payloads, let now):
            let receivers = transaction.changes.receivers
            let outbox = Outbox(database: database)
            return .pruned(try outbox.prune(payloads: payloads, now: now, receivers: receivers))
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
        try licenses.issue(for: ingestion.workedOut, policy, now: incoming.receivedAt)
        return outcome
    }

    /// All events of a reading; of a trial nothing stays but what it would have changed.
    private func take(
        _ reading: ProviderReading,
        _ changed: inout [ChangedRow]
    ) throws(StorageError) -> StoreResult {
        let (isHeard, counters) = (transaction.changes.isListening, transaction.counters)
        let (before, recorded) = (changed.count, transaction.changes.recorded.count)
        transaction.changes.isListening = true
        defer { transaction.changes.isListening = isHeard }
        if reading.isTrial { try database.execute("SAVEPOINT trial") }
        var outcomes: [EventOutcome] = []
        for event in reading.events { outcomes.append(try ingest(event, &changed)) }
        if !reading.isTrial { try ProviderTasks(database: database).follow(reading) }
        var differences: [AnswerDifference] = []
        for change in transaction.changes.recorded[recorded...] {
            if let difference = try AnswerDifference(change) { differences.append(difference) }
        }
        if !isHeard || reading.isTrial { transaction.changes.forget(after: recorded) }
        if reading.isTrial {
            try database.execute("ROLLBACK TO SAVEPOINT trial")
            try database.execute("RELEASE SAVEPOINT trial")
            transaction.goBack(to: counters)
            changed.removeSubrange(before...)
        }
        return .readingTaken(outcomes, differences)
    }

    private func replay(
        _ sequence: EventSequence,
        _ incoming: IncomingEvent?,
        _ actor: Actor,
        _ changed: inout [ChangedRow]
    ) throws(StorageError) -> StoreResult {
        let query = try database.prepare("SELECT outcome, provider, event_id, payload FROM event WHERE seq = ?")
        query.bind(1, sequence)
        guard try query.step() else { return .notFound }
        let before = EventOutcome(rawValue: UInt8(truncatingIfNeeded: query.integer(0))) ?? .observed
        let name = "\(query.text(1)) \(query.text(2))"
        let payload = query.optionalBlob(3)
        query.reset()
        var ingestion = Ingestion(policy: policy, transaction: transaction)
        var outcome = before
        if let incoming {
            // Erased or replayed since it was read.
            guard let payload, payload == incoming.redactedPayload() else { return .notReplayable }
            outcome = try ingestion.replay(sequence, incoming, before: before, at: actor.at)
        } else {
            let keys = try transaction.purchases(withFactsOf: sequence)
            _ = try ingestion.recomputeAll(keys, actor.at)
        }
        changed += ingestion.changedRows
        try licenses.issue(for: ingestion.workedOut, policy, now: actor.at)
        let user = try database.prepare("SELECT user_id FROM event WHERE seq = ?")
        user.bind(1, sequence)
        let owner = try user.step() ? user.optionalText(0).map { UserID(unchecked: $0) } : nil
        user.reset()
        try audit("replay", owner, actor, name)
        return .replayed(outcome)
    }

    // MARK: - The election of all rows anew

    /// A few purchases of an election that goes through all of them, in a transaction of its own, so that deliveries wait
    /// no longer than for one of their own batches.
    private func electSome() {
        guard var election else { return }
        var changed: [ChangedRow] = []
        var isDone = false
        var keys: [PurchaseKey] = []
        do throws(StorageError) {
            let query = try database.prepare("SELECT id FROM purchase WHERE id > ? ORDER BY id LIMIT ?")
            query.bind(1, election.last)
            query.bind(2, Int64(election.step))
            keys = []
            while try query.step() { keys.append(query.integer(0)) }
            query.reset()
            try beginBatch()
            var ingestion = Ingestion(policy: policy, transaction: transaction)
            _ = try ingestion.recomputeAll(keys, UnixMillis(wallClockMillis()))
            changed = ingestion.changedRows
            try licenses.issue(for: ingestion.workedOut, policy, now: UnixMillis(wallClockMillis()))
            isDone = keys.isEmpty
            if isDone { try transaction.setMeta(Reelection.unfinishedName, "") }
            try commit(changed)
            election.last = keys.last ?? election.last
            election.purchases += keys.count
        } catch {
            abandon()
            measurements.failures.add()
            self.election = election.after(error, at: keys)
            return
        }
        engine.committed(changed)
        measurements.rowsChanged.add(changed.count)
        election.changed += changed.count
        election.pauseMillis = 0
        self.election = isDone ? nil : election
        if isDone { Reelection.announce(purchases: election.purchases, changed: election.changed) }
        tell(changed)
        engine.rest()
    }

    // MARK: - Others, the clock, and who is told

    private func beginBatch() throws(StorageError) {
        try database.beginWriting()
        transaction.changes.isListening = listener?.isListening ?? false
        // Inside the transaction nobody else can write: what is read now holds until COMMIT.
        guard let mark = try database.commitMark() else { return try transaction.reload() }
        guard mark != seenMark else { return }
        seenMark = mark
        try transaction.reload()
        othersMark = mark
        othersWrote()
    }

    /// After a commit.
    private func tell(_ changed: [ChangedRow]) {
        if !changed.isEmpty { onChange(changed) }
        guard let listener else { return }
        let changes = transaction.changes.recorded
        transaction.changes.forget()
        if !changes.isEmpty { listener.changed(changes) }
        if transaction.changes.takeTold() { listener.outboxGrew() }
    }

    private var millisToNextTurn: Int {
        let pause = Int(turnAgain.nanoseconds(since: .now()) / 1_000_000)
        guard let turn = transaction.nextTurn else { return engine.idleMillis }
        let millis = min(max(turn.value - wallClockMillis(), 0), Int64(engine.idleMillis))
        return max(Int(millis), min(pause, engine.idleMillis))
    }

    /// Other programs write rows, too, and their turns.
    private func lookForTurns() {
        if let turn = try? transaction.firstTurn() { transaction.nextTurn = turn }
    }

    /// Turns some of the rows whose answers the clock has changed, in a transaction of its own.
    private func turnSome() {
        let now = UnixMillis(wallClockMillis())
        guard let turn = transaction.nextTurn, turn <= now, turnAgain <= .now() else { return }
        do throws(StorageError) {
            try beginBatch()
            _ = try transaction.turnRows(upTo: now, limit: Self.batchMax)
            try commit([])
            transaction.nextTurn = try transaction.firstTurn()
        } catch {
            abandon()
            measurements.failures.add()
            turnAgain = .now().adding(seconds: 1)
            return
        }
        engine.committed([])
        tell([])
        engine.rest()
    }

    // MARK: - By hand

    private func grant(_ request: GrantRequest, _ changed: inout [ChangedRow]) throws(StorageError) -> StoreResult {
        let known = try database.prepare(
            "SELECT until, reason, entitlement FROM manual_grant WHERE user_id = ? AND grant_id = ?"
        )
        // Under whichever of their ids: the person is who has the grant.
        for member in try transaction.person(of: request.user) {
            known.bind(1, member.value)
            known.bind(2, request.grantID)
            defer { known.reset() }
            guard try known.step() else { continue }
            let isSame =
                known.optionalInteger(0) == request.until?.value && known.text(1) == request.reason
                && known.text(2) == request.entitlement
            return isSame ? .granted(isNew: false) : .grantConflict
        }
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
        _ reason: String?,
        _ actor: Actor,
        _ changed: inout [ChangedRow]
    ) throws(StorageError) -> StoreResult {
        let update = try database.prepare(
            "UPDATE manual_grant SET ended_at = ? WHERE user_id = ? AND grant_id = ? AND ended_at IS NULL"
        )
        var isKnown = false
        // Two ids with a grant of the same name each may have become one person: both end.
        for member in try transaction.person(of: user) where try self.isKnown(grantID, of: member) {
            isKnown = true
            update.bind(1, actor.at.value)
            update.bind(2, member.value)
            update.bind(3, grantID)
            try update.run()
            guard database.changes > 0 else { continue }
            let event = ManualProvider.event(
                ending: grantID,
                of: member,
                eventID: eventID("grant_ended"),
                at: actor.at
            )
            _ = try ingest(event, &changed)
            try audit("end_grant", user, actor, reason.map { "\(grantID): \($0)" } ?? grantID)
        }
        return isKnown ? .grantEnded : .notFound
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
        var request = request
        request.samePerson = try Ingestion(policy: policy, transaction: transaction).users(among: request.samePerson)
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
        try licenses.issue(for: ingestion.workedOut, policy, now: submission.by.at)
        try ProviderTasks(database: database).keep(all: submission.then)
        guard result != .ownedByAnother else { return .ownedByAnother }
        if result == .owned(isNew: true) {
            let detail = "\(submission.event.provider.name) \(submission.id.value)"
            try audit("submit", submission.user, submission.by, detail)
            try ProviderTasks(database: database).keep(all: submission.thenIfNew)
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
