import Glibc

/// A client that sends and receives bytes, and knows as little about HTTP as the tests allow.
final class RawClient {
    enum Failure: Error, Equatable {
        case connect(Int32)
        case ended(received: String)
        case reset
        case timeout(received: String)
    }

    struct Response: Equatable {
        var status: Int
        var headers: [String: String]
        var body: String
    }

    let descriptor: Int32
    private var received: [UInt8] = []
    private var isClosed = false
    private var tls: ClientTLS?

    init(port: Int, receiveBufferBytes: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var bytes = receiveBufferBytes {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var noDelay: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result != 0 {
            let code = errno
            Glibc.close(descriptor)
            isClosed = true
            throw Failure.connect(code)
        }
    }

    deinit {
        if !isClosed { Glibc.close(descriptor) }
    }

    /// Speaks TLS from here on; gives what was agreed on.
    @discardableResult
    func startTLS(_ settings: ClientTLS.Settings = .init()) throws -> ClientTLS {
        let tls = try ClientTLS(descriptor: descriptor, settings)
        self.tls = tls
        try tls.connect()
        return tls
    }

    func close() {
        Glibc.close(descriptor)
        isClosed = true
    }

    /// Closes with a reset.
    func abort() {
        var none = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &none, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    func endSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Sends everything; false when the server stopped taking it.
    @discardableResult
    func send(_ text: String) -> Bool {
        send(Array(text.utf8))
    }

    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        if let tls { return tls.write(bytes) }
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    /// Receives once; false at the end of the stream.
    private func receive(atMost count: Int = 65_536) throws -> Bool {
        var piece = [UInt8](repeating: 0, count: count)
        let count = try tls?.read(&piece) ?? recv(descriptor, &piece, piece.count, 0)
        if count < 0 {
            let text = String(decoding: received, as: UTF8.self)
            throw errno == EAGAIN ? Failure.timeout(received: text) : Failure.reset
        }
        received.append(contentsOf: piece[..<count])
        return count > 0
    }

    /// One whole response.
    func response(isHead: Bool = false) throws -> Response {
        let endOfHead = Array("\r\n\r\n".utf8)
        var headCount = 0
        while headCount == 0 {
            if let end = received.firstRange(of: endOfHead) {
                headCount = end.upperBound
            } else if try !receive() {
                throw Failure.ended(received: String(decoding: received, as: UTF8.self))
            }
        }
        let lines = String(decoding: received[..<headCount], as: UTF8.self).split(separator: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false)
            headers[parts[0].lowercased()] = parts.count > 1 ? String(parts[1]) : ""
        }
        let status = Int(lines[0].dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0
        let isBodiless = isHead || status == 204 || status == 304 || status < 200
        let end = headCount + (isBodiless ? 0 : Int(headers["content-length"] ?? "0") ?? 0)
        while received.count < end {
            if try !receive() { throw Failure.ended(received: String(decoding: received, as: UTF8.self)) }
        }
        let body = String(decoding: received[headCount..<end], as: UTF8.self)
        received.removeFirst(end)
        return Response(status: status, headers: headers, body: body)
    }

    /// Everything until the server ends the connection.
    func rest() throws -> String {
        while try receive() {}
        defer { received = [] }
        return String(decoding: received, as: UTF8.self)
    }

    /// Receives `count` bytes at most and throws them away, giving their number.
    func skip(_ count: Int) throws -> Int {
        _ = try receive(atMost: count)
        defer { received = [] }
        return received.count
    }

    /// Whether the server ends the connection, orderly or with a reset, without sending anything more.
    func isEndedByServer() throws -> Bool {
        do {
            return try rest().isEmpty
        } catch Failure.reset {
            return received.isEmpty
        }
    }

    /// Whether nothing comes for `milliseconds`.
    func isSilent(milliseconds: Int32) -> Bool {
        if !received.isEmpty { return false }
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) == 0
    }
}

extension Array where Element == UInt8 {
    /// Where `other` first occurs.
    fileprivate func firstRange(of other: [UInt8]) -> Range<Int>? {
        guard count >= other.count else { return nil }
        for start in 0...(count - other.count) where self[start..<(start + other.count)].elementsEqual(other) {
            return start..<(start + other.count)
        }
        return nil
    }
}
