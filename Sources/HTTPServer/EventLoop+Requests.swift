internal import Platform

/// From bytes to answers.
extension EventLoop {
    /// Reads and answers what there is, writes all answers together, and leaves the connection in order.
    func serve<Handler: RequestHandler>(_ connection: Connection, _ handler: Handler) {
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

    func receive(_ connection: Connection) {
        let input = connection.input ?? buffers.take()
        connection.input = input
        let capacityBefore = input.capacity
        input.reserve(Self.readBytesMin)
        grownBytes += input.capacity - capacityBefore
        if grownBytes > grownBytesMax && input.capacity > capacityBefore {
            reject(connection, .tooMuchBuffered)
            return
        }
        let room = unsafe input.writable
        switch unsafe connection.transport.receive(into: room) {
        case .bytes(let count):
            input.produced(count)
            // A read that did not fill the room took everything, save perhaps the end of the stream.
            if count < room.count && !connection.isPeerEnded && !connection.transport.isEncrypted {
                connection.mayRead = false
            }
        case .wouldBlock:
            connection.mayRead = false
        case .ended:
            connection.mayRead = false
            connection.isInputEnded = true
        case .failed:
            close(connection)
        case .refused(isPlainText: true):
            reject(connection, .plainText)
        case .refused(isPlainText: false):
            // An alert is on its way; nothing else can be said.
            connection.phase = .closing
            connection.mustLinger = true
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
        resume(ticket) { response in
            fill(&response)
            return .done
        }
    }

    /// See `Replies.resume(_:_:)`.
    func resume(_ ticket: ReplyTicket, _ work: (inout Response) -> Disposition) {
        guard Int(ticket.slot) < connections.count else { return }
        let connection = connections[Int(ticket.slot)]
        guard connection.phase == .deferred, connection.ticket == ticket, connection.stream == nil else { return }
        var response = response(connection, connection.deferred)
        switch work(&response) {
        case .done: complete(connection, &response)
        case .later: response.rewind()
        }
        // Not served here: the handler is in the middle of something, and its next request must not come before that is
        // done.
        enqueue(connection)
    }

    func response(_ connection: Connection, _ request: Connection.Deferred) -> Response {
        Response(
            output: takeOutput(connection),
            date: date,
            isHead: request.isHead,
            isHTTP11: request.isHTTP11,
            keepsAlive: request.keepsAlive && stopDeadline == nil
        )
    }

    func complete(_ connection: Connection, _ response: inout Response) {
        if let stream = response.stream {
            connection.stream = stream
            connection.phase = .deferred
            return
        }
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

    func reject(_ connection: Connection, _ rejection: Rejection) {
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

    func releaseInput(_ connection: Connection) {
        guard let input = connection.input else { return }
        connection.input = nil
        grownBytes -= input.capacity - BufferPool.bufferBytes
        buffers.give(input)
    }

    func takeOutput(_ connection: Connection) -> ByteBuffer {
        if let output = connection.output { return output }
        let output = buffers.take()
        connection.output = output
        return output
    }
}
