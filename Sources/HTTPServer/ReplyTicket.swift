/// Names one request of one connection of one loop, so that its answer may come later.
///
/// A value without a pointer: it may be kept for any time and sent to any thread. A connection's slot is used again,
/// with another generation; each request of a connection has another number. So an answer never reaches a client that
/// did not ask for it.
public struct ReplyTicket: Sendable, Hashable {
    let slot: UInt32
    let generation: UInt32
    let request: UInt32
}

/// What a handler did with a request.
public enum Disposition: Sendable {
    /// The response is finished.
    case done
    /// The answer comes through `Replies.reply(to:_:)`. What was written into the response is dropped.
    case later
}
