internal import CSystem
internal import Glibc
internal import Platform
internal import TLS

/// What the server tells a loop.
enum LoopCommand: Sendable {
    case stop
    /// Speak TLS with this to those who come from now on.
    case tls(TLSContext)
}

/// One thread's share of the server: its listeners, its connections, and the order in which they are served.
///
/// Nothing here is shared; other threads reach the loop through two mailboxes, the handler's and `control`. A turn is:
/// wait, take events, take messages, reach deadlines, go on with connections that have more to do, enforce time limits.
///
/// Connections are watched for changes only (edge-triggered): one registration serves a connection's whole life, and
/// reading stops for a while (a deferred request, a client that does not take its answers) without a system call. The
/// price is `Connection.mayRead`.
final class EventLoop {
    /// Reads and requests one connection gets in a turn before the others have theirs.
    static let stepsPerTurn = 64
    /// Connections taken from one listener in a turn.
    static let acceptsPerTurn = 64
    /// How long no connection is accepted when the process has no descriptor left; those that wait, wait in the kernel.
    static let acceptPauseMillis = 50
    /// The same complaint is logged once in this time.
    static let complaintSeconds = 10
    /// Room for a read; below it the buffer is moved or grown first, so that no system call fetches a few bytes.
    static let readBytesMin = 1_024
    static let controlSlot = UInt32.max
    static let mailboxSlot = UInt32.max - 1
    static let firstListenerSlot = UInt32.max - 0xFFFF

    let limits: ServerLimits
    let poller: Poller
    let counter: ConnectionCounter
    let control: Mailbox<LoopCommand>
    let buffers = BufferPool()
    let scratch = ByteBuffer(capacity: BufferPool.bufferBytes)
    let date = DateHeader()
    let request = Request()

    var listeners: ContiguousArray<Int32>
    var connections: ContiguousArray<Connection> = []
    var freeSlots: ContiguousArray<UInt32> = []
    var openCount = 0
    /// What input buffers hold beyond their usual size, all together, and what they may.
    var grownBytes = 0
    let grownBytesMax: Int
    /// Nil where plain HTTP is spoken.
    var tls: TLSContext?
    var timers: TimerQueues
    /// Connections to go on with although the poller reports nothing new; two lists that change places.
    var queued: ContiguousArray<Connection> = []
    var queuedBefore: ContiguousArray<Connection> = []
    var cancelled: ContiguousArray<ReplyTicket> = []

    var now = MonotonicNanos.now()
    var stopDeadline: MonotonicNanos?
    var acceptAgain: MonotonicNanos?
    var nextComplaint = MonotonicNanos(value: 0)

    /// Takes over the listening sockets.
    init(
        listeners: [Int32],
        limits: ServerLimits,
        counter: ConnectionCounter,
        control: Mailbox<LoopCommand>,
        mailboxDescriptor: Int32,
        grownBytesMax: Int,
        tls: TLSContext?
    ) throws(SystemError) {
        self.limits = limits
        self.counter = counter
        self.control = control
        self.grownBytesMax = grownBytesMax
        self.tls = tls
        self.listeners = ContiguousArray(listeners)
        timers = TimerQueues(limits)
        poller = try Poller()
        try poller.add(control.descriptor, .readableLevel, slot: Self.controlSlot, generation: 0)
        try poller.add(mailboxDescriptor, .readableLevel, slot: Self.mailboxSlot, generation: 0)
        for index in listeners.indices { try watchListener(index) }
    }

    // MARK: The turn

    /// Serves until told to stop, and then until the last connection is closed or the time for that is over.
    func run<Handler: RequestHandler>(_ handler: Handler, mailbox: Mailbox<Handler.Message>) {
        let replies = Replies<Handler>(self)
        var messages: ContiguousArray<Handler.Message> = []
        while true {
            let count = wait(for: handler)
            now = .now()
            date.refresh(now: now)
            for index in 0..<count {
                let event = poller[index]
                switch event.slot {
                case Self.controlSlot:
                    takeCommands()
                case Self.mailboxSlot:
                    mailbox.drain(into: &messages)
                    for message in messages { handler.receive(message, replies) }
                    messages.removeAll(keepingCapacity: true)
                case Self.firstListenerSlot...:
                    accept(from: Int(event.slot - Self.firstListenerSlot))
                default:
                    take(event, handler)
                }
            }
            if let deadline = handler.nextDeadline, deadline <= now { handler.deadlineReached(now, replies) }
            serveQueued(handler)
            expireTimers()
            tellCancelled(handler)
            if let stopDeadline, openCount == 0 || now >= stopDeadline { break }
        }
        for connection in connections where connection.phase != .free { close(connection) }
        tellCancelled(handler)
    }

    /// Looks for events, and blocks when there are none and nothing else is to be done.
    func wait<Handler: RequestHandler>(for handler: Handler) -> Int {
        let count = poller.wait(milliseconds: 0)
        if count > 0 || !queued.isEmpty { return count }
        handler.loopWillSleep()
        var deadline = Self.earlier(timers.nextDeadline, handler.nextDeadline)
        deadline = Self.earlier(deadline, stopDeadline)
        deadline = Self.earlier(deadline, acceptAgain)
        guard let deadline else { return poller.wait(milliseconds: -1) }
        let nanoseconds = deadline.nanoseconds(since: .now())
        return poller.wait(milliseconds: Int32(clamping: (nanoseconds + 999_999) / 1_000_000))
    }

    static func earlier(_ left: MonotonicNanos?, _ right: MonotonicNanos?) -> MonotonicNanos? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }

    func take<Handler: RequestHandler>(_ event: Poller.Event, _ handler: Handler) {
        let connection = connections[Int(event.slot)]
        guard connection.generation == event.generation else { return }
        // TLS may have waited for room to write before it could read on.
        if event.isReadable || event.isPeerEnded || event.isDead || connection.transport.isEncrypted {
            connection.mayRead = true
        }
        if event.isPeerEnded { connection.isPeerEnded = true }
        switch connection.phase {
        case .free:
            return
        case .reading:
            serve(connection, handler)
        case .deferred where event.isDead || (connection.stream != nil && event.isPeerEnded):
            close(connection)
        case .deferred, .closing:
            settle(connection)
        case .lingering:
            linger(connection)
        }
    }

    func serveQueued<Handler: RequestHandler>(_ handler: Handler) {
        if queued.isEmpty { return }
        swap(&queued, &queuedBefore)
        for connection in queuedBefore {
            connection.isQueued = false
            switch connection.phase {
            case .free: continue
            case .reading: serve(connection, handler)
            case .deferred, .closing: settle(connection)
            case .lingering: linger(connection)
            }
        }
        queuedBefore.removeAll(keepingCapacity: true)
    }

    func enqueue(_ connection: Connection) {
        if connection.isQueued { return }
        connection.isQueued = true
        queued.append(connection)
    }

    func tellCancelled<Handler: RequestHandler>(_ handler: Handler) {
        if cancelled.isEmpty { return }
        for ticket in cancelled { handler.cancelled(ticket) }
        cancelled.removeAll(keepingCapacity: true)
    }
}
