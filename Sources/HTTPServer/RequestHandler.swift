public import Platform

/// What answers the requests of one loop.
///
/// Each loop has a handler of its own, made on the loop's thread, and every method is called on that thread: a handler
/// needs no lock and must not block. Other threads reach it with messages.
public protocol RequestHandler: AnyObject, SendableMetatype {
    /// What other threads send to this handler.
    associatedtype Message: Sendable

    /// Answers a request, or keeps `ticket` and answers `.later`.
    func handle(_ request: Request, _ response: inout Response, ticket: ReplyTicket) -> Disposition
    /// Takes a message from the loop's mailbox.
    func receive(_ message: Message, _ replies: Replies<Self>)
    /// The client of a deferred request went away; a reply to `ticket` does nothing from now on.
    ///
    /// A client that only ended its sending side is still there and still gets its reply.
    func cancelled(_ ticket: ReplyTicket)
    /// The earliest moment at which `deadlineReached` is wanted; asked once a turn of the loop.
    var nextDeadline: MonotonicNanos? { get }
    /// The moment named by `nextDeadline` has come.
    func deadlineReached(_ now: MonotonicNanos, _ replies: Replies<Self>)
    /// Nothing is ready and the loop is about to block.
    func loopWillSleep()
}

/// The way to answer deferred requests. Belongs to one loop.
public final class Replies<Handler: RequestHandler> {
    private let loop: EventLoop

    init(_ loop: EventLoop) {
        self.loop = loop
    }

    /// Lets `fill` write the answer to a deferred request. Sent when the handler's method has returned.
    ///
    /// Does nothing, and does not call `fill`, when that client is gone or the request was answered before.
    public func reply(to ticket: ReplyTicket, _ fill: (inout Response) -> Void) {
        loop.reply(to: ticket, fill)
    }

    /// As ``reply(to:_:)`` for work that may have to wait once more: after `.later` the request stays deferred.
    public func resume(_ ticket: ReplyTicket, _ work: (inout Response) -> Disposition) {
        loop.resume(ticket, work)
    }

    /// Sends a piece of an answer whose head was ended by `Response.finishHead`.
    ///
    /// Never waits for the client: while too much waits to be sent, the piece is refused.
    public func send(_ piece: [UInt8], to ticket: ReplyTicket) -> PieceResult {
        loop.send(piece, to: ticket)
    }

    /// Ends such an answer. A client that has not taken what was sent before loses it.
    public func end(_ ticket: ReplyTicket) {
        loop.end(ticket)
    }
}

/// What became of a piece of an answer.
public enum PieceResult: Sendable {
    case taken
    /// The client takes less than it is sent; the piece is not sent, and may be tried again later.
    case full
    /// The client is gone.
    case gone
}
