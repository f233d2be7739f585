internal import Platform

/// What follows a step of a connection: sending, time limits, and its end.
extension EventLoop {
    /// Sends what is to be sent, gives back what is not needed, and sets the time limit that now holds.
    func settle(_ connection: Connection) {
        if let input = connection.input, input.isEmpty || connection.phase == .closing {
            releaseInput(connection)
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
    func flush(_ connection: Connection) {
        guard let output = connection.output else { return }
        var isProgress = false
        while !output.isEmpty {
            switch unsafe connection.transport.send(output.readable) {
            case .bytes(let count):
                output.consume(count)
                isProgress = true
            case .wouldBlock, .ended, .refused:
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
    func finish(_ connection: Connection) {
        if !connection.mustLinger || connection.isInputEnded {
            close(connection)
            return
        }
        connection.phase = .lingering
        connection.transport.endSending()
        timers.set(.linger, for: connection.slot, now: now)
        linger(connection)
    }

    /// Throws away what the client still sends. Closing over unread bytes would reset the connection, and a reset can
    /// destroy the answer on its way to the client (RFC 9112 §9.6).
    func linger(_ connection: Connection) {
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
            case .ended, .failed, .refused:
                close(connection)
                return
            }
        }
        enqueue(connection)
    }

    func close(_ connection: Connection, isAbort: Bool = false) {
        if connection.phase == .deferred { cancelled.append(connection.ticket) }
        if isAbort {
            connection.transport.abort()
        } else {
            connection.transport.close()
        }
        connection.transport = Transport(descriptor: -1)
        timers.clear(connection.slot)
        releaseInput(connection)
        if let output = connection.output { buffers.give(output) }
        connection.output = nil
        connection.phase = .free
        connection.generation &+= 1
        freeSlots.append(connection.slot)
        openCount -= 1
        counter.leave()
    }

    func expireTimers() {
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
}
