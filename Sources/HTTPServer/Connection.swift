internal import CSystem

/// One client, or the empty place of one. Belongs to its loop; the object is used again for the next client.
final class Connection {
    enum Phase {
        /// No client.
        case free
        /// Requests are read and answered one after the other.
        case reading
        /// A request waits for its reply; nothing is read meanwhile, so the order of answers is the order of requests.
        case deferred
        /// The last answer is being sent.
        case closing
        /// The last answer is sent and our side ended; what still comes is thrown away, so that the client sees the
        /// answer.
        case lingering
    }

    /// What the reply to a deferred request must know of it.
    struct Deferred {
        var isHead = false
        var isHTTP11 = true
        var keepsAlive = true
    }

    /// The index of this object among the loop's connections.
    let slot: UInt32
    /// Counts the clients this slot has had; events and tickets of earlier ones do not match.
    var generation: UInt32 = 0
    /// Counts the requests of this client that were answered.
    var request: UInt32 = 0
    var phase = Phase.free
    var transport = Transport(descriptor: -1)
    var reader = RequestReader()
    /// Bytes not yet understood; nil when there are none, so that an idle client costs no buffer.
    var input: ByteBuffer?
    /// Bytes not yet sent; nil when there are none.
    var output: ByteBuffer?
    var deferred = Deferred()
    /// The content of a deferred answer that has begun; nil for any other.
    var stream: ContentStream?

    /// The poller reports changes only: true from "readable" until a read found nothing more.
    var mayRead = false
    /// The poller said that the client ended its side; the end itself may lie behind unread bytes.
    var isPeerEnded = false
    /// A read found the end.
    var isInputEnded = false
    /// The poller is asked for "writable" too.
    var isWriteWatched = false
    /// This connection is in the loop's list of those to go on with in this turn or the next.
    var isQueued = false
    /// The client may still be sending when the last answer is out.
    var mustLinger = false
    var lingeredBytes = 0
    /// The request the head or body limit was set for.
    var timedRequest: UInt32 = 0

    /// Which listen address this client came by.
    var listener = 0
    var peer = csystem_address()

    init(slot: UInt32) {
        self.slot = slot
    }

    /// The ticket of the request being answered now.
    var ticket: ReplyTicket {
        ReplyTicket(slot: slot, generation: generation, request: request)
    }

    /// Begins with a new client.
    func open(_ transport: Transport, listener: Int, peer: csystem_address) {
        self.transport = transport
        self.listener = listener
        self.peer = peer
        request = 0
        timedRequest = 0
        phase = .reading
        stream = nil
        reader = RequestReader()
        mayRead = false
        isPeerEnded = false
        isInputEnded = false
        isWriteWatched = false
        isQueued = false
        mustLinger = false
        lingeredBytes = 0
    }
}
