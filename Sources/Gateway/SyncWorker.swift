internal import Entitlements
internal import Foundation
internal import Outbound
internal import Platform
internal import ProviderKit
internal import SQLStorage
internal import Storage

/// The thread behind `ProviderSync`: every piece of state here is its own.
final class SyncWorker {
    /// Which request of which reading an answer belongs to.
    struct Place: Hashable, Sendable {
        var job: Int
        var reading: Int
        var request: APIRequest
    }

    /// What one look is about.
    enum Aim {
        case subject(SweepSubject)
        case task(KeptProviderTask)
        case claim(PurchaseClaim)
        /// A page of a provider's list.
        case page
    }

    typealias Waiter = (deadline: MonotonicNanos?, reply: ProviderSync.Reply)

    /// One look, and who waits for it.
    struct Job {
        var aim: Aim
        var manner = SyncManner()
        var waiters: [Waiter] = []
        /// Who asked when this look had begun: what it has read may be from before, so another one follows for them.
        var next: [Waiter] = []
        /// Another look follows, even when those who asked for it have been answered by then.
        var isWantedAgain = false
        /// Whom this look asks.
        var asked: Set<ProviderID> = []
        var readings: [Int: Reading] = [:]
        var writesLeft = 0
        /// What was read so far, where it is only tried.
        var tried: [IncomingEvent] = []
        var report = SyncReport()
        /// Something newer was known of a purchase than the API said: a second look follows (rule 8).
        var wasOvertaken = false
        var isSecondLook = false
        /// Something is to be sent once what was read is written.
        var hasTasks = false
    }

    struct Reading {
        var api: Int
        var question: APIQuestion
        var answers: [APIRequest: APIAnswer] = [:]
        var outstanding: Set<APIRequest> = []
        var attempts = 0
    }

    enum Due {
        case send(Place)
        case look(SweepSubject)
        /// Tasks that wait are looked for.
        case tasks
    }

    private static let attemptsMax = 4
    /// Whoever has sent a delivery sends it again, and so do we: there is no need to hold on.
    private static let attemptsMaxOfTask = 2
    private static let restReason = "not asked: it failed several times in a row, or asked for a pause"
    /// Whoever wants more time than this before the next attempt gets it, up to an hour, and is left alone meanwhile.
    private static let waitMillisMax: Int64 = 60_000
    private static let restMillisMax: Int64 = 3_600_000
    static let stopReason = "the gateway is stopping"
    static let fullReason = "more is being looked at than the gateway takes"
    private static let requestMillisMax = 10_000
    /// The second look comes when the API's answer is sure to be newer than the delivery that overtook the first.
    private static let secondLookMillis = 6000
    /// Answers about the project's own settings are used again for so long.
    private static let settingsSeconds = 600

    let apis: [any ProviderAPI]
    let store: any Store
    let reader: any SQLReading
    let mailbox: Mailbox<ProviderSync.Message>
    let client = OutboundClient()
    var pace: [RequestPace]
    private var settings: [[APIRequest: (answer: APIAnswer, until: MonotonicNanos)]]
    var jobs: [Int: Job] = [:]
    private var jobOfSubject: [SweepSubject: Int] = [:]
    /// The task a job is about, so that one task is one job.
    var jobOfTask: [Int64: Int] = [:]
    private var lastNumber = 0
    /// Access tokens, by the place of their API.
    var tokens: [AccessToken]
    private var answerClocks: [AnswerClock]
    /// What happens at a later moment.
    var due: [(at: MonotonicNanos, what: Due)] = []
    private var generator = SystemRandomNumberGenerator()

    init(apis: [any ProviderAPI], store: any Store, reader: any SQLReading, mailbox: Mailbox<ProviderSync.Message>) {
        self.apis = apis
        self.store = store
        self.reader = reader
        self.mailbox = mailbox
        pace = apis.map { RequestPace(perMinute: $0.requestsPerMinute) }
        settings = apis.map { _ in [:] }
        tokens = apis.map { _ in AccessToken() }
        answerClocks = apis.map { _ in AnswerClock() }
    }

    func run() {
        var messages = ContiguousArray<ProviderSync.Message>()
        lookForTasks()
        while true {
            reader.letGo()
            _ = mailbox.wait(milliseconds: millisecondsToNext())
            let isLast = mailbox.drain(into: &messages)
            if messages.isEmpty, isLast { break }
            for message in messages {
                switch message {
                case .sync(let subject, let manner, let reply): begin(subject, manner, reply)
                case .answered(let place, let result): answered(place, result)
                case .stored(let job, let result): stored(job, result)
                case .deliver(let task, let millis, let reply): keep(task, millis, reply)
                case .kept(let task, let millis, let reply, let result): kept(task, millis, reply, result)
                case .claim(let claim, let provider, let millis, let reply): begin(claim, provider, millis, reply)
                case .page(let page, let api, let manner, let reply): begin(page, at: api, manner, reply)
                case .authorized(let api, let result): authorized(api, result)
                case .noted: continue
                }
            }
            lookAtTheClock(.now())
        }
        client.stop()
        for job in jobs.values {
            var report = job.report
            report.failure = report.failure ?? Self.stopReason
            for waiter in job.waiters + job.next { waiter.reply(report) }
        }
    }

    // MARK: - Time

    private func millisecondsToNext() -> Int? {
        var next = due.map(\.at).min()
        for job in jobs.values {
            for deadline in (job.waiters + job.next).compactMap(\.deadline) { next = min(next ?? deadline, deadline) }
        }
        return next.map { Int($0.nanoseconds(since: .now()) / 1_000_000) + 1 }
    }

    private func lookAtTheClock(_ now: MonotonicNanos) {
        let ready = due.filter { $0.at <= now }
        due.removeAll { $0.at <= now }
        for entry in ready {
            switch entry.what {
            case .send(let place): send(place)
            case .look(let subject): look(at: subject, SyncManner(), [], isSecondLook: true)
            case .tasks: lookForTasks()
            }
        }
        for (number, job) in jobs {
            let isLate = { (waiter: Waiter) in waiter.deadline.map { $0 <= now } ?? false }
            guard job.waiters.contains(where: isLate) || job.next.contains(where: isLate) else { continue }
            var report = job.report
            report.pending = Set(job.readings.values.map { apis[$0.api].provider })
            for waiter in job.waiters where isLate(waiter) { waiter.reply(report) }
            // Their own look has not begun.
            report.pending = job.asked
            for waiter in job.next where isLate(waiter) { waiter.reply(report) }
            jobs[number]?.waiters.removeAll(where: isLate)
            jobs[number]?.next.removeAll(where: isLate)
        }
    }

    // MARK: - A person

    private func begin(_ subject: SweepSubject, _ manner: SyncManner, _ reply: @escaping ProviderSync.Reply) {
        let deadline = manner.deadlineMillis.map { MonotonicNanos.now().adding(milliseconds: $0) }
        let waiters = [(deadline: deadline, reply: reply)]
        if let known = jobOfSubject[subject], jobs[known]?.manner.isTrial == manner.isTrial {
            // Whoever only wants somebody to look is served by the look that goes on.
            if deadline == nil {
                jobs[known]?.waiters += waiters
            } else {
                jobs[known]?.next += waiters
                jobs[known]?.isWantedAgain = true
            }
            return
        }
        guard jobs.count < ProviderSync.waitingMax else {
            return reply(SyncReport(failure: Self.fullReason))
        }
        look(at: subject, manner, waiters)
    }

    private func look(
        at subject: SweepSubject,
        _ manner: SyncManner,
        _ waiters: [Waiter],
        isSecondLook: Bool = false
    ) {
        var job = Job(aim: .subject(subject), manner: manner)
        job.isSecondLook = isSecondLook
        job.waiters = waiters
        do throws(StorageError) {
            let person: KnownPerson
            switch subject {
            case .user(let user): person = try reader.knownPerson(user)
            case .parked(let purchase): person = try reader.knownPurchase(purchase)
            }
            var number = 0
            for (index, api) in apis.enumerated() {
                for question in api.questions(about: person) {
                    job.readings[number] = Reading(api: index, question: question)
                    job.asked.insert(api.provider)
                    number += 1
                }
            }
            job.report.questions = number
        } catch {
            job.report.failure = "the database cannot be read"
            for api in apis { job.report.unreachable[api.provider] = "the database cannot be read" }
        }
        start(job)
    }

    /// Begins a look; its number, which may be nobody's any more.
    @discardableResult
    func start(_ job: Job) -> Int {
        lastNumber += 1
        let number = lastNumber
        jobs[number] = job
        switch job.aim {
        case .subject(let subject): jobOfSubject[subject] = number
        case .task(let task): jobOfTask[task.id] = number
        case .claim, .page: break
        }
        for reading in job.readings.keys.sorted() { goOn(number, reading) }
        finishIfDone(number)
        return number
    }

    /// Takes a reading as far as its answers reach.
    private func goOn(_ number: Int, _ place: Int) {
        guard let reading = jobs[number]?.readings[place] else { return }
        let api = apis[reading.api]
        switch step(of: reading, api) {
        case .ask(let requests):
            for request in requests where !reading.outstanding.contains(request) {
                if let known = settings[reading.api][request], known.until > .now() {
                    jobs[number]?.readings[place]?.answers[request] = known.answer
                } else {
                    jobs[number]?.readings[place]?.outstanding.insert(request)
                    schedule(Place(job: number, reading: place, request: request), after: 0)
                }
            }
            if jobs[number]?.readings[place]?.outstanding.isEmpty == true { goOn(number, place) }
        case .done(let found):
            jobs[number]?.readings[place] = nil
            if found.events.isEmpty { jobs[number]?.report.isUnknown = true }
            jobs[number]?.report.nextPage = found.nextPage
            take(found, of: api.provider, number)
        case .failed(let failure): fail(number, place, failure)
        }
    }

    private func fail(_ number: Int, _ place: Int, _ failure: APIFailure) {
        guard let reading = jobs[number]?.readings[place] else { return }
        let provider = apis[reading.api].provider
        let reason: String
        switch failure {
        case .passing(let text, let retryAfterMillis):
            let told = min(max(retryAfterMillis ?? 0, 0), Self.restMillisMax)
            if told > Self.waitMillisMax {
                pace[reading.api].rest(until: MonotonicNanos.now().adding(milliseconds: Int(told)))
            }
            if reading.attempts < attemptsMax(of: number), !pace[reading.api].isResting(.now()) {
                // What was answered well stays; only what failed is asked again.
                let failed = reading.answers.filter { $0.value.status >= 400 && $0.value.status != 404 }.map(\.key)
                jobs[number]?.readings[place]?.attempts += 1
                let base = 250 << reading.attempts
                let jitter = Int.random(in: 0...base, using: &generator)
                let wait = max(Int(told), base + jitter)
                for request in failed {
                    jobs[number]?.readings[place]?.answers[request] = nil
                    jobs[number]?.readings[place]?.outstanding.insert(request)
                    schedule(Place(job: number, reading: place, request: request), after: wait)
                }
                if !failed.isEmpty { return }
            }
            reason = text
        case .refused(let text):
            // An access token may end before its time.
            let token = tokens[reading.api]
            let isOfAccess = reading.answers.values.contains { $0.status == 401 || $0.status == 403 }
            if isOfAccess, token.value != nil || token.isAsked, reading.attempts == 0 {
                if !token.isAsked { tokens[reading.api] = AccessToken() }
                return fail(number, place, .passing(text, retryAfterMillis: 0))
            }
            reason = text
            jobs[number]?.report.refused.insert(provider)
        case .notUnderstood(let text):
            reason = text
            jobs[number]?.report.notUnderstood.insert(provider)
        }
        // While it rests everyone is left out: that was said when it failed.
        if reason != Self.restReason {
            Log.warning(
                "a provider could not be read",
                ("provider", .string(provider.name)),
                ("reason", .string(reason))
            )
        }
        jobs[number]?.report.unreachable[provider] = reason
        jobs[number]?.readings[place] = nil
    }

    private func attemptsMax(of number: Int) -> Int {
        switch jobs[number]?.aim {
        case .subject, .page: Self.attemptsMax
        case .task, .claim, nil: Self.attemptsMaxOfTask
        }
    }

    // MARK: - Requests

    private func schedule(_ place: Place, after millis: Int) {
        guard let job = jobs[place.job], let api = job.readings[place.reading]?.api else { return }
        let wanted = MonotonicNanos.now().adding(milliseconds: millis)
        let at = max(wanted, pace[api].take(.now(), leavesRoom: job.manner.isPatient))
        if at <= .now() { send(place) } else { due.append((at, .send(place))) }
    }

    func send(_ place: Place) {
        guard let reading = jobs[place.job]?.readings[place.reading] else { return }
        let api = apis[reading.api]
        guard !pace[reading.api].isResting(.now()) else {
            let failure = APIFailure.passing(Self.restReason, retryAfterMillis: nil)
            return settle(place.job) { fail(place.job, place.reading, failure) }
        }
        guard let credential = credential(for: place, of: reading.api) else { return }
        let content = place.request.json.map { _ in [(name: "Content-Type", value: "application/json")] } ?? []
        let request = OutboundRequest(
            place.request.method.rawValue,
            api.base + place.request.path,
            headers: [("Accept", "application/json")] + content + api.headers + credential,
            body: place.request.json.map { Array($0.utf8) },
            deadlineMillis: Self.requestMillisMax
        )
        let mailbox = mailbox
        client.send(request) { result in _ = mailbox.post(.answered(place, result)) }
    }

    func answered(_ place: Place, _ result: Result<OutboundAnswer, OutboundFailure>) {
        guard let reading = jobs[place.job]?.readings[place.reading] else { return }
        let answer: APIAnswer
        switch result {
        case .success(let outbound):
            answer = answerClocks[reading.api].dated(Self.answer(outbound))
            if outbound.status >= 500 { pace[reading.api].failed(.now()) } else { pace[reading.api].succeeded() }
        case .failure(let failure):
            pace[reading.api].failed(.now())
            // A silence is remembered as the status that stands for it, so that the reading asks again.
            let status = failure == .notAnAddress ? 400 : 599
            answer = APIAnswer(status: status, body: nil, at: nil)
        }
        if place.request.isSettings, answer.status == 200 {
            settings[reading.api][place.request] = (answer, MonotonicNanos.now().adding(seconds: Self.settingsSeconds))
        }
        conclude(place, answer)
    }

    /// A request has its answer.
    func conclude(_ place: Place, _ answer: APIAnswer) {
        jobs[place.job]?.readings[place.reading]?.outstanding.remove(place.request)
        jobs[place.job]?.readings[place.reading]?.answers[place.request] = answer
        settle(place.job) {
            if jobs[place.job]?.readings[place.reading]?.outstanding.isEmpty == true {
                goOn(place.job, place.reading)
            }
        }
    }

    static func answer(_ outbound: OutboundAnswer) -> APIAnswer {
        APIAnswer(
            status: outbound.status,
            body: JSON(outbound.body),
            at: outbound.header("Date").flatMap(HTTPDate.moment),
            retryAfterSeconds: outbound.header("Retry-After").flatMap { Int64($0) }
        )
    }

    // MARK: - What was read

    private func take(_ found: APIReading, of provider: ProviderID, _ number: Int) {
        let incoming = found.events.map { read in
            IncomingEvent(
                provider: provider,
                event: read.event,
                receivedAt: now,
                redactedPayload: { read.payload }
            )
        }
        guard jobs[number]?.manner.isTrial == true else {
            let next = found.followUps.map { $0.task(of: provider, at: now) }
            if !next.isEmpty { jobs[number]?.hasTasks = true }
            for command in commands(taking: incoming, then: next, number) { write(command, of: provider, number) }
            return
        }
        // What one says may only count together with the other, and nothing of it stays in between.
        jobs[number]?.tried += incoming
    }

    private func write(_ command: StoreCommand, of provider: ProviderID?, _ number: Int) {
        let mailbox = mailbox
        let isTaken = store.submit(command) { result in _ = mailbox.post(.stored(job: number, result)) }
        if isTaken {
            jobs[number]?.writesLeft += 1
        } else {
            let reason = "more writes are waiting than the database takes"
            jobs[number]?.report.failure = reason
            if let provider { jobs[number]?.report.unreachable[provider] = reason }
        }
    }

    private func stored(_ number: Int, _ result: Result<Committed<StoreResult>, StorageError>) {
        settle(number) {
            jobs[number]?.writesLeft -= 1
            switch result {
            case .success(let committed):
                jobs[number]?.report.result = committed
                // What is to be sent now is on the disk.
                if jobs[number]?.hasTasks == true { takeUpTasks() }
                var outcomes = [committed.value.outcome].compactMap(\.self)
                if case .readingTaken(let taken, let differences) = committed.value {
                    outcomes = taken
                    jobs[number]?.report.differences += differences
                }
                for outcome in outcomes {
                    if outcome == .applied { jobs[number]?.report.applied += 1 }
                    if outcome == .stale { jobs[number]?.wasOvertaken = true }
                }
            case .failure(let error):
                jobs[number]?.report.failure = error.description
                Log.error("what a provider said could not be written", ("reason", .string(error.description)))
            }
        }
    }

    private func settle(_ number: Int, _ step: () -> Void) {
        step()
        finishIfDone(number)
    }

    private func finishIfDone(_ number: Int) {
        guard let job = jobs[number], job.readings.isEmpty, job.writesLeft == 0 else { return }
        if !job.tried.isEmpty {
            jobs[number]?.tried = []
            write(.takeReading(ProviderReading(events: job.tried, isTrial: true)), of: nil, number)
            return finishIfDone(number)
        }
        jobs[number] = nil
        switch job.aim {
        case .subject(let subject):
            if jobOfSubject[subject] == number { jobOfSubject[subject] = nil }
            if job.wasOvertaken, !job.isSecondLook, !job.manner.isTrial {
                due.append((MonotonicNanos.now().adding(milliseconds: Self.secondLookMillis), .look(subject)))
            }
        case .task(let task):
            if jobOfTask[task.id] == number { jobOfTask[task.id] = nil }
            if job.report.result == nil { settle(task, job.report) }
        case .claim, .page: break
        }
        for waiter in job.waiters { waiter.reply(job.report) }
        if case .subject(let subject) = job.aim, job.isWantedAgain {
            look(at: subject, SyncManner(isTrial: job.manner.isTrial), job.next)
        }
    }
}
