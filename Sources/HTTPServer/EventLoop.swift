internal import CSystem
internal import Glibc
internal import Platform

/// What the server tells a loop.
enum LoopCommand: Sendable {
    case stop
}

/// One thread's share of the server: its listeners, its connections, and the order in which they are served.
///
/// Nothing here is shared; other threads reach the loop through two mailboxes, the handler's and `control`. A turn is: wait, take
/// events, take messages, reach deadlines, go on with connections that have more to do, enforce time limits.
///
/// Connections are watched for changes only (edge-triggered): one registration serves a connection's whole life, and reading stops for
/// a while (a deferred request, a client that does not take its answers) without a system call. The price is `Connection.mayRead`.
final class EventLoop {
    /// Reads and requests one connection gets in a turn before the others have theirs.
    private static let stepsPerTurn = 64
    /// Connections taken from one listener in a turn.
    private static let acceptsPerTurn = 64
    /// How long no connection is accepted when the process has no descriptor left; those that wait, wait in the kernel.
    private static let acceptPauseMillis = 50
    /// The same complaint is logged once in this time.
    private static let complaintSeconds = 10
    /// Room for a read; below it the buffer is moved or grown first, so that no system call fetches a few bytes.
    private static let readBytesMin = 1_024
    private static let controlSlot = UInt32.max
    private static let mailboxSlot = UInt32.max - 1
    private static let firstListenerSlot = UInt32.max - 0xFFFF

    let limits: ServerLimits
    private let poller: Poller
    private let counter: ConnectionCounter
    private let control: Mailbox<LoopCommand>
    private let buffers = BufferPool()
    private let scratch = ByteBuffer(capacity: BufferPool.bufferBytes)
    private let date = DateHeader()
    private let request = Request()

    private var listeners: ContiguousArray<Int32>
    private var connections: ContiguousArray<Connection> = []
    private var freeSlots: ContiguousArray<UInt32> = []
    private var openCount = 0
    private var timers: TimerQueues
    /// Connections to go on with although the poller reports nothing new; two lists that change places.
    private var queued: ContiguousArray<Connection> = []
    private var queuedBefore: ContiguousArray<Connection> = []
    private var cancelled: ContiguousArray<ReplyTicket> = []

    private var now = MonotonicNanos.now()
    private var stopDeadline: MonotonicNanos?
    private var acceptAgain: MonotonicNanos?
    private var nextComplaint = MonotonicNanos(value: 0)

    /// Takes over the listening sockets.
    init(
        listeners: [Int32],
        limits: ServerLimits,
        counter: ConnectionCounter,
        control: Mailbox<LoopCommand>,
        mailboxDescriptor: Int32
    ) throws(SystemError) {
        self.limits = limits
        self.counter = counter
        self.control = control
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
                    beginStop()
                case Self.mailboxSlot:
                    mailbox.drain(into: &messages)
                    for message in messages { handler.receive(message, replies) }
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
    private func wait<Handler: RequestHandler>(for handler: Handler) -> Int {
        let count = poller.wait(milliseconds: 0)
        if count > 0 || !queued.isEmpty { return count }
        handler.loopWillSleep()
        var deadline = timers.nextDeadline
        for other in [handler.nextDeadline, stopDeadline, acceptAgain] {
            if let other { deadline = min(deadline ?? other, other) }
        }
        guard let deadline else { return poller.wait(milliseconds: -1) }
        let nanoseconds = deadline.nanoseconds(since: .now())
        return poller.wait(milliseconds: Int32(clamping: (nanoseconds + 999_999) / 1_000_000))
    }

    private func take<Handler: RequestHandler>(_ event: Poller.Event, _ handler: Handler) {
        let connection = connections[Int(event.slot)]
        guard connection.generation == event.generation else { return }
        if event.isReadable || event.isPeerEnded || event.isDead { connection.mayRead = true }
        if event.isPeerEnded { connection.isPeerEnded = true }
        switch connection.phase {
        case .free:
            return
        case .reading:
            serve(connection, handler)
        case .deferred where event.isDead:
            close(connection)
        case .deferred, .closing:
            settle(connection)
        case .lingering:
            linger(connection)
        }
    }

    private func serveQueued<Handler: RequestHandler>(_ handler: Handler) {
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

    private func enqueue(_ connection: Connection) {
        if connection.isQueued { return }
        connection.isQueued = true
        queued.append(connection)
    }

    private func tellCancelled<Handler: RequestHandler>(_ handler: Handler) {
        if cancelled.isEmpty { return }
        for ticket in cancelled { handler.cancelled(ticket) }
        cancelled.removeAll(keepingCapacity: true)
    }

    // MARK: Requests

    /// Reads and answers what there is, writes all answers together, and leaves the connection in order.
    private func serve<Handler: RequestHandler>(_ connection: Connection, _ handler: Handler) {
        var steps = Self.stepsPerTurn
        while connection.phase == .reading {
            if let output = connection.output, output.count >= limits.outputBytesMax {
                flush(connection)
                if connection.output != nil { break }
                continue
            }
            if steps == 0 {
                enqueue(connection)
                break
            }
            steps &-= 1
            if let input = connection.input, !input.isEmpty {
                switch connection.reader.advance(input, limits: limits, head: &request.head) {
                case .request(let layout):
                    answer(connection, input, layout, handler)
                    continue
                case .sendContinue:
                    takeOutput(connection).append("HTTP/1.1 100 Continue\r\n\r\n")
                    continue
                case .reject(let rejection):
                    reject(connection, rejection)
                    continue
                case .needMore:
                    break
                }
            }
            if !connection.mayRead { break }
            receive(connection)
        }
        settle(connection)
    }

    private func receive(_ connection: Connection) {
        let input = connection.input ?? buffers.take()
        connection.input = input
        input.reserve(Self.readBytesMin)
        let room = unsafe input.writable
        switch unsafe connection.transport.receive(into: room) {
        case .bytes(let count):
            input.produced(count)
            // A read that did not fill the room took everything, save perhaps the end of the stream.
            if count < room.count && !connection.isPeerEnded { connection.mayRead = false }
        case .wouldBlock:
            connection.mayRead = false
        case .ended:
            connection.mayRead = false
            connection.isInputEnded = true
        case .failed:
            close(connection)
        }
    }

    private func answer<Handler: RequestHandler>(
        _ connection: Connection,
        _ input: ByteBuffer,
        _ layout: RequestReader.Layout,
        _ handler: Handler
    ) {
        let deferred = Connection.Deferred(
            isHead: request.head.method == .head,
            isHTTP11: request.head.isHTTP11,
            keepsAlive: request.head.keepsAlive
        )
        var response = response(connection, deferred)
        unsafe request.attach(
            input.readable,
            body: layout.body,
            listener: connection.listener,
            peer: connection.peer
        )
        let disposition = handler.handle(request, &response, ticket: connection.ticket)
        request.detach()
        input.consume(layout.consumed)
        switch disposition {
        case .done:
            complete(connection, &response)
        case .later:
            response.rewind()
            connection.deferred = deferred
            connection.phase = .deferred
        }
    }

    /// See `Replies.reply(to:_:)`.
    func reply(to ticket: ReplyTicket, _ fill: (inout Response) -> Void) {
        guard Int(ticket.slot) < connections.count else { return }
        let connection = connections[Int(ticket.slot)]
        guard connection.phase == .deferred, connection.ticket == ticket else { return }
        var response = response(connection, connection.deferred)
        fill(&response)
        complete(connection, &response)
        // Not served here: the handler is in the middle of something, and its next request must not come before that is done.
        enqueue(connection)
    }

    private func response(_ connection: Connection, _ request: Connection.Deferred) -> Response {
        Response(
            output: takeOutput(connection),
            date: date,
            isHead: request.isHead,
            isHTTP11: request.isHTTP11,
            keepsAlive: request.keepsAlive && stopDeadline == nil
        )
    }

    private func complete(_ connection: Connection, _ response: inout Response) {
        if !response.isFinished {
            Log.error("a handler left a response unfinished")
            response.rewind()
            Rejection.handlerFailed.write(into: &response, scratch: scratch)
        }
        connection.request &+= 1
        if response.keepsAlive {
            connection.phase = .reading
        } else {
            connection.phase = .closing
            connection.mustLinger = connection.mayRead || !(connection.input?.isEmpty ?? true)
        }
    }

    private func reject(_ connection: Connection, _ rejection: Rejection) {
        var response = Response(
            output: takeOutput(connection),
            date: date,
            isHead: connection.reader.isHead,
            isHTTP11: true,
            keepsAlive: false
        )
        rejection.write(into: &response, scratch: scratch)
        connection.phase = .closing
        connection.mustLinger = true
    }

    private func takeOutput(_ connection: Connection) -> ByteBuffer {
        if let output = connection.output { return output }
        let output = buffers.take()
        connection.output = output
        return output
    }

    // MARK: After a step

    /// Sends what is to be sent, gives back what is not needed, and sets the time limit that now holds.
    private func settle(_ connection: Connection) {
        if let input = connection.input, input.isEmpty || connection.phase == .closing {
            connection.input = nil
            buffers.give(input)
        }
        flush(connection)
        // While answers wait for the client, the limit is that of writing.
        guard connection.output == nil else { return }
        switch connection.phase {
        case .free, .lingering:
            return
        case .reading where connection.isQueued:
            return
        case .reading:
            let isIdle = connection.input == nil && !connection.reader.isInBody
            if connection.isInputEnded || (isIdle && stopDeadline != nil) {
                close(connection)
            } else {
                setReadLimit(connection, isIdle: isIdle)
            }
        case .deferred:
            timers.clear(connection.slot)
        case .closing:
            finish(connection)
        }
    }

    private func setReadLimit(_ connection: Connection, isIdle: Bool) {
        let limit: TimeLimit =
            if connection.reader.isInBody {
                .body
            } else if isIdle && connection.request > 0 {
                .idle
            } else {
                .head
            }
        // A request has its time as a whole, however many pieces it comes in.
        let isRunning = limit == timers.limit(of: connection.slot) && connection.timedRequest == connection.request
        if isRunning && limit != .idle { return }
        connection.timedRequest = connection.request
        timers.set(limit, for: connection.slot, now: now)
    }

    /// Writes as much as the client takes now. Afterwards `output` is nil when that was all.
    private func flush(_ connection: Connection) {
        guard let output = connection.output else { return }
        var isProgress = false
        while !output.isEmpty {
            switch unsafe connection.transport.send(output.readable) {
            case .bytes(let count):
                output.consume(count)
                isProgress = true
            case .wouldBlock, .ended:
                awaitWritable(connection, isProgress: isProgress)
                return
            case .failed:
                close(connection)
                return
            }
        }
        connection.output = nil
        buffers.give(output)
        if timers.limit(of: connection.slot) == .write { timers.clear(connection.slot) }
    }

    private func awaitWritable(_ connection: Connection, isProgress: Bool) {
        if isProgress || timers.limit(of: connection.slot) != .write {
            timers.set(.write, for: connection.slot, now: now)
        }
        if connection.isWriteWatched { return }
        connection.isWriteWatched = true
        do throws(SystemError) {
            try poller.modify(
                connection.transport.descriptor,
                .bothEdge,
                slot: connection.slot,
                generation: connection.generation
            )
        } catch {
            close(connection)
        }
    }

    // MARK: The end of a connection

    /// The last answer is sent.
    private func finish(_ connection: Connection) {
        if !connection.mustLinger || connection.isInputEnded {
            close(connection)
            return
        }
        connection.phase = .lingering
        connection.transport.endSending()
        timers.set(.linger, for: connection.slot, now: now)
        linger(connection)
    }

    /// Throws away what the client still sends. Closing over unread bytes would reset the connection, and a reset can destroy the answer
    /// on its way to the client (RFC 9112 §9.6).
    private func linger(_ connection: Connection) {
        scratch.removeAll()
        for _ in 0..<Self.stepsPerTurn {
            switch unsafe connection.transport.receive(into: scratch.writable) {
            case .bytes(let count):
                connection.lingeredBytes += count
                if connection.lingeredBytes > limits.lingerBytesMax {
                    close(connection)
                    return
                }
            case .wouldBlock:
                return
            case .ended, .failed:
                close(connection)
                return
            }
        }
        enqueue(connection)
    }

    private func close(_ connection: Connection, isAbort: Bool = false) {
        if connection.phase == .deferred { cancelled.append(connection.ticket) }
        if isAbort {
            connection.transport.abort()
        } else {
            connection.transport.close()
        }
        timers.clear(connection.slot)
        if let input = connection.input { buffers.give(input) }
        if let output = connection.output { buffers.give(output) }
        connection.input = nil
        connection.output = nil
        connection.phase = .free
        connection.generation &+= 1
        freeSlots.append(connection.slot)
        openCount -= 1
        counter.leave()
    }

    private func expireTimers() {
        while let (slot, limit) = timers.popExpired(now: now) {
            let connection = connections[Int(slot)]
            switch limit {
            case .head where connection.input != nil:
                reject(connection, .headTimeout)
                settle(connection)
            case .body:
                reject(connection, .bodyTimeout)
                settle(connection)
            case .write:
                close(connection, isAbort: true)
            case .head, .idle, .linger:
                close(connection)
            }
        }
        if let acceptAgain, acceptAgain <= now { resumeAccepting() }
    }

    // MARK: New connections

    private func watchListener(_ index: Int) throws(SystemError) {
        try poller.add(
            listeners[index],
            .readableLevel,
            slot: Self.firstListenerSlot + UInt32(index),
            generation: 0
        )
    }

    private func accept(from index: Int) {
        // The event of a listener that was closed or paused earlier in this turn.
        guard index < listeners.count, acceptAgain == nil else { return }
        for _ in 0..<Self.acceptsPerTurn {
            var peer = csystem_address()
            let descriptor = unsafe csystem_tcp_accept(listeners[index], &peer)
            if descriptor >= 0 {
                open(descriptor, listener: index, peer: peer)
                continue
            }
            switch -descriptor {
            case EAGAIN:
                return
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                pauseAccepting(errno: -descriptor)
                return
            default:
                // The connection was already gone when it was taken; the next one may be well.
                continue
            }
        }
    }

    private func open(_ descriptor: Int32, listener: Int, peer: csystem_address) {
        let transport = Transport(descriptor: descriptor)
        guard counter.enter(max: limits.connectionsMax) else {
            complain("too many connections")
            refuse(transport)
            return
        }
        let connection: Connection
        if let slot = freeSlots.popLast() {
            connection = connections[Int(slot)]
        } else {
            connection = Connection(slot: UInt32(connections.count))
            connections.append(connection)
        }
        connection.open(transport, listener: listener, peer: peer)
        openCount += 1
        timers.set(.head, for: connection.slot, now: now)
        do throws(SystemError) {
            try poller.add(descriptor, .readableEdge, slot: connection.slot, generation: connection.generation)
        } catch {
            close(connection)
        }
    }

    /// Tells a client that there is no room. Not waited for: a server with too many connections keeps none for this.
    private func refuse(_ transport: Transport) {
        let output = buffers.take()
        var response = Response(output: output, date: date, isHead: false, isHTTP11: true, keepsAlive: false)
        Rejection.tooManyConnections.write(into: &response, scratch: scratch)
        _ = unsafe transport.send(output.readable)
        buffers.give(output)
        transport.endSending()
        transport.close()
    }

    /// Without descriptors a listener would report the same connection again and again.
    private func pauseAccepting(errno code: Int32) {
        complain("connections cannot be accepted", ("errno", .integer(Int64(code))))
        for listener in listeners { poller.remove(listener) }
        acceptAgain = now.adding(milliseconds: Self.acceptPauseMillis)
    }

    private func resumeAccepting() {
        acceptAgain = nil
        do throws(SystemError) {
            for index in listeners.indices { try watchListener(index) }
        } catch {
            pauseAccepting(errno: ENOMEM)
        }
    }

    private func complain(_ message: StaticString, _ field: (StaticString, LogValue)? = nil) {
        if now < nextComplaint { return }
        nextComplaint = now.adding(seconds: Self.complaintSeconds)
        if let field { Log.warning(message, field) } else { Log.warning(message) }
    }

    // MARK: Stopping

    private func beginStop() {
        var commands: ContiguousArray<LoopCommand> = []
        control.drain(into: &commands)
        if commands.isEmpty || stopDeadline != nil { return }
        // Clients whose connection the kernel already made get an answer, not a reset.
        for index in listeners.indices { accept(from: index) }
        for listener in listeners { csystem_close(listener) }
        listeners.removeAll()
        acceptAgain = nil
        stopDeadline = now.adding(nanoseconds: nanosecondsIn(limits.stopSeconds))
        for connection in connections where connection.phase == .reading {
            // One look for a request that came meanwhile; without one the connection is idle and gets closed.
            connection.mayRead = true
            enqueue(connection)
        }
    }
}
