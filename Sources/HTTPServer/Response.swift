/// The answer to one request, written straight into the connection's output.
///
/// Order: `start`, any number of `header`, one `finish`. `start` again throws away what this response wrote before. The
/// server adds `Date`, `Content-Length` and, where needed, `Connection`: a handler writes none of them.
public struct Response: ~Copyable {
    private enum Stage {
        case blank, started, finished, streaming
    }

    private let output: ByteBuffer
    private let date: DateHeader
    /// What the output held before this response.
    private let mark: Int
    private let isHead: Bool
    private let isHTTP11: Bool
    private var stage = Stage.blank
    /// The status of `start`; 0 before it.
    public private(set) var status = 0
    private(set) var keepsAlive: Bool

    init(output: ByteBuffer, date: DateHeader, isHead: Bool, isHTTP11: Bool, keepsAlive: Bool) {
        self.output = output
        self.date = date
        self.mark = output.count
        self.isHead = isHead
        self.isHTTP11 = isHTTP11
        self.keepsAlive = keepsAlive
    }

    var isFinished: Bool { stage == .finished }

    /// How the content comes that is sent after the head; nil for an answer that is whole.
    var stream: ContentStream? {
        guard stage == .streaming else { return nil }
        return isHTTP11 ? .chunked : .untilClose
    }

    /// Begins the answer with its status, 200 to 599.
    public mutating func start(_ status: Int) {
        precondition((200...599).contains(status), "a final status has three digits")
        rewind()
        self.status = status
        stage = .started
        StatusLine.append(status, to: output)
        date.append(to: output)
    }

    /// Adds a field whose value is a constant.
    public mutating func header(_ name: StaticString, _ value: StaticString) {
        startField(name)
        output.append(value)
        output.append("\r\n")
    }

    /// Adds a field. CR, LF and NUL of the value are left out, so that a value never becomes another field.
    public mutating func header(_ name: StaticString, bytes: UnsafeRawBufferPointer) {
        startField(name)
        unsafe appendWithoutControls(bytes)
        output.append("\r\n")
    }

    /// Adds a field whose value is a decimal number.
    public mutating func header(_ name: StaticString, integer: Int) {
        startField(name)
        output.append(decimal: integer)
        output.append("\r\n")
    }

    /// Ends the answer. `body` is copied.
    ///
    /// To HEAD only its length is sent; with 204 and 304 neither body nor length (RFC 9110 §8.6, §15.3.5, §15.4.5).
    public mutating func finish(body: UnsafeRawBufferPointer) {
        precondition(stage == .started, "an answer is started once and finished once")
        stage = .finished
        let isBodiless = status == 204 || status == 304
        if !isBodiless {
            output.append("Content-Length: ")
            output.append(decimal: body.count)
            output.append("\r\n")
        }
        if !keepsAlive {
            output.append("Connection: close\r\n\r\n")
        } else if !isHTTP11 {
            output.append("Connection: keep-alive\r\n\r\n")
        } else {
            output.append("\r\n")
        }
        if !isBodiless && !isHead { unsafe output.append(body) }
    }

    /// Ends the answer without a body.
    public mutating func finish() {
        unsafe finish(body: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// Ends the head of an answer whose content follows through `Replies.send`, and ends with `Replies.end`. The
    /// connection closes after it. Only for a deferred request that is no HEAD.
    public mutating func finishHead() {
        precondition(stage == .started, "an answer is started once and finished once")
        stage = .streaming
        keepsAlive = false
        if isHTTP11 { output.append("Transfer-Encoding: chunked\r\n") }
        output.append("Connection: close\r\n\r\n")
    }

    /// Closes the connection after this answer, and tells the client so. To be called before `finish`.
    public mutating func closeAfterwards() {
        precondition(stage != .finished, "the head of the answer is already written")
        keepsAlive = false
    }

    /// Throws away all of this response.
    mutating func rewind() {
        output.truncate(to: mark)
        stage = .blank
    }

    private func appendWithoutControls(_ bytes: UnsafeRawBufferPointer) {
        var start = 0
        for index in 0..<bytes.count {
            let byte = unsafe bytes[index]
            if byte == 0x0D || byte == 0x0A || byte == 0x00 {
                unsafe output.append(UnsafeRawBufferPointer(rebasing: bytes[start..<index]))
                start = index + 1
            }
        }
        unsafe output.append(UnsafeRawBufferPointer(rebasing: bytes[start...]))
    }

    private func startField(_ name: StaticString) {
        precondition(stage == .started, "a field belongs between start and finish")
        output.append(name)
        output.append(": ")
    }
}
