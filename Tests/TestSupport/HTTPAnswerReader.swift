/// Why there is no answer.
public enum HTTPFault: Error, Sendable, Equatable {
    case cannotConnect(String)
    case timedOut(seconds: Double)
    /// The other side ended the connection before the answer was complete. `receivedBytes` is 0 when there was none at all.
    case closedEarly(receivedBytes: Int)
    case malformed(String)
}

/// Collects the bytes of one answer (RFC 9112) until it is complete.
struct HTTPAnswerReader {
    private enum Framing {
        case none
        case length(Int)
        case chunked
        case untilClose
    }

    private let method: String
    private var bytes: [UInt8] = []

    /// Whether the connection may carry another request after this answer.
    private(set) var keepsConnection = false

    init(method: String) {
        self.method = method
    }

    var receivedBytes: Int { bytes.count }

    mutating func append(_ more: some Sequence<UInt8>) {
        bytes.append(contentsOf: more)
    }

    /// The answer, or nil while more bytes are needed. `ended`: no more will come.
    mutating func answer(ended: Bool) throws(HTTPFault) -> HTTPAnswer? {
        while true {
            guard let (status, version, headers, bodyStart) = try head() else {
                if ended { throw .closedEarly(receivedBytes: bytes.count) }
                return nil
            }
            // An interim answer (100, 103) is followed by the real one.
            if (100..<200).contains(status) {
                bytes.removeSubrange(..<bodyStart)
                continue
            }
            return try whole(status: status, version: version, headers: headers, bodyStart: bodyStart, ended: ended)
        }
    }

    private mutating func whole(
        status: Int,
        version: Substring,
        headers: [HTTPHeader],
        bodyStart: Int,
        ended: Bool
    ) throws(HTTPFault) -> HTTPAnswer? {
        let head = HTTPAnswer(status: status, headers: headers, body: [])
        let framing = try framing(of: head)
        let read: (body: [UInt8], end: Int)?
        switch framing {
        case .none: read = ([], bodyStart)
        case .length(let count):
            let end = bodyStart + count
            read = bytes.count >= end ? (Array(bytes[bodyStart..<end]), end) : nil
        case .chunked: read = try chunks(from: bodyStart)
        case .untilClose: read = ended ? (Array(bytes[bodyStart...]), bytes.count) : nil
        }
        guard let read else {
            if ended { throw .closedEarly(receivedBytes: bytes.count) }
            return nil
        }
        guard read.end == bytes.count else {
            throw .malformed("\(bytes.count - read.end) bytes after the end of an answer with status \(status)")
        }
        let connection = head.header("Connection")?.lowercased() ?? ""
        if case .untilClose = framing {
            keepsConnection = false
        } else {
            keepsConnection = version == "HTTP/1.1" && !connection.contains("close")
        }
        return HTTPAnswer(status: status, headers: headers, body: read.body)
    }

    private func head() throws(HTTPFault) -> (Int, Substring, [HTTPHeader], Int)? {
        guard let end = firstRange(of: "\r\n\r\n", from: 0) else { return nil }
        let lines = split(String(decoding: bytes[..<end], as: UTF8.self))
        let parts = lines[0].split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0] == "HTTP/1.1" || parts[0] == "HTTP/1.0", parts[1].utf8.count == 3,
            let status = Int(parts[1])
        else { throw .malformed("no status line: \(lines[0])") }
        var headers: [HTTPHeader] = []
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
                throw .malformed("no header: \(line)")
            }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            headers.append(HTTPHeader(String(line[..<colon]), String(value)))
        }
        return (status, parts[0], headers, end + 4)
    }

    /// RFC 9112, section 6.3.
    private func framing(of head: HTTPAnswer) throws(HTTPFault) -> Framing {
        if method == "HEAD" || head.status == 204 || head.status == 304 { return .none }
        if let coding = head.header("Transfer-Encoding") {
            guard coding.lowercased() == "chunked" else { throw .malformed("Transfer-Encoding: \(coding)") }
            return .chunked
        }
        guard let length = head.header("Content-Length") else { return .untilClose }
        guard let count = Int(length), count >= 0 else { throw .malformed("Content-Length: \(length)") }
        return .length(count)
    }

    private func chunks(from start: Int) throws(HTTPFault) -> (body: [UInt8], end: Int)? {
        var body: [UInt8] = []
        var place = start
        while let lineEnd = firstRange(of: "\r\n", from: place) {
            let line = String(decoding: bytes[place..<lineEnd], as: UTF8.self)
            guard let size = Int(line.prefix { $0 != ";" }, radix: 16), size >= 0 else {
                throw .malformed("no size of a chunk: \(line)")
            }
            let data = lineEnd + 2
            if size == 0 {
                return bytes.count >= data + 2 ? (body, data + 2) : nil
            }
            guard bytes.count >= data + size + 2 else { return nil }
            body.append(contentsOf: bytes[data..<data + size])
            place = data + size + 2
        }
        return nil
    }

    private func firstRange(of text: String, from start: Int) -> Int? {
        let wanted = Array(text.utf8)
        guard bytes.count >= start + wanted.count else { return nil }
        return (start...bytes.count - wanted.count).first { bytes[$0..<$0 + wanted.count].elementsEqual(wanted) }
    }

    /// By CR LF, which Swift takes for one character.
    private func split(_ text: String) -> [Substring] {
        text.split(separator: "\r\n", omittingEmptySubsequences: false)
    }
}
