internal import Glibc

/// Finds the requests of one connection in its bytes, however they are cut into pieces.
///
/// A value without I/O or clock. It looks at every byte once: the head is searched for its end as it comes, parsed when
/// it is whole, and parsed a second time when its content had to be waited for, which is cheaper than keeping it.
struct RequestReader {
    private enum Stage {
        case head
        case fixedBody(headCount: Int, bodyCount: Int)
        case chunkedBody(headCount: Int)
    }

    /// Where a whole request lies in the input.
    struct Layout: Equatable {
        let body: Range<Int>
        /// Bytes from the request's first to the next request's first.
        let consumed: Int
    }

    enum Outcome: Equatable {
        case needMore
        /// The client waits for `100 Continue` before it sends the content.
        case sendContinue
        /// A request is whole, and `head` describes it. The reader stands at the next request's beginning.
        case request(Layout)
        case reject(Rejection)
    }

    /// Empty lines tolerated before a request line: RFC 9112 §2.2 asks for one at least; some clients end a body with
    /// CRLF.
    private static let emptyLinesMax = 2
    /// Longer than any registered method ("UPDATEREDIRECTREF"), shorter than a mistake.
    private static let methodBytesMax = 32

    private var stage = Stage.head
    private var emptyLines = 0
    /// The head is searched up to here; every line that begins before `lineStart` ends as it should.
    private var scanned = 0
    private var lineStart = 0
    private var chunks = ChunkedDecoder()
    /// Whether the request being read is HEAD, so that a refusal has no body either. False until its head is known.
    private(set) var isHead = false

    /// Whether the head is known and its content is being waited for.
    var isInBody: Bool {
        if case .head = stage { return false }
        return true
    }

    /// Goes on with all of `input`'s bytes. After `request` the caller consumes `consumed` bytes.
    mutating func advance(_ input: ByteBuffer, limits: ServerLimits, head: inout RequestHead) -> Outcome {
        do throws(Rejection) {
            return try advanceOrThrow(input, limits, &head)
        } catch {
            return .reject(error)
        }
    }

    private mutating func advanceOrThrow(
        _ input: ByteBuffer,
        _ limits: ServerLimits,
        _ head: inout RequestHead
    ) throws(Rejection) -> Outcome {
        var isHeadParsed = false
        if case .head = stage {
            guard let headCount = try findHeadEnd(input, limits) else { return .needMore }
            try parseHead(input, headCount, limits, &head)
            isHeadParsed = true
            isHead = head.method == .head
            switch head.framing {
            case .length(let bodyCount):
                if bodyCount > limits.bodyBytesMax { throw .bodyTooLarge }
                stage = .fixedBody(headCount: headCount, bodyCount: bodyCount)
                if head.expectsContinue && bodyCount > 0 && input.count == headCount { return .sendContinue }
            case .chunked:
                stage = .chunkedBody(headCount: headCount)
                if head.expectsContinue && input.count == headCount { return .sendContinue }
            }
        }
        guard let layout = try findBodyEnd(input, limits) else { return .needMore }
        if !isHeadParsed { try parseHead(input, layout.body.lowerBound, limits, &head) }
        self = RequestReader()
        return .request(layout)
    }

    private func parseHead(
        _ input: ByteBuffer,
        _ count: Int,
        _ limits: ServerLimits,
        _ head: inout RequestHead
    ) throws(Rejection) {
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: input.readable[..<count]).assumingMemoryBound(
            to: UInt8.self
        )
        try unsafe HeadParser.parse(bytes.span, limits: limits, into: &head)
    }

    // MARK: The end of the head

    /// The head's length with its empty line, nil when that has not come yet.
    ///
    /// What is refused depends on the bytes alone, not on how they were cut: each check looks at a prefix of fixed
    /// length.
    private mutating func findHeadEnd(_ input: ByteBuffer, _ limits: ServerLimits) throws(Rejection) -> Int? {
        if scanned == 0, try !skipEmptyLines(input) { return nil }
        let bytes = unsafe input.readable
        let requestLineMax = Self.methodBytesMax + limits.targetBytesMax + " HTTP/1.1\r\n".utf8.count
        while true {
            let feed = unsafe Self.lineFeed(in: bytes, from: scanned)
            let end = feed.map { $0 &+ 1 } ?? bytes.count
            if lineStart == 0 && end > requestLineMax { throw unsafe Self.overlongRequestLine(bytes) }
            if end > limits.headBytesMax { throw lineStart == 0 ? .targetTooLong : .headTooLarge }
            scanned = end
            guard let feed else { return nil }
            guard feed > 0, unsafe bytes[feed &- 1] == 0x0D else { throw .bareControl }
            let isEmpty = feed &- lineStart == 1
            lineStart = end
            if isEmpty { return end }
        }
    }

    /// Consumes empty lines before the request line; false when nothing else is there yet.
    private mutating func skipEmptyLines(_ input: ByteBuffer) throws(Rejection) -> Bool {
        while true {
            let bytes = unsafe input.readable
            guard let first = unsafe bytes.first else { return false }
            // What begins like no method (a TLS handshake, a bare LF) is refused without waiting for a line's end.
            guard first == 0x0D else {
                if !ByteSet.token.contains(first) { throw first == 0x0A ? .bareControl : .malformedRequestLine }
                return true
            }
            guard bytes.count > 1 else { return false }
            guard unsafe bytes[1] == 0x0A else { throw .bareControl }
            emptyLines &+= 1
            if emptyLines > Self.emptyLinesMax { throw .malformedRequestLine }
            input.consume(2)
        }
    }

    private static func lineFeed(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = bytes.baseAddress, start < bytes.count else { return nil }
        guard let found = unsafe memchr(base + start, 0x0A, bytes.count &- start) else { return nil }
        return unsafe UnsafeRawPointer(found) - base
    }

    /// A line without a plausible method is malformed, any other too long line has a too long target.
    private static func overlongRequestLine(_ bytes: UnsafeRawBufferPointer) -> Rejection {
        for index in 0...methodBytesMax where unsafe bytes[index] == 0x20 { return .targetTooLong }
        return .malformedRequestLine
    }

    // MARK: The end of the content

    private mutating func findBodyEnd(_ input: ByteBuffer, _ limits: ServerLimits) throws(Rejection) -> Layout? {
        switch stage {
        case .head:
            return nil
        case .fixedBody(let headCount, let bodyCount):
            let end = headCount &+ bodyCount
            return input.count >= end ? Layout(body: headCount..<end, consumed: end) : nil
        case .chunkedBody(let headCount):
            let coded = unsafe UnsafeMutableRawBufferPointer(rebasing: input.readableInPlace[headCount...])
            switch unsafe chunks.decode(coded, limits: limits) {
            case .needMore:
                input.truncate(to: headCount &+ chunks.bodyCount)
                return nil
            case .complete(let next):
                return Layout(body: headCount..<(headCount &+ chunks.bodyCount), consumed: headCount &+ next)
            case .reject(let rejection):
                throw rejection
            }
        }
    }
}
