internal import Crypto
internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLStorage
internal import SQLiteStorage
internal import Storage

/// What other threads send to a loop.
enum LoopMessage: Sendable {
    /// A write is done, or failed; how its request goes on.
    case stored(ReplyTicket, Continuation, Result<Committed<StoreResult>, StorageError>)
    case changed([ChangedRow])
    /// The providers were looked at.
    case synced(ReplyTicket, AnswerQuestion, SyncReport)
    /// A delivery that had to be looked at was.
    case delivered(ReplyTicket, provider: String, eventID: String, SyncReport)
    /// A purchase that an app has handed in was looked at.
    case claimRead(ReplyTicket, entitlement: [UInt8], SyncReport)
    /// The keys that the database holds now.
    case keys([KeyRing.Key])
    /// Whether the database takes writes, for a request that waited for another one's try.
    case ready(ReplyTicket, Bool)
    /// The text of the metrics, for the request that asked for it.
    case measured(ReplyTicket, [UInt8])
    /// People who pay twice, for the request that asked for them; nil when they could not be counted.
    case overlapping(ReplyTicket, CountedOverlap?)
    /// The configuration was read again.
    case configured(GatewayContext)
    /// For the streams of `GET /v1/changes`.
    case feed([FeedEvent])
    case feedPage(ReplyTicket, FeedPage?)
    case feedLost
    /// Everything kept of a person; nil when it could not be read.
    case exported(ReplyTicket, [UInt8]?)
    /// What a read elsewhere came to.
    case read(Int, Result<ReadValue, StorageError>)
    /// A wrong licence key came to another loop.
    case guessed([UInt8], on: Int)
    /// What came of a look for an issuer's keys.
    case issuerKeys(Int, PublishedKeys.Finding)
    /// The gateway is about to end: nobody is to wait any more.
    case stopping
}

/// How a request that waited for the store goes on.
enum Continuation: Sendable {
    case webhook(provider: String, eventID: String)
    case grant(GrantRequest)
    case grantEnded(grantID: String)
    case identity(IdentityRequest)
    case submission(SubmissionReply)
    case erase
    case replay(provider: String, eventID: String)
    case resend
    case license(LicenseContinuation)
    /// A signed-in person was linked to their address; what they asked for follows.
    case claimed(user: [UInt8], query: [UInt8])
    case ready
}

/// A request whose answer comes later, as it is measured.
struct UnansweredRequest {
    var route: Route
    var startedAt: MonotonicNanos
    /// The client asked to wait: how long it took says nothing.
    var isWait: Bool
}

/// Answers the requests of one loop. Lives on the loop's thread and shares nothing that changes with other loops.
final class GatewayHandler: RequestHandler {
    typealias Message = LoopMessage

    private(set) var context: GatewayContext
    let mailbox: Mailbox<LoopMessage>
    var reads: LoopReads
    /// This loop's own, so that nothing is locked to look a key up.
    private(set) var keys: KeyRing
    /// What it holds of the database's keys. Only the watch over them changes it: what a reading of the configuration finds may
    /// be older than what the watch has told.
    private var storedKeys: [KeyRing.Key]
    private let measurements: RequestMeasurements
    /// What the request being handled is measured as.
    var route = Route.other
    private var unanswered: [ReplyTicket: UnansweredRequest] = [:]
    /// This loop's place among them.
    let loop: Int
    var access: LoopAccess
    /// Buffers that are used again for every request.
    var json = JSONWriter()
    var question = AnswerQuestion()
    var lookup: [UInt8] = []
    var encoded: [UInt8] = []
    /// The loop's own copy: loops that count references to one array slow each other down.
    private(set) var defaultEntitlement: [UInt8]
    var polls = LongPolls()
    var lapses = LapseMemory()
    var streams = ChangeStreams()
    /// Signers of payloads that this loop has believed before.
    let signers = VerifiedSignerCache()
    /// Readers that would wait are answered at once.
    var isStopping = false

    init(context: GatewayContext, loop: Int, mailbox: Mailbox<LoopMessage>) throws {
        self.context = context
        self.loop = loop
        self.mailbox = mailbox
        storedKeys = context.storedKeys.map(KeyRing.Key.init)
        keys = KeyRing(context.environmentKeys + storedKeys)
        measurements = context.services.measurements.requests[loop]
        reads = try LoopReads(context.store, mailbox)
        defaultEntitlement = context.defaultEntitlement.map { $0 }
        access = LoopAccess(tokens: UserTokenVerifier(context.access.issuers), signing: context.signingKeys)
        access.pushTokens = UserTokenVerifier(context.registry.googlePush.map { [$0.issuer] } ?? [])
    }

    func handle(_ request: Request, _ response: inout Response, ticket: ReplyTicket) -> Disposition {
        let startedAt = MonotonicNanos.now()
        route = .other
        let disposition = route(request, &response, ticket)
        switch disposition {
        case .done:
            let took = MonotonicNanos.now().nanoseconds(since: startedAt)
            measurements.add(route, status: response.status, nanoseconds: took)
        case .later:
            let isWait = polls.isWaiting(ticket)
            unanswered[ticket] = UnansweredRequest(route: route, startedAt: startedAt, isWait: isWait)
        }
        return disposition
    }

    func receive(_ message: LoopMessage, _ replies: Replies<GatewayHandler>) {
        if isPutOff(message) { return }
        switch message {
        case .read(let number, let result): take(number, result, replies)
        case .stored(let ticket, let continuation, let result):
            let problem = note(continuation, result)
            reply(to: ticket, replies) { response in finish(continuation, result, problem, &response) }
        case .changed(let rows): rowsChanged(rows, replies)
        case .synced(let ticket, let asked, let report):
            reply(to: ticket, replies) { response in writeSynced(asked, report, &response) }
        case .delivered(let ticket, let provider, let eventID, let report):
            reply(to: ticket, replies) { response in finishDelivery(provider, eventID, report, &response) }
        case .claimRead(let ticket, let entitlement, let report):
            reply(to: ticket, replies) { response in finishClaim(entitlement, report, &response) }
        case .keys(let stored):
            storedKeys = stored
            keys = KeyRing(context.environmentKeys + stored)
        case .ready(let ticket, let isReady):
            reply(to: ticket, replies) { response in writeReadiness(isReady, &response) }
        case .measured(let ticket, let text): reply(to: ticket, replies) { response in send(text, &response) }
        case .overlapping(let ticket, let counted):
            reply(to: ticket, replies) { response in writeOverlapping(counted, &response) }
        case .configured(let context):
            self.context = context
            defaultEntitlement = context.defaultEntitlement.map { $0 }
            keys = KeyRing(context.environmentKeys + storedKeys)
        case .feed(let events): feed(events, replies)
        case .feedPage(let ticket, let page): feedPage(ticket, page, replies)
        case .feedLost: feedLost(replies)
        case .exported(let ticket, let bytes): finishExport(ticket, bytes, replies)
        case .guessed(let who, let other):
            if other != loop { access.wrongKeys.count(who, now: .now()) }
        case .issuerKeys(let issuer, let finding): take(finding, of: issuer, replies)
        case .stopping:
            isStopping = true
            noteSightings()
            endPolls(replies)
            endStreams(replies)
            endParked(replies)
        }
    }

    /// Answers a request that waited, for the page it came from, and measures it.
    func reply(
        to ticket: ReplyTicket,
        _ replies: Replies<GatewayHandler>,
        _ fill: (inout Response) -> Void
    ) {
        let request = unanswered.removeValue(forKey: ticket)
        access.origin = access.origins.removeValue(forKey: ticket)
        defer { access.origin = nil }
        replies.reply(to: ticket) { response in
            fill(&response)
            guard let request else { return }
            let took = MonotonicNanos.now().nanoseconds(since: request.startedAt)
            measurements.add(request.route, status: response.status, nanoseconds: request.isWait ? nil : took)
        }
    }

    /// Goes on with a request that waited for something that it needed first; it may wait again.
    func resume(
        _ ticket: ReplyTicket,
        _ replies: Replies<GatewayHandler>,
        _ work: (inout Response) -> Disposition
    ) {
        guard let request = unanswered[ticket] else { return }
        access.origin = access.origins[ticket]
        defer { access.origin = nil }
        replies.resume(ticket) { response in
            let disposition = work(&response)
            if case .later = disposition { return disposition }
            unanswered[ticket] = nil
            access.origins[ticket] = nil
            let took = MonotonicNanos.now().nanoseconds(since: request.startedAt)
            measurements.add(request.route, status: response.status, nanoseconds: took)
            return disposition
        }
        unanswered[ticket]?.isWait = polls.isWaiting(ticket)
    }

    func cancelled(_ ticket: ReplyTicket) {
        polls.remove(ticket)
        unanswered[ticket] = nil
        dropStream(ticket)
        access.origins[ticket] = nil
        access.parked.removeAll { $0.ticket == ticket }
        access.parkedPushes.removeAll { $0.ticket == ticket }
    }

    var nextDeadline: MonotonicNanos? {
        var next = polls.nextDeadline
        for other in [streams.nextDeadline, access.sightings.nextDeadline] {
            if let other { next = min(other, next ?? other) }
        }
        return next
    }

    func deadlineReached(_ now: MonotonicNanos, _ replies: Replies<GatewayHandler>) {
        pollsDue(now, replies)
        streamsDue(now, replies)
        if let noting = access.sightings.nextDeadline, noting <= now { noteSightings() }
    }

    /// Hands the devices that were seen to the writer. Nobody waits for it.
    private func noteSightings() {
        let sightings = access.sightings.take()
        guard !sightings.isEmpty else { return }
        _ = context.store.submit(.license(.seen(sightings))) { _ in }
    }

    func loopWillSleep() {
        reads.local?.letGo()
    }

    // MARK: - What endpoints share

    /// Hands a change to the writer and lets the request wait for it.
    func submit(
        _ command: StoreCommand,
        bytes: Int = 0,
        _ continuation: Continuation,
        _ ticket: ReplyTicket,
        _ response: inout Response
    ) -> Disposition {
        let mailbox = mailbox
        let isTaken = context.store.submit(command, bytes: bytes) { result in
            _ = mailbox.post(.stored(ticket, continuation, result))
        }
        guard isTaken else {
            write(.unavailable("more writes are waiting than the database takes"), &response)
            return .done
        }
        return .later
    }

    /// What a finished write tells besides its answer, whether or not anybody still waits for that. The problem to answer
    /// with, when it failed.
    private func note(
        _ continuation: Continuation,
        _ result: Result<Committed<StoreResult>, StorageError>
    ) -> Problem? {
        let readiness = context.services.readiness
        switch result {
        case .success(let committed):
            if case .ready = continuation {
                readiness.asked(true, at: .now())
            } else {
                readiness.wrote(true, at: .now())
            }
            if case .webhook(let provider, _) = continuation, let outcome = committed.value.outcome {
                context.webhooks[provider]?.took(outcome, at: now)
            }
            return nil
        case .failure(let error):
            if error.isOfTheDatabase { readiness.wrote(false, at: .now()) }
            Log.error("a write failed", ("reason", .string(error.description)))
            switch continuation {
            case .webhook(let provider, _): context.webhooks[provider]?.failed.add()
            case .ready:
                readiness.asked(false, at: .now())
                return .notReady
            default: break
            }
            return .unavailable("nothing was recorded; the same request may be sent again")
        }
    }

    /// The request goes on after its write; only a committed result can become a success.
    private func finish(
        _ continuation: Continuation,
        _ result: Result<Committed<StoreResult>, StorageError>,
        _ problem: Problem?,
        _ response: inout Response
    ) {
        guard case .success(let committed) = result else {
            write(problem ?? .unavailable("nothing was recorded"), &response)
            return
        }
        switch continuation {
        case .webhook(_, let eventID): finishWebhook(eventID, committed, &response)
        case .grant(let request): finishGrant(request, committed, &response)
        case .grantEnded(let grantID): finishGrantEnd(grantID, committed, &response)
        case .identity(let request): finishIdentity(request, committed, &response)
        case .submission(let reply): finishSubmission(reply, committed, &response)
        case .erase: finishErase(&response)
        case .replay(let provider, let eventID): finishReplay(provider, eventID, committed, &response)
        case .resend: finishResend(committed, &response)
        case .license(let license): finishLicense(license, committed, &response)
        case .claimed(let user, let query): answerAfterClaim(user, query, &response)
        case .ready: writeReady(&response)
        }
    }

    /// Sends what the JSON buffer holds.
    func send(_ status: Int, _ response: inout Response) {
        response.start(status)
        response.header("Content-Type", "application/json")
        response.header("Cache-Control", "no-store")
        addOrigin(&response)
        unsafe json.withBytes { unsafe response.finish(body: $0) }
    }

    /// - Parameter more: Adds members of its own.
    func write(
        _ problem: Problem,
        _ response: inout Response,
        more: (GatewayHandler) -> Void = { _ in }
    ) {
        json.reset()
        json.raw("{\"type\":\"about:blank\",\"title\":")
        json.string(problem.title)
        json.raw(",\"status\":")
        json.integer(Int64(problem.status))
        if !problem.detail.isEmpty {
            json.raw(",\"detail\":")
            json.string(problem.detail)
        }
        json.raw(",\"code\":")
        json.string(problem.code)
        more(self)
        json.raw("}")
        response.start(problem.status)
        addOrigin(&response)
        response.header("Content-Type", "application/problem+json")
        response.header("Cache-Control", "no-store")
        if problem.status == 401 { response.header("WWW-Authenticate", "Bearer") }
        if let allow = problem.allow { response.header("Allow", allow) }
        if let seconds = problem.retryAfter { response.header("Retry-After", integer: seconds) }
        unsafe json.withBytes { unsafe response.finish(body: $0) }
    }

    /// The key of `Authorization: Bearer …`; nil when it is missing or unknown.
    func key(of request: Request) -> KeyRing.Key? {
        guard let presented = unsafe bearer(of: request) else { return nil }
        return unsafe keys.find(presented)
    }

    /// What follows `Authorization: Bearer`; nil when there is no such header.
    func bearer(of request: Request) -> UnsafeRawBufferPointer? {
        guard let header = unsafe request.header("Authorization") else { return nil }
        // The scheme's name is compared without case (RFC 9110 section 11.1).
        let scheme: StaticString = "bearer "
        let count = scheme.utf8CodeUnitCount
        guard header.count > count else { return nil }
        for index in 0..<count where unsafe header[index] | (index < 6 ? 0x20 : 0) != scheme.utf8Start[index] {
            return nil
        }
        return unsafe UnsafeRawBufferPointer(rebasing: header[count...])
    }

    /// Whether the request may read; else the answer is written. The gate's own check, which copies nothing.
    func mayRead(_ request: Request, _ response: inout Response) -> Bool {
        // Every scope includes reading.
        let scope = unsafe bearer(of: request).flatMap { unsafe keys.scope(of: $0) }
        if scope == nil { write(.unauthorized, &response) }
        return scope != nil
    }

    /// The key when it may do this; else the answer is written.
    func authorize(_ request: Request, _ scope: KeyScope, _ response: inout Response) -> KeyRing.Key? {
        guard scope < .admin || isForOperators(request) else {
            write(.notFound, &response)
            return nil
        }
        guard let key = key(of: request) else {
            write(.unauthorized, &response)
            return nil
        }
        guard key.scope >= scope else {
            write(.forbidden, &response)
            return nil
        }
        return key
    }

    /// Whether the request came by an address at which operators are served.
    func isForOperators(_ request: Request) -> Bool {
        context.services.adminListener.map { $0 == request.listener } ?? true
    }

    var now: UnixMillis { UnixMillis(wallClockMillis()) }
}
