internal import Crypto
internal import Entitlements
internal import Outbound
internal import Platform
internal import ProviderKit
internal import SQLStorage
internal import Storage

/// Deliveries that only say that something has changed, purchases that apps hand in, and what is to be sent to a provider.
///
/// A delivery is kept before anything is asked. Whether it is read at once, by the provider's next attempt, or by a look here
/// minutes later: the transaction that takes in what was read takes the task away.
extension SyncWorker {
    /// A task is nobody else's for so long after it was kept; then a look here takes it up.
    static let ownMillis: Int64 = 30_000
    private static let lookMillis = 5000
    private static let tasksAtOnce = 32
    /// Between attempts of one task: doubled each time, from the first to the last.
    private static let pauseMillis: (first: Int64, last: Int64) = (15_000, 3_600_000)
    /// An acknowledgement that has waited for so long is an error in the log at each attempt.
    private static let lateMillis = UnixMillis.millisPerDay

    /// A look that follows a delivery waits until the answer is sure to be the newer of the two (rule 8).
    static let lookupMillis: Int64 = 6000

    var now: UnixMillis { UnixMillis(wallClockMillis()) }

    // MARK: - Deliveries

    func keep(_ task: ProviderTask, _ millis: Int, _ reply: @escaping ProviderSync.Reply) {
        let mailbox = mailbox
        let isTaken = store.submit(.providerTask(.keep(task)), bytes: task.body.count) { result in
            if !mailbox.post(.kept(task, deadlineMillis: millis, reply: reply, result)) {
                reply(SyncReport(unreachable: [task.provider: Self.stopReason]))
            }
        }
        if !isTaken {
            reply(SyncReport(unreachable: [task.provider: "more writes are waiting than the database takes"]))
        }
    }

    func kept(
        _ task: ProviderTask,
        _ millis: Int,
        _ reply: @escaping ProviderSync.Reply,
        _ result: Result<Committed<StoreResult>, StorageError>
    ) {
        switch result {
        case .success(let committed):
            guard case .taskKept(let id) = committed.value else {
                return reply(SyncReport(result: committed))
            }
            begin(
                KeptProviderTask(waiting: task, id: id),
                waiter: (MonotonicNanos.now().adding(milliseconds: millis), reply)
            )
        case .failure(let error):
            Log.error("a delivery could not be kept", ("reason", .string(error.description)))
            reply(SyncReport(unreachable: [task.provider: error.description]))
        }
    }

    private func begin(
        _ task: KeptProviderTask,
        waiter: (deadline: MonotonicNanos?, reply: ProviderSync.Reply)? = nil
    ) {
        if let known = jobOfTask[task.id] {
            if let waiter { jobs[known]?.waiters.append(waiter) }
            return
        }
        let question = task.task.question
        guard let api = apis.firstIndex(where: { $0.provider == task.task.provider && $0.takes(question) }) else {
            // It waits for the day when its provider can be asked again, and keeps nobody else waiting.
            settle(task, SyncReport(unreachable: [task.task.provider: "its API is not set up"]))
            waiter?.reply(SyncReport())
            return
        }
        var job = Job(aim: .task(task))
        if let waiter { job.waiters.append(waiter) }
        job.readings[0] = Reading(api: api, question: question)
        start(job)
    }

    /// Takes up what nobody has finished: what failed, and what was kept before a stop.
    func lookForTasks() {
        guard !apis.isEmpty else { return }
        due.append((MonotonicNanos.now().adding(milliseconds: Self.lookMillis), .tasks))
        takeUpTasks()
    }

    func takeUpTasks() {
        guard store.hasLease else { return }
        do throws(StorageError) {
            for task in try reader.dueTasks(at: now, limit: Self.tasksAtOnce) { begin(task) }
        } catch {
            Log.error("waiting tasks cannot be read", ("reason", .string(error.description)))
        }
    }

    /// What is to be written for what was read.
    func commands(taking events: [IncomingEvent], then next: [ProviderTask], _ number: Int) -> [StoreCommand] {
        switch jobs[number]?.aim {
        case .task(let task):
            guard !events.isEmpty else { return [] }
            return [.takeReading(ProviderReading(events: events, finishes: task.id, then: next))]
        case .claim(let claim):
            return events.map { submission(claim, $0, then: next, number) }
        case .subject, .page, nil:
            // Each by itself: one that cannot be written leaves the others alone.
            var commands = events.map { StoreCommand.takeReading(ProviderReading(events: [$0])) }
            if !next.isEmpty { commands.append(.takeReading(ProviderReading(events: [], then: next))) }
            return commands
        }
    }

    /// A task that came to nothing is tried again later.
    func settle(_ task: KeptProviderTask, _ report: SyncReport) {
        let command: ProviderTaskCommand
        if report.unreachable.isEmpty, report.isUnknown {
            command = .done(id: task.id)
        } else {
            let doublings = min(task.attempts, 16)
            let pause = min(Self.pauseMillis.first << doublings, Self.pauseMillis.last)
            command = .postpone(id: task.id, until: now.adding(millis: pause))
            if task.task.kind == .acknowledge, now > task.task.createdAt.adding(millis: Self.lateMillis) {
                Log.error(
                    "a purchase is not acknowledged yet, and will be paid back three days after it was made",
                    ("provider", .string(task.task.provider.name)),
                    ("reason", .string(report.unreachable[task.task.provider] ?? "no answer"))
                )
            }
        }
        _ = store.submit(.providerTask(command)) { [mailbox] _ in _ = mailbox.post(.noted) }
    }

    // MARK: - Purchases that apps hand in

    func begin(_ claim: PurchaseClaim, _ provider: ProviderID, _ millis: Int, _ reply: @escaping ProviderSync.Reply) {
        guard let api = apis.firstIndex(where: { $0.provider == provider }) else { return reply(SyncReport()) }
        guard jobs.count < ProviderSync.waitingMax else {
            return reply(SyncReport(unreachable: [provider: Self.fullReason]))
        }
        var job = Job(aim: .claim(claim))
        job.waiters.append((MonotonicNanos.now().adding(milliseconds: millis), reply))
        job.readings[0] = Reading(api: api, question: .purchase(claim.id))
        start(job)
    }

    /// Where the answer tells of no purchase, or of nobody, it is only recorded.
    private func submission(
        _ claim: PurchaseClaim,
        _ incoming: IncomingEvent,
        then next: [ProviderTask],
        _ number: Int
    ) -> StoreCommand {
        guard case .facts(let reference, let facts)? = incoming.event.effects.first else {
            // Pending, or not understood: it is recorded, and the app may ask again.
            return .ingest(incoming)
        }
        var named: UserID?
        for case .owner(let statement) in facts { named = named ?? statement.users.first }
        guard let user = claim.user ?? named else {
            return .takeReading(ProviderReading(events: [incoming], then: next))
        }
        jobs[number]?.report.owner = (user, reference.environment)
        var submission = PurchaseSubmission(
            event: incoming,
            id: claim.id,
            environment: reference.environment,
            user: user,
            restore: claim.restore,
            by: claim.by
        )
        submission.then = next
        return .submitPurchase(submission)
    }

    // MARK: - What is sent

    /// What is to be done next in a reading, or in sending something.
    func step(of reading: Reading, _ api: any ProviderAPI) -> APIStep {
        guard case .send(let request) = reading.question else { return api.next(reading.question, reading.answers) }
        guard let answer = reading.answers[request] else { return .ask([request]) }
        guard let failure = api.failure(of: answer) else { return .done(APIReading()) }
        guard case .notUnderstood = failure else { return .failed(failure) }
        // Refused for good: what is over needs no acknowledgement.
        Log.warning(
            "a provider did not take what was sent",
            ("provider", .string(api.provider.name)),
            ("status", .integer(Int64(answer.status)))
        )
        return .done(APIReading())
    }

    // MARK: - Lists

    /// Reads one page of a provider's list.
    func begin(_ page: APIListPage, at api: Int, _ manner: SyncManner, _ reply: @escaping ProviderSync.Reply) {
        guard jobs.count < ProviderSync.waitingMax else { return reply(SyncReport(failure: Self.fullReason)) }
        var job = Job(aim: .page, manner: manner)
        job.waiters.append((manner.deadlineMillis.map { MonotonicNanos.now().adding(milliseconds: $0) }, reply))
        job.readings[0] = Reading(api: api, question: .page(page))
        job.report.questions = 1
        start(job)
    }
}

extension APIFollowUp {
    /// It as a task that is kept.
    func task(of provider: ProviderID, at now: UnixMillis, after millis: Int64 = 0) -> ProviderTask {
        let (kind, key, body): (ProviderTask.Kind, String, [UInt8]) =
            switch self {
            case .acknowledge(let request): (.acknowledge, request.key, Array((request.json ?? "").utf8))
            case .tell(let request): (.tell, request.key, Array((request.json ?? "").utf8))
            case .read(let id, let body): (.read, id, body)
            }
        return ProviderTask(
            provider: provider,
            kind: kind,
            key: key,
            body: body,
            createdAt: now,
            nextAt: now.adding(millis: millis)
        )
    }
}

extension ProviderTask {
    fileprivate var question: APIQuestion {
        guard kind.isRequest else { return .delivery(id: key, body: body) }
        return .send(APIRequest(key: key, json: String(decoding: body, as: UTF8.self)))
    }
}

extension KeptProviderTask {
    /// One that was kept just now.
    fileprivate init(waiting task: ProviderTask, id: Int64) {
        self.init(id: id, task: task, attempts: 0)
    }
}
