import Glibc
import HTTPServer
import Platform
import TLS

/// What the test handlers saw, in order, for the one thread that runs the test.
final class Record {
    enum Event: Sendable, Equatable {
        case deferred(ReplyTicket)
        case cancelled(ReplyTicket)
        case made
        case ended
        case blocking
    }

    /// What the handlers, on their threads, write to.
    let mailbox: Mailbox<Event>
    private var seen: [Event] = []

    init() throws {
        mailbox = try Mailbox()
    }

    var events: [Event] {
        var batch: ContiguousArray<Event> = []
        mailbox.drain(into: &batch)
        seen.append(contentsOf: batch)
        return seen
    }

    var tickets: [ReplyTicket] {
        events.compactMap { if case .deferred(let ticket) = $0 { ticket } else { nil } }
    }
    var cancelled: [ReplyTicket] {
        events.compactMap { if case .cancelled(let ticket) = $0 { ticket } else { nil } }
    }
}

/// Answers by path.
///
/// `/echo` with what it saw; `/later` when the test replies; `/wait/N` after N milliseconds; `/size/N` with N bytes;
/// `/status/N` with that status; `/block/N` after blocking its loop for N milliseconds; `/sleeps` with how often the
/// loop said that it would sleep; `/close`, `/unfinished`, `/restart`, `/inject`, `/scribble` (writes, then defers)
/// as they say; else 404.
final class TestHandler: RequestHandler {
    enum Message: Sendable {
        case reply(ReplyTicket, String)
        case replyAndClose(ReplyTicket, String)
        case replyUnfinished(ReplyTicket)
        case replyWithin(ReplyTicket, Mailbox<Bool>)
    }

    private let record: Mailbox<Record.Event>
    private var sleeps = 0
    private var waiting: [(MonotonicNanos, ReplyTicket)] = []

    init(record: Mailbox<Record.Event>) {
        self.record = record
        record.post(.made)
    }

    deinit {
        record.post(.ended)
    }

    private func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }

    private func finish(_ response: inout Response, _ text: String) {
        Array(text.utf8).withUnsafeBytes { response.finish(body: $0) }
    }

    func handle(_ request: Request, _ response: inout Response, ticket: ReplyTicket) -> Disposition {
        let path = text(request.path)
        let parts = path.split(separator: "/")
        let number = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        switch parts.first {
        case "echo":
            response.start(200)
            response.header("Content-Type", "text/plain")
            if let tag = request.header("x-tag") { response.header("X-Tag", bytes: tag) }
            response.header("X-Tags", integer: request.headerCount("X-TAG"))
            response.header("X-Peer", bytes: UnsafeRawBufferPointer(start: nil, count: 0))
            let name = text(request.methodName)
            finish(
                &response,
                "\(name) \(path) ?\(text(request.query)) \(request.peerAddress) \(request.listener):"
                    + text(request.body)
            )
        case "later", "scribble":
            if parts.first == "scribble" {
                response.start(200)
                finish(&response, "never sent")
            }
            record.post(.deferred(ticket))
            return .later
        case "wait":
            record.post(.deferred(ticket))
            waiting.append((MonotonicNanos.now().adding(milliseconds: number), ticket))
            return .later
        case "size":
            response.start(200)
            finish(&response, String(repeating: "0123456789abcdef", count: number / 16))
        case "status":
            response.start(number)
            finish(&response, "text")
        case "sleeps":
            response.start(200)
            finish(&response, "\(sleeps)")
        case "block":
            record.post(.blocking)
            usleep(UInt32(number) * 1_000)
            response.start(200)
            response.finish()
        case "close":
            response.start(200)
            response.closeAfterwards()
            finish(&response, "bye")
        case "unfinished":
            response.start(200)
            response.header("X-Lost", "1")
        case "restart":
            response.start(200)
            response.header("X-Lost", "1")
            response.start(503)
            response.finish()
        case "inject":
            response.start(200)
            Array("a\r\nX-Evil: 1\0\n\r".utf8).withUnsafeBytes { response.header("X-Value", bytes: $0) }
            response.finish()
        default:
            response.start(404)
            response.finish()
        }
        return .done
    }

    func receive(_ message: Message, _ replies: Replies<TestHandler>) {
        switch message {
        case .reply(let ticket, let text):
            replies.reply(to: ticket) { response in
                response.start(200)
                finish(&response, text)
            }
        case .replyAndClose(let ticket, let text):
            replies.reply(to: ticket) { response in
                response.start(200)
                response.closeAfterwards()
                finish(&response, text)
            }
        case .replyUnfinished(let ticket):
            replies.reply(to: ticket) { _ in }
        case .replyWithin(let ticket, let asked):
            var isAsked = false
            replies.reply(to: ticket) { response in
                isAsked = true
                response.start(200)
                response.finish()
            }
            asked.post(isAsked)
        }
    }

    func cancelled(_ ticket: ReplyTicket) { record.post(.cancelled(ticket)) }

    var nextDeadline: MonotonicNanos? { waiting.map(\.0).min() }

    func deadlineReached(_ now: MonotonicNanos, _ replies: Replies<TestHandler>) {
        for (moment, ticket) in waiting where moment <= now {
            replies.reply(to: ticket) { response in
                response.start(200)
                finish(&response, "waited")
            }
        }
        waiting.removeAll { $0.0 <= now }
    }

    func loopWillSleep() { sleeps += 1 }
}

/// A server on a free loopback port, with what its handlers saw.
struct TestServer {
    let server: HTTPServer<TestHandler>
    let record: Record

    init(loops: Int = 1, limits: ServerLimits = ServerLimits(), tls: TLSContext? = nil) throws {
        record = try Record()
        let record = self.record.mailbox
        server = try HTTPServer<TestHandler>.start(
            listen: [ListenAddress("127.0.0.1:0")],
            loops: loops,
            limits: limits,
            tls: tls
        ) { _, _ in TestHandler(record: record) }
    }

    var port: Int { server.addresses[0].port }

    func client(receiveBufferBytes: Int32? = nil) throws -> RawClient {
        try RawClient(port: port, receiveBufferBytes: receiveBufferBytes)
    }

    /// Sends a message to the only loop.
    func post(_ message: TestHandler.Message) {
        server.mailboxes[0].post(message)
    }

    /// The ticket of the `count`th deferred request, once it is there.
    func ticket(_ count: Int = 1) throws -> ReplyTicket {
        try eventually { record.tickets.count >= count }
        return record.tickets[count - 1]
    }
}

struct NeverHappened: Error {}

/// Waits, at most ten seconds, until `condition` holds.
func eventually(_ condition: () throws -> Bool) throws {
    let deadline = MonotonicNanos.now().adding(seconds: 10)
    while try !condition() {
        if MonotonicNanos.now() > deadline { throw NeverHappened() }
        usleep(1_000)
    }
}

/// A GET of `path`, with more header lines (each ended by CRLF) where given.
func get(_ path: String, _ more: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: a\r\n\(more)\r\n"
}
