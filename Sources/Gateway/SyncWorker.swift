internal import Entitlements
internal import Foundation
internal import Outbound
internal import Platform
internal import ProviderKit
internal import SQLiteStorage
internal import Storage

/// The thread behind `ProviderSync`: every piece of state here is its own.
final class SyncWorker {
    /// Which request of which reading an answer belongs to.
    struct Place: Hashable, Sendable {
        var job: Int
        var reading: Int
        var request: APIRequest
    }

    /// One person, or one purchase, that is looked at.
    private struct Job {
        var subject: SweepSubject
        var manner = SyncManner()
        var waiters: [(deadline: MonotonicNanos?, reply: ProviderSync.Reply)] = []
        var readings: [Int: Reading] = [:]
        var writesLeft = 0
        /// What was read so far, where it is only tried.
        var tried: [IncomingEvent] = []
        var report = SyncReport()
        /// Something newer was known of a purchase than the API said: a second look follows (rule 8).
        var wasOvertaken = false
        var isSecondLook = false
    }

    private struct Reading {
        var api: Int
        var question: APIQuestion
        var answers: [APIRequest: APIAnswer] = [:]
        var outstanding: Set<APIRequest> = []
        var attempts = 0
    }

    private enum Due {
        case send(Place)
        case look(SweepSubject)
    }

    private static let attemptsMax = 4
    private static let restReason = "not asked: it failed several times in a row"
    private static let requestMillisMax = 10_000
    /// The second look comes when the API's answer is sure to be newer than the delivery that overtook the first.
    private static let secondLookMillis = 6000
    /// Answers about the project's own settings are used again for so long.
    private static let settingsSeconds = 600

    private let apis: [any ProviderAPI]
    private let store: SQLiteStore
    private let reader: SQLiteReader
    private let mailbox: Mailbox<ProviderSync.Message>
    private let client = OutboundClient()
    private var pace: [RequestPace]
    private var settings: [[APIRequest: (answer: APIAnswer, until: MonotonicNanos)]]
    private var jobs: [Int: Job] = [:]
    private var jobOfSubject: [SweepSubject: Int] = [:]
    private var lastNumber = 0
    /// What happens at a later moment.
    private var due: [(at: MonotonicNanos, what: Due)] = []
    private var generator = SystemRandomNumberGenerator()

    init(apis: [any ProviderAPI], store: SQLiteStore, reader: SQLiteReader, mailbox: Mailbox<ProviderSync.Message>) {
        self.apis = apis
        self.store = store
        self.reader = reader
        self.mailbox = mailbox
        pace = apis.map { RequestPace(perMinute: $0.requestsPerMinute) }
        settings = apis.map { _ in [:] }
    }

    func run() {
        var messages = ContiguousArray<ProviderSync.Message>()
        while true {
            reader.letGo()
            _ = mailbox.wait(milliseconds: millisecondsToNext())
            mailbox.drain(into: &messages)
            if messages.isEmpty, mailbox.isClosed { break }
            for message in messages {
                switch message {
                case .sync(let subject, let manner, let reply): begin(subject, manner, reply)
                case .answered(let place, let result): answered(place, result)
                case .stored(let job, let result): stored(job, result)
                }
            }
            lookAtTheClock(.now())
        }
        client.stop()
        for job in jobs.values {
            var report = job.report
            report.failure = report.failure ?? "the gateway is stopping"
            for waiter in job.waiters { waiter.reply(report) }
        }
    }

    // MARK: - Time

    private func millisecondsToNext() -> Int? {
        var next = due.map(\.at).min()
        for job in jobs.values {
            for deadline in job.waiters.compactMap(\.deadline) { next = min(next ?? deadline, deadline) }
        }
        return next.map { Int($0.nanoseconds(since: .now()) / 1_000_000) + 1 }
    }

    private func lookAtTheClock(_ now: MonotonicNanos) {
        let ready = due.filter { $0.at <= now }
        due.removeAll { $0.at <= now }
        for entry in ready {
            switch entry.what {
            case .send(let place): send(place)
            case .look(let subject): begin(subject, SyncManner(), nil, isSecondLook: true)
            }
        }
        for (number, job) in jobs where job.waiters.contains(where: { $0.deadline.map { $0 <= now } ?? false }) {
            var report = job.report
            report.pending = Set(job.readings.values.map { apis[$0.api].provider })
            for waiter in job.waiters where waiter.deadline.map({ $0 <= now }) ?? false { waiter.reply(report) }
            jobs[number]?.waiters.removeAll { $0.deadline.map { $0 <= now } ?? false }
        }
    }

    // MARK: - A person

    private func begin(
        _ subject: SweepSubject,
        _ manner: SyncManner,
        _ reply: ProviderSync.Reply?,
        isSecondLook: Bool = false
    ) {
        let deadline = manner.deadlineMillis.map { MonotonicNanos.now().adding(milliseconds: $0) }
        // Somebody asks for the same person already: the same answers serve both.
        if let known = jobOfSubject[subject], !isSecondLook, jobs[known]?.manner.isTrial == manner.isTrial {
            if let reply { jobs[known]?.waiters.append((deadline, reply)) }
            return
        }
        var job = Job(subject: subject, manner: manner)
        job.isSecondLook = isSecondLook
        if let reply { job.waiters.append((deadline, reply)) }
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
                    number += 1
                }
            }
            job.report.questions = number
        } catch {
            job.report.failure = "the database cannot be read"
            for api in apis { job.report.unreachable[api.provider] = "the database cannot be read" }
        }
        lastNumber += 1
        let number = lastNumber
        jobs[number] = job
        jobOfSubject[subject] = number
        for reading in job.readings.keys.sorted() { goOn(number, reading) }
        finishIfDone(number)
    }

    /// Takes a reading as far as its answers reach.
    private func goOn(_ number: Int, _ place: Int) {
        guard let reading = jobs[number]?.readings[place] else { return }
        let api = apis[reading.api]
        switch api.next(reading.question, reading.answers) {
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
        case .done(let events):
            jobs[number]?.readings[place] = nil
            take(events, of: api.provider, number)
        case .failed(let failure): fail(number, place, failure)
        }
    }

    private func fail(_ number: Int, _ place: Int, _ failure: APIFailure) {
        guard let reading = jobs[number]?.readings[place] else { return }
        let provider = apis[reading.api].provider
        let reason: String
        switch failure {
        case .passing(let text, let retryAfterMillis):
            if reading.attempts < Self.attemptsMax, !pace[reading.api].isResting(.now()) {
                // What was answered well stays; only what failed is asked again.
                let failed = reading.answers.filter { $0.value.status >= 400 && $0.value.status != 404 }.map(\.key)
                jobs[number]?.readings[place]?.attempts += 1
                let base = 250 << reading.attempts
                let jitter = Int.random(in: 0...base, using: &generator)
                let wait = max(Int(min(retryAfterMillis ?? 0, 60_000)), base + jitter)
                for request in failed {
                    jobs[number]?.readings[place]?.answers[request] = nil
                    jobs[number]?.readings[place]?.outstanding.insert(request)
                    schedule(Place(job: number, reading: place, request: request), after: wait)
                }
                if !failed.isEmpty { return }
            }
            reason = text
        case .refused(let text):
            reason = text
            jobs[number]?.report.refused.insert(provider)
        case .notUnderstood(let text): reason = text
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

    // MARK: - Requests

    private func schedule(_ place: Place, after millis: Int) {
        guard let job = jobs[place.job], let api = job.readings[place.reading]?.api else { return }
        let wanted = MonotonicNanos.now().adding(milliseconds: millis)
        let at = max(wanted, pace[api].take(.now(), leavesRoom: job.manner.isPatient))
        if at <= .now() { send(place) } else { due.append((at, .send(place))) }
    }

    private func send(_ place: Place) {
        guard let reading = jobs[place.job]?.readings[place.reading] else { return }
        let api = apis[reading.api]
        guard !pace[reading.api].isResting(.now()) else {
            let failure = APIFailure.passing(Self.restReason, retryAfterMillis: nil)
            return settle(place.job) { fail(place.job, place.reading, failure) }
        }
        let request = OutboundRequest(
            "GET",
            api.base + place.request.path,
            headers: [("Accept", "application/json")] + api.headers,
            deadlineMillis: Self.requestMillisMax
        )
        let mailbox = mailbox
        client.send(request) { result in _ = mailbox.post(.answered(place, result)) }
    }

    private func answered(_ place: Place, _ result: Result<OutboundAnswer, OutboundFailure>) {
        guard let reading = jobs[place.job]?.readings[place.reading] else { return }
        jobs[place.job]?.readings[place.reading]?.outstanding.remove(place.request)
        let answer: APIAnswer
        switch result {
        case .success(let outbound):
            answer = Self.answer(outbound)
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
        jobs[place.job]?.readings[place.reading]?.answers[place.request] = answer
        settle(place.job) {
            if jobs[place.job]?.readings[place.reading]?.outstanding.isEmpty == true {
                goOn(place.job, place.reading)
            }
        }
    }

    private static func answer(_ outbound: OutboundAnswer) -> APIAnswer {
        APIAnswer(
            status: outbound.status,
            body: JSON(outbound.body),
            at: outbound.header("Date").flatMap(HTTPDate.moment),
            retryAfterSeconds: outbound.header("Retry-After").flatMap { Int64($0) }
        )
    }

    // MARK: - What was read

    private func take(_ events: [NormalizedEvent], of provider: ProviderID, _ number: Int) {
        let incoming = events.map { event in
            IncomingEvent(
                provider: provider,
                event: event,
                receivedAt: UnixMillis(wallClockMillis()),
                redactedPayload: { nil }
            )
        }
        guard jobs[number]?.manner.isTrial == true else {
            for event in incoming { write(ProviderReading(events: [event], isTrial: false), of: provider, number) }
            return
        }
        // What one says may only count together with the other, and nothing of it stays in between.
        jobs[number]?.tried += incoming
    }

    private func write(_ reading: ProviderReading, of provider: ProviderID?, _ number: Int) {
        let mailbox = mailbox
        let isTaken = store.submit(.takeReading(reading)) { result in _ = mailbox.post(.stored(job: number, result)) }
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
                guard case .readingTaken(let outcomes, let differences) = committed.value else { return }
                for outcome in outcomes {
                    if outcome == .applied { jobs[number]?.report.applied += 1 }
                    if outcome == .stale { jobs[number]?.wasOvertaken = true }
                }
                jobs[number]?.report.differences += differences
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
            write(ProviderReading(events: job.tried, isTrial: true), of: nil, number)
            return finishIfDone(number)
        }
        jobs[number] = nil
        if jobOfSubject[job.subject] == number { jobOfSubject[job.subject] = nil }
        for waiter in job.waiters { waiter.reply(job.report) }
        if job.wasOvertaken, !job.isSecondLook, !job.manner.isTrial {
            due.append((MonotonicNanos.now().adding(milliseconds: Self.secondLookMillis), .look(job.subject)))
        }
    }
}
