import Glibc

/// A small blocking HTTP/1.1 client for loopback, for one thread: what is asked is what stands on the wire.
///
/// The connection is kept between requests. It listens while it sends, so that an answer that comes before the body is
/// through (413) is read and not lost in a broken pipe.
public final class HTTPConnection {
    private let port: UInt16
    private var descriptor: Int32?

    public init(port: UInt16) {
        self.port = port
    }

    deinit {
        close()
    }

    public func close() {
        if let descriptor { _ = Glibc.close(descriptor) }
        descriptor = nil
    }

    /// Sends the request and waits for the whole answer, for at most `seconds` in all.
    ///
    /// A kept connection that the other side has closed meanwhile is opened anew, once.
    public func send(_ request: HTTPRequest, seconds: Double = 40) throws(HTTPFault) -> HTTPAnswer {
        let deadline = Deadline(seconds: seconds)
        let wasKept = descriptor != nil
        do {
            return try exchange(request, deadline)
        } catch {
            close()
            guard wasKept, error == .closedEarly(receivedBytes: 0) else { throw error }
        }
        do {
            return try exchange(request, deadline)
        } catch {
            close()
            throw error
        }
    }

    private func exchange(_ request: HTTPRequest, _ deadline: Deadline) throws(HTTPFault) -> HTTPAnswer {
        let descriptor = if let descriptor { descriptor } else { try connect() }
        self.descriptor = descriptor
        var unsent = wireBytes(of: request)[...]
        var isRefused = false
        var reader = HTTPAnswerReader(method: request.method)
        while true {
            let ready = try wait(descriptor, for: unsent.isEmpty ? POLLIN : POLLIN | POLLOUT, deadline)
            if ready & POLLOUT != 0, !unsent.isEmpty {
                if let left = sendSome(unsent, to: descriptor) {
                    unsent = left
                } else {
                    // The other side takes no more of the body. What it has to say about that can still be read.
                    unsent = []
                    isRefused = true
                }
            }
            guard ready & (POLLIN | POLLHUP | POLLERR) != 0 else { continue }
            let ended = receive(from: descriptor, into: &reader)
            if let answer = try reader.answer(ended: ended) {
                if !reader.keepsConnection || !unsent.isEmpty || isRefused || ended { close() }
                return answer
            }
        }
    }

    private func wireBytes(of request: HTTPRequest) -> [UInt8] {
        var head = "\(request.method) \(request.target) HTTP/1.1\r\n"
        if !request.headers.contains(where: { $0.isNamed("Host") }) {
            head += "Host: 127.0.0.1:\(port)\r\n"
        }
        for header in request.headers {
            head += "\(header.name): \(header.value)\r\n"
        }
        let hasBody = request.body != nil || ["POST", "PUT", "PATCH"].contains(request.method)
        let isFramed = request.headers.contains { $0.isNamed("Content-Length") || $0.isNamed("Transfer-Encoding") }
        if hasBody, !isFramed {
            head += "Content-Length: \(request.body?.count ?? 0)\r\n"
        }
        return Array((head + "\r\n").utf8) + (request.body ?? [])
    }

    private func connect() throws(HTTPFault) -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_INET, kind, 0)
        guard descriptor >= 0 else { throw .cannotConnect(Self.reason(errno)) }
        // Loopback answers at once, yes or no; only what follows may take time.
        guard withLoopbackAddress(port: port, { Glibc.connect(descriptor, $0, $1) }) == 0 else {
            let fault = HTTPFault.cannotConnect(Self.reason(errno))
            _ = Glibc.close(descriptor)
            throw fault
        }
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        return descriptor
    }

    private func wait(_ descriptor: Int32, for events: Int32, _ deadline: Deadline) throws(HTTPFault) -> Int32 {
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        while true {
            let left = deadline.millisecondsLeft
            guard left > 0 else { throw .timedOut(seconds: deadline.seconds) }
            let count = poll(&entry, 1, Int32(left))
            if count > 0 { return Int32(entry.revents) }
        }
    }

    /// What is left to send, or nil when the other side takes no more.
    private func sendSome(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> ArraySlice<UInt8>? {
        let count = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if count >= 0 { return bytes.dropFirst(count) }
        return errno == EAGAIN || errno == EINTR ? bytes : nil
    }

    /// Reads what is there; true at the end of the stream or when it was cut.
    private func receive(from descriptor: Int32, into reader: inout HTTPAnswerReader) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        if count > 0 {
            reader.append(buffer[..<count])
            return false
        }
        return count == 0 || !(errno == EAGAIN || errno == EINTR)
    }

    private static func reason(_ number: Int32) -> String {
        strerror(number).map { String(cString: $0) } ?? "error \(number)"
    }
}

/// A moment by which something must have ended.
struct Deadline {
    let seconds: Double
    private let end: ContinuousClock.Instant

    init(seconds: Double) {
        self.seconds = seconds
        end = ContinuousClock.now + .seconds(seconds)
    }

    /// Rounded up: a wait of 0 ms in a loop would spin for the last millisecond.
    var millisecondsLeft: Int {
        let left = ContinuousClock.now.duration(to: end)
        return left <= .zero ? 0 : Int((left / Duration.milliseconds(1)).rounded(.up))
    }
}
