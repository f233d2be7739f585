internal import CSystem
internal import Glibc
internal import Platform
internal import TLS

/// Where connections come from, and the end of that.
extension EventLoop {
    func watchListener(_ index: Int) throws(SystemError) {
        try poller.add(
            listeners[index],
            .readableLevel,
            slot: Self.firstListenerSlot + UInt32(index),
            generation: 0
        )
    }

    func accept(from index: Int, atMost countMax: Int = acceptsPerTurn) {
        // The event of a listener that was closed or paused earlier in this turn.
        guard index < listeners.count, acceptAgain == nil else { return }
        for _ in 0..<countMax {
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
        guard counter.enter(max: limits.connectionsMax) else {
            complain("too many connections")
            refuse(descriptor)
            return
        }
        var transport = Transport(descriptor: descriptor)
        if let tls {
            guard let session = tls.makeSession(descriptor: descriptor) else {
                complain("no memory for TLS")
                counter.leave()
                csystem_close(descriptor)
                return
            }
            transport = Transport(descriptor: descriptor, session: session)
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
            // TLS may have to write in order to read, and is told of both from the beginning.
            connection.isWriteWatched = transport.isEncrypted
            try poller.add(
                descriptor,
                transport.isEncrypted ? .bothEdge : .readableEdge,
                slot: connection.slot,
                generation: connection.generation
            )
        } catch {
            close(connection)
        }
    }

    /// Tells a client that there is no room. Not waited for: a server with too many connections keeps none for this.
    /// Where TLS is spoken nothing could be said without a handshake, and a client is only let go.
    private func refuse(_ descriptor: Int32) {
        guard tls == nil else {
            csystem_close(descriptor)
            return
        }
        let transport = Transport(descriptor: descriptor)
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

    func resumeAccepting() {
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

    // MARK: What the server tells

    func takeCommands() {
        var commands: ContiguousArray<LoopCommand> = []
        control.drain(into: &commands)
        for command in commands {
            switch command {
            case .stop: beginStop()
            case .tls(let context): tls = context
            }
        }
    }

    private func beginStop() {
        if stopDeadline != nil { return }
        // Clients whose connection the kernel already made get an answer, not a reset.
        for index in listeners.indices { accept(from: index, atMost: Int(Listeners.backlog)) }
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
