internal import Crypto
internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLiteStorage
internal import Storage

/// What every loop shares: nothing in it changes while the gateway runs.
struct GatewayContext: Sendable {
    let store: SQLiteStore
    let registry: ProviderRegistry
    let keys: KeyRing
    let policy: EntitlementPolicy
    let defaultEntitlement: [UInt8]
    /// What happens to a submitted purchase of somebody else, where the app does not say.
    let restore: PurchaseSubmission.Restore
}

/// What other threads send to a loop.
enum LoopMessage: Sendable {
    /// A write is done, or failed; how its request goes on.
    case stored(ReplyTicket, Continuation, Result<Committed<StoreResult>, StorageError>)
    case changed([ChangedRow])
    /// The gateway is about to end: nobody is to wait any more.
    case stopping
}

/// How a request that waited for the store goes on.
enum Continuation: Sendable {
    case webhook(eventID: String)
    case grant(GrantRequest)
    case grantEnded(grantID: String)
    case identity(IdentityRequest)
    case submission(SubmissionReply)
    case erase
    case ready
}

/// Answers the requests of one loop. Lives on the loop's thread and shares nothing that changes with other loops.
final class GatewayHandler: RequestHandler {
    typealias Message = LoopMessage

    let context: GatewayContext
    let mailbox: Mailbox<LoopMessage>
    let reader: SQLiteReader
    /// Buffers that are used again for every request.
    var json = JSONWriter()
    var question = AnswerQuestion()
    var lookup: [UInt8] = []
    var polls = LongPolls()
    /// Signers of payloads that this loop has believed before.
    let signers = VerifiedSignerCache()
    /// Readers that would wait are answered at once.
    var isStopping = false
    /// The last moment at which a write went through, in this loop's knowledge.
    var readyAt: MonotonicNanos?

    init(context: GatewayContext, mailbox: Mailbox<LoopMessage>) throws {
        self.context = context
        self.mailbox = mailbox
        reader = try context.store.makeReader()
    }

    func handle(_ request: Request, _ response: inout Response, ticket: ReplyTicket) -> Disposition {
        route(request, &response, ticket)
    }

    func receive(_ message: LoopMessage, _ replies: Replies<GatewayHandler>) {
        switch message {
        case .stored(let ticket, let continuation, let result):
            replies.reply(to: ticket) { response in finish(continuation, result, &response) }
        case .changed(let rows): rowsChanged(rows, replies)
        case .stopping:
            isStopping = true
            endPolls(replies)
        }
    }

    func cancelled(_ ticket: ReplyTicket) {
        polls.remove(ticket)
    }

    var nextDeadline: MonotonicNanos? { polls.nextDeadline }

    func deadlineReached(_ now: MonotonicNanos, _ replies: Replies<GatewayHandler>) {
        pollsDue(now, replies)
    }

    func loopWillSleep() {
        reader.letGo()
    }

    // MARK: - What endpoints share

    /// Hands a change to the writer and lets the request wait for it.
    func submit(
        _ command: StoreCommand,
        _ continuation: Continuation,
        _ ticket: ReplyTicket,
        _ response: inout Response
    ) -> Disposition {
        let mailbox = mailbox
        let isTaken = context.store.submit(command) { result in
            _ = mailbox.post(.stored(ticket, continuation, result))
        }
        guard isTaken else {
            write(.unavailable("more writes are waiting than the database takes"), &response)
            return .done
        }
        return .later
    }

    /// The request goes on after its write; only a committed result can become a success.
    private func finish(
        _ continuation: Continuation,
        _ result: Result<Committed<StoreResult>, StorageError>,
        _ response: inout Response
    ) {
        switch result {
        case .failure(let error):
            readyAt = nil
            Log.error("a write failed", ("reason", .string(error.description)))
            write(.unavailable("nothing was recorded; the same request may be sent again"), &response)
        case .success(let committed):
            readyAt = .now()
            switch continuation {
            case .webhook(let eventID): finishWebhook(eventID, committed, &response)
            case .grant(let request): finishGrant(request, committed, &response)
            case .grantEnded(let grantID): finishGrantEnd(grantID, committed, &response)
            case .identity(let request): finishIdentity(request, committed, &response)
            case .submission(let reply): finishSubmission(reply, committed, &response)
            case .erase: finishErase(&response)
            case .ready: writeReady(&response)
            }
        }
    }

    /// Sends what the JSON buffer holds.
    func send(_ status: Int, _ response: inout Response) {
        response.start(status)
        response.header("Content-Type", "application/json")
        response.header("Cache-Control", "no-store")
        unsafe json.bytes.withUnsafeBytes { unsafe response.finish(body: $0) }
    }

    func write(_ problem: Problem, _ response: inout Response) {
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
        json.raw("}")
        response.start(problem.status)
        response.header("Content-Type", "application/problem+json")
        response.header("Cache-Control", "no-store")
        if problem.status == 401 { response.header("WWW-Authenticate", "Bearer") }
        if let allow = problem.allow { response.header("Allow", allow) }
        if let seconds = problem.retryAfter { response.header("Retry-After", integer: seconds) }
        unsafe json.bytes.withUnsafeBytes { unsafe response.finish(body: $0) }
    }

    /// The key of `Authorization: Bearer …`; nil when it is missing or unknown.
    func key(of request: Request) -> KeyRing.Key? {
        guard let header = unsafe request.header("Authorization") else { return nil }
        // The scheme's name is compared without case (RFC 9110 section 11.1).
        let scheme: StaticString = "bearer "
        let count = scheme.utf8CodeUnitCount
        guard header.count > count else { return nil }
        for index in 0..<count where unsafe header[index] | (index < 6 ? 0x20 : 0) != scheme.utf8Start[index] {
            return nil
        }
        return unsafe context.keys.find(UnsafeRawBufferPointer(rebasing: header[count...]))
    }

    /// The key when it may do this; else the answer is written.
    func authorize(_ request: Request, _ scope: KeyScope, _ response: inout Response) -> KeyRing.Key? {
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

    var now: UnixMillis { UnixMillis(wallClockMillis()) }
}
