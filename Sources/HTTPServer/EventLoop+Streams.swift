/// How the content of an answer is framed whose length is not known beforehand.
enum ContentStream {
    /// RFC 9112 section 7.1.
    case chunked
    /// The end of the connection is the end of the content; for HTTP/1.0.
    case untilClose
}

/// Answers that come piece by piece.
extension EventLoop {
    /// See `Replies.send(_:to:)`.
    func send(_ piece: [UInt8], to ticket: ReplyTicket) -> PieceResult {
        guard let (connection, stream) = streaming(ticket) else { return .gone }
        if piece.isEmpty { return .taken }
        if let output = connection.output, output.count >= limits.outputBytesMax { return .full }
        let output = takeOutput(connection)
        if stream == .chunked {
            for byte in String(piece.count, radix: 16).utf8 { output.append(byte) }
            output.append("\r\n")
        }
        unsafe piece.withUnsafeBytes { unsafe output.append($0) }
        if stream == .chunked { output.append("\r\n") }
        enqueue(connection)
        return .taken
    }

    /// See `Replies.end(_:)`.
    func end(_ ticket: ReplyTicket) {
        guard let (connection, stream) = streaming(ticket) else { return }
        if stream == .chunked { takeOutput(connection).append("0\r\n\r\n") }
        connection.stream = nil
        connection.phase = .closing
        flush(connection)
        // A client that does not read must not hold up whoever ends its answer.
        if connection.output != nil {
            close(connection, isAbort: true)
        } else if connection.phase == .closing {
            enqueue(connection)
        }
    }

    private func streaming(_ ticket: ReplyTicket) -> (Connection, ContentStream)? {
        guard Int(ticket.slot) < connections.count else { return nil }
        let connection = connections[Int(ticket.slot)]
        guard connection.phase == .deferred, connection.ticket == ticket, let stream = connection.stream else {
            return nil
        }
        return (connection, stream)
    }
}
