internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLStorage
internal import Storage

/// One client that is told of changes as they happen.
struct ChangeStream {
    var request: FeedRequest
    /// Everything up to this place is sent or in the queue.
    var cursor: Int64 = 0
    var queue: ArraySlice<FeedEvent> = []
    var hasBegun = false
    /// What is missing is read from the database; changes that happen meanwhile are found there, too.
    var isBehind = true
    var isReading = true
}

/// The streams of one loop.
struct ChangeStreams {
    /// Streams of one loop; each may hold a queue.
    static let countMax = 256
    /// A stream with more than this waiting goes on from the database when the client has caught up.
    static let queueMax = 256
    /// Proxies close what is silent for 30 to 60 seconds.
    static let heartbeatSeconds = 15
    /// A client that takes less than it is sent is looked at this often.
    static let fullMillis = 50

    var all: [ReplyTicket: ChangeStream] = [:]
    var heartbeatAt = MonotonicNanos(value: 0)
    var retryAt: MonotonicNanos?

    var nextDeadline: MonotonicNanos? {
        guard !all.isEmpty else { return nil }
        return min(heartbeatAt, retryAt ?? heartbeatAt)
    }
}

/// `GET /v1/changes`: changed answers as server-sent events, resumable with `Last-Event-ID`.
extension GatewayHandler {
    func changes(_ request: Request, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        guard authorize(request, .read, &response) != nil else { return .done }
        guard setScope(request, &response) else { return .done }
        var asked = FeedRequest(
            ticket: ticket,
            loop: mailbox,
            after: nil,
            user: nil,
            environment: question.environment
        )
        if let text = unsafe RequestTarget.parameter("user_id", in: request.query) {
            guard let user = unsafe RequestTarget.text(text, plusIsSpace: true).flatMap(UserID.init) else {
                write(.invalidUserID, &response)
                return .done
            }
            asked.user = user
        }
        if let header = unsafe request.header("Last-Event-ID"), header.count > 0 {
            guard let place = unsafe Int64(String(decoding: header, as: UTF8.self)), place >= 0 else {
                write(.badRequest("Last-Event-ID: expected the id of an event of this stream"), &response)
                return .done
            }
            asked.after = place
        }
        guard !isStopping, streams.all.count < ChangeStreams.countMax else {
            write(.unavailable("as many clients listen to changes as the gateway takes"), &response)
            return .done
        }
        // From here on changes are put in words; what happens before the first answer is in the database.
        context.feed.join()
        guard context.feed.ask(.read(asked)) else {
            context.feed.leave()
            write(.unavailable("more changes are waiting than can be told"), &response)
            return .done
        }
        if streams.all.isEmpty { streams.heartbeatAt = .now().adding(seconds: ChangeStreams.heartbeatSeconds) }
        streams.all[ticket] = ChangeStream(request: asked)
        return .later
    }

    /// What a stream has missed was read; the first time its answer begins. Nil: it could not be read.
    func feedPage(_ ticket: ReplyTicket, _ page: FeedPage?, _ replies: Replies<GatewayHandler>) {
        guard var stream = streams.all[ticket] else { return }
        guard let page else {
            dropStream(ticket)
            if stream.hasBegun { return replies.end(ticket) }
            return replies.reply(to: ticket) { response in
                write(.unavailable("the database cannot be read", retryAfter: 1), &response)
            }
        }
        if !stream.hasBegun {
            stream.hasBegun = true
            replies.reply(to: ticket) { response in
                response.start(200)
                response.header("Content-Type", "text/event-stream")
                response.header("Cache-Control", "no-store")
                // nginx would hold back what it has not filled a buffer with.
                response.header("X-Accel-Buffering", "no")
                response.finishHead()
            }
            _ = replies.send(Array(": listening\nretry: 2000\n\n".utf8), to: ticket)
        }
        stream.isReading = false
        stream.isBehind = !page.isLast
        stream.cursor = max(stream.cursor, page.cursor)
        stream.queue += page.events
        streams.all[ticket] = stream
        pump(ticket, replies)
    }

    /// Answers have changed.
    func feed(_ events: [FeedEvent], _ replies: Replies<GatewayHandler>) {
        for ticket in streams.all.keys {
            guard var stream = streams.all[ticket], !stream.isBehind else { continue }
            for event in events where event.sequence > stream.cursor {
                guard event.environment == stream.request.environment,
                    stream.request.user.map({ $0 == event.user }) ?? true
                else { continue }
                guard stream.queue.count < ChangeStreams.queueMax else {
                    stream.isBehind = true
                    break
                }
                stream.queue.append(event)
                stream.cursor = event.sequence
            }
            streams.all[ticket] = stream
            pump(ticket, replies)
        }
    }

    /// Changes were lost on their way here: every stream goes on from the database.
    func feedLost(_ replies: Replies<GatewayHandler>) {
        for ticket in streams.all.keys {
            streams.all[ticket]?.isBehind = true
            pump(ticket, replies)
        }
    }

    func streamsDue(_ now: MonotonicNanos, _ replies: Replies<GatewayHandler>) {
        if let retryAt = streams.retryAt, retryAt <= now {
            streams.retryAt = nil
            for ticket in streams.all.keys { pump(ticket, replies) }
        }
        guard streams.heartbeatAt <= now else { return }
        streams.heartbeatAt = now.adding(seconds: ChangeStreams.heartbeatSeconds)
        for (ticket, stream) in streams.all where stream.hasBegun && stream.queue.isEmpty {
            if replies.send(Array(":\n\n".utf8), to: ticket) == .gone { dropStream(ticket) }
        }
    }

    func endStreams(_ replies: Replies<GatewayHandler>) {
        for (ticket, stream) in streams.all {
            dropStream(ticket)
            if stream.hasBegun {
                replies.end(ticket)
            } else {
                replies.reply(to: ticket) { response in
                    write(.unavailable("the gateway is stopping"), &response)
                }
            }
        }
    }

    func dropStream(_ ticket: ReplyTicket) {
        if streams.all.removeValue(forKey: ticket) != nil { context.feed.leave() }
    }

    /// Sends what the client takes; when all is sent and more is in the database, asks for it.
    private func pump(_ ticket: ReplyTicket, _ replies: Replies<GatewayHandler>) {
        guard var stream = streams.all[ticket], stream.hasBegun else { return }
        sending: while let event = stream.queue.first {
            switch replies.send(event.bytes, to: ticket) {
            case .taken: stream.queue.removeFirst()
            case .full:
                streams.retryAt = .now().adding(milliseconds: ChangeStreams.fullMillis)
                break sending
            case .gone: return dropStream(ticket)
            }
        }
        if stream.queue.isEmpty {
            stream.queue = []
            if stream.isBehind, !stream.isReading {
                stream.request.after = stream.cursor
                stream.isReading = context.feed.ask(.read(stream.request))
                if !stream.isReading { streams.retryAt = .now().adding(milliseconds: ChangeStreams.fullMillis) }
            }
        }
        streams.all[ticket] = stream
    }
}
