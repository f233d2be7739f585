internal import Testing

/// A request of which two servers could think differently where it ends, and the one right answer to it.
///
/// What would be read as a request of its own by whoever ends it too early asks for the user `smuggled`.
struct AmbiguousRequest: Sendable, CustomTestStringConvertible {
    let name: String
    /// Where the answer is laid down: a section of RFC 9112, or of RFC 9110.
    let rule: String
    let bytes: [UInt8]
    /// The statuses that the gateway answers with, in order.
    let answers: [Int]
    /// Whether the connection ends after them, so that nothing further is read as a request.
    let ends: Bool

    var testDescription: String { name }

    init(_ name: String, _ rule: String, _ answers: [Int], ends: Bool, _ bytes: [UInt8]) {
        self.name = name
        self.rule = rule
        self.answers = answers
        self.ends = ends
        self.bytes = bytes
    }

    static let all = AmbiguousRequests.all

    /// A read of a user's answer, which says whose it is.
    static func read(_ user: String, _ more: String = "") -> String {
        "GET /v1/users/\(user)/entitlement HTTP/1.1\r\nHost: a\r\n"
            + "Authorization: Bearer \(RunningGateway.readKey)\r\n\(more)\r\n"
    }
}

/// The table.
private enum AmbiguousRequests {
    static let all =
        lengths + codings + lineEnds + fields + hosts + requestLines + targets + sizes + chunks + trailers + served
        + servedChunks

    /// What a reader that ends the request at once would take for the next one.
    private static let smuggled = AmbiguousRequest.read("smuggled")
    /// The same in one chunk, with the end of the chunks.
    private static let smuggledChunk =
        String(smuggled.utf8.count, radix: 16) + "\r\n" + smuggled + "\r\n0\r\n\r\n"

    // MARK: Ways to write a row

    private static func refused(_ name: String, _ rule: String, _ status: Int, _ text: String) -> AmbiguousRequest {
        AmbiguousRequest(name, rule, [status], ends: true, Array(text.utf8))
    }

    /// Fields of a POST, before content that is a request by itself.
    private static func head(
        _ name: String,
        _ rule: String,
        _ status: Int,
        _ fields: String,
        content: String = smuggled
    ) -> AmbiguousRequest {
        refused(name, rule, status, "POST /healthz HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n\(content)")
    }

    private static func line(_ name: String, _ rule: String, _ status: Int, _ line: String) -> AmbiguousRequest {
        refused(name, rule, status, "\(line)\r\nHost: a\r\n\r\n\(smuggled)")
    }

    private static func chunk(_ name: String, _ status: Int, _ content: String) -> AmbiguousRequest {
        head(name, "9112 7.1", status, "Transfer-Encoding: chunked", content: content + smuggled)
    }

    /// Is answered, and the connection goes on.
    private static func served(
        _ name: String,
        _ rule: String,
        _ statuses: Int...,
        text: String
    ) -> AmbiguousRequest {
        AmbiguousRequest(name, rule, statuses, ends: false, Array(text.utf8))
    }

    private static func coded(_ name: String, _ rule: String, _ content: String) -> AmbiguousRequest {
        served(
            name,
            rule,
            405,
            text: "POST /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(content)"
        )
    }

    // MARK: Refused

    private static let lengths = [
        head(
            "a length that covers all, and chunks that end at once",
            "9112 6.1",
            400,
            "Content-Length: \(smuggled.utf8.count + 5)\r\nTransfer-Encoding: chunked",
            content: "0\r\n\r\n" + smuggled
        ),
        head(
            "chunks that cover all, and a length that ends early",
            "9112 6.1",
            400,
            "Transfer-Encoding: chunked\r\nContent-Length: 4",
            content: smuggledChunk
        ),
        head("a length of nothing, and chunks", "9112 6.1", 400, "Content-Length: 0\r\nTransfer-Encoding: chunked"),
        head("an unknown coding, and a length", "9112 6.1", 400, "Transfer-Encoding: cow\r\nContent-Length: 0"),
        head("two different lengths", "9112 6.3", 400, "Content-Length: 0\r\nContent-Length: 10"),
        head("two equal lengths", "9112 6.3", 400, "Content-Length: 0\r\nContent-Length: 0"),
        head("two lengths in one field", "9112 6.3", 400, "Content-Length: 0, 0"),
        head("two different lengths in one field", "9112 6.3", 400, "Content-Length: 0,10"),
        head("a length with a plus", "9110 8.6", 400, "Content-Length: +0"),
        head("a length below nothing", "9110 8.6", 400, "Content-Length: -1"),
        head("a hexadecimal length", "9110 8.6", 400, "Content-Length: 0x0"),
        head("a length with a fraction", "9110 8.6", 400, "Content-Length: 0.0"),
        head("a length with a space inside", "9110 8.6", 400, "Content-Length: 1 0"),
        head("an empty length", "9110 8.6", 400, "Content-Length: "),
        head("a quoted length", "9110 8.6", 400, "Content-Length: \"0\""),
        head("a length past 64 bits, which wraps to 0", "9110 8.6", 400, "Content-Length: 18446744073709551616"),
        head("a length past 32 bits, which wraps to 0", "9110 15.5.14", 413, "Content-Length: 4294967296"),
        head("a length with a vertical tab", "9110 5.5", 400, "Content-Length: \u{b}0"),
        head("a length, space before the colon", "9112 5.1", 400, "Content-Length : 0"),
        head("a length, folded", "9112 5.2", 400, "Content-Length:\r\n 0"),
        head("a length with a parameter", "9110 8.6", 400, "Content-Length: 0;q=1"),
    ]

    private static let codings = [
        head("gzip", "9112 6.1", 501, "Transfer-Encoding: gzip"),
        head("gzip, then chunked", "9112 6.1", 501, "Transfer-Encoding: gzip, chunked"),
        head("chunked, then gzip", "9112 6.3", 400, "Transfer-Encoding: chunked, gzip"),
        head("chunked twice", "9112 7.1", 400, "Transfer-Encoding: chunked, chunked"),
        head("chunked in two fields", "9112 7.1", 400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        head("chunked, then identity", "9112 6.3", 400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
        head("identity", "9112 6.1", 501, "Transfer-Encoding: identity"),
        head("nearly chunked", "9112 6.1", 501, "Transfer-Encoding: xchunked"),
        head("chunked with a parameter", "9112 7", 501, "Transfer-Encoding: chunked;a=b"),
        head("quoted chunked", "9112 6.1", 400, "Transfer-Encoding: \"chunked\""),
        head("chunked after an empty element", "9112 6.1", 400, "Transfer-Encoding: , chunked"),
        head("chunked before an empty element", "9112 6.1", 400, "Transfer-Encoding: chunked,"),
        head("an empty coding", "9112 6.1", 400, "Transfer-Encoding: "),
        head("chunked with a vertical tab", "9110 5.5", 400, "Transfer-Encoding: \u{b}chunked"),
        head("chunked with a NUL", "9110 5.5", 400, "Transfer-Encoding: chunked\0"),
        head("chunked outside ASCII", "9112 6.1", 400, "Transfer-Encoding: chun\u{212A}ed"),
        head("a coding, space before the colon", "9112 5.1", 400, "Transfer-Encoding : chunked"),
        head("a coding, tab before the colon", "9112 5.1", 400, "Transfer-Encoding\t: chunked"),
        head("a coding, folded", "9112 5.2", 400, "Transfer-Encoding:\r\n chunked"),
        head("a coding whose name is folded", "9112 5.2", 400, "X: y\r\n Transfer-Encoding: chunked"),
        refused(
            "a coding in HTTP/1.0",
            "9112 6.1",
            400,
            "POST /healthz HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                + smuggled
        ),
    ]

    private static let lineEnds = [
        refused("LF after the request line", "9112 2.2", 400, "GET /healthz HTTP/1.1\nHost: a\r\n\r\n\(smuggled)"),
        head("LF between two fields", "9112 2.2", 400, "X: y\nTransfer-Encoding: chunked"),
        head("CR between two fields", "9112 2.2", 400, "X: y\rTransfer-Encoding: chunked"),
        head("CR CR LF after a field", "9112 2.2", 400, "X: y\r\r\nContent-Length: 0"),
        refused("LF for the empty line", "9112 2.2", 400, "GET /healthz HTTP/1.1\r\nHost: a\r\n\n\(smuggled)"),
        refused("CR for the empty line", "9112 2.2", 400, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\(smuggled)"),
        refused("LF alone first", "9112 2.2", 400, "\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n\(smuggled)"),
        refused("many empty lines first", "9112 2.2", 400, "\r\n\r\n\r\n\r\n" + smuggled),
        refused("CR in the target", "9112 3", 400, "GET /healthz\r HTTP/1.1\r\nHost: a\r\n\r\n\(smuggled)"),
    ]

    private static let fields = [
        head("a fold with a tab", "9112 5.2", 400, "X: y\r\n\tContent-Length: 0"),
        refused(
            "a fold before the first field",
            "9112 2.2",
            400,
            "GET /healthz HTTP/1.1\r\n Host: a\r\n\r\n\(smuggled)"
        ),
        head("a line that is white space", "9112 5.2", 400, "X: y\r\n "),
        head("no colon", "9112 5", 400, "Transfer-Encoding chunked"),
        head("an empty name", "9110 5.1", 400, ": chunked"),
        head("NUL in a name", "9110 5.1", 400, "Transfer\0-Encoding: chunked"),
        head("NUL in a value", "9110 5.5", 400, "X: \0\r\nContent-Length: 0"),
        head("a control in a value", "9110 5.5", 400, "X: \u{8}y\r\nContent-Length: 0"),
        head("a name with a comma", "9110 5.1", 400, "Content-Length,X: 0"),
        head("a name outside ASCII", "9110 5.1", 400, "Cont\u{E9}nt-Length: 0"),
        head("an expectation that nobody knows", "9110 10.1.1", 417, "Expect: the-unexpected\r\nContent-Length: 0"),
        head("a doubled expectation", "9110 10.1.1", 417, "Expect: 100-continue, 100-continue\r\nContent-Length: 0"),
    ]

    private static let hosts = [
        refused("no host", "9112 3.2", 400, "GET /healthz HTTP/1.1\r\n\r\n\(smuggled)"),
        refused("two hosts", "9112 3.2", 400, "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n\(smuggled)"),
        refused("one host twice", "9112 3.2", 400, "GET /healthz HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n\(smuggled)"),
        refused("a host with a path", "9112 3.2", 400, "GET /healthz HTTP/1.1\r\nHost: a/b\r\n\r\n\(smuggled)"),
        refused("a host with a user", "9110 7.2", 400, "GET /healthz HTTP/1.1\r\nHost: u@a\r\n\r\n\(smuggled)"),
        refused("a host with a space", "9112 3.2", 400, "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n\(smuggled)"),
        refused("two hosts in one field", "9112 3.2", 400, "GET /healthz HTTP/1.1\r\nHost: a, b/\r\n\r\n\(smuggled)"),
        refused("no host, but an absolute target", "9112 3.2", 400, "GET http://a/healthz HTTP/1.1\r\n\r\n\(smuggled)"),
    ]

    private static let requestLines = [
        line("HTTP/0.9 without a version", "9112 3", 400, "GET /healthz"),
        line("HTTP/0.9", "9110 15.6.6", 505, "GET /healthz HTTP/0.9"),
        line("HTTP/1.2", "9110 15.6.6", 505, "GET /healthz HTTP/1.2"),
        line("HTTP/2.0", "9110 15.6.6", 505, "GET /healthz HTTP/2.0"),
        line("HTTP/1.10", "9112 2.3", 400, "GET /healthz HTTP/1.10"),
        line("a lower-case version", "9112 2.3", 400, "GET /healthz http/1.1"),
        line("a space after the version", "9112 3", 400, "GET /healthz HTTP/1.1 "),
        line("two spaces", "9112 3", 400, "GET  /healthz HTTP/1.1"),
        line("a tab for a space", "9112 3", 400, "GET\t/healthz HTTP/1.1"),
        line("two targets", "9112 3", 400, "GET /healthz /readyz HTTP/1.1"),
        line("a space first", "9112 3", 400, " GET /healthz HTTP/1.1"),
        line("a request line in a request line", "9112 3", 400, "GET /healthz HTTP/1.1 GET / HTTP/1.1"),
        line("a NUL in the method", "9110 9.1", 400, "GET\0 /healthz HTTP/1.1"),
        line("a method with a colon", "9110 9.1", 400, "GET: /healthz HTTP/1.1"),
        refused("the beginning of HTTP/2", "9113 3.4", 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\(smuggled)"),
    ]

    private static let targets = [
        line("a relative target", "9112 3.2", 400, "GET healthz HTTP/1.1"),
        line("an authority to connect to", "9112 3.2.3", 400, "CONNECT a:443 HTTP/1.1"),
        line("a star for GET", "9112 3.2.4", 400, "GET * HTTP/1.1"),
        line("an absolute target without a host", "9110 4.2.1", 400, "GET http:///healthz HTTP/1.1"),
        line("an absolute target with a user", "9110 4.2.4", 400, "GET http://u@a/healthz HTTP/1.1"),
        line("an absolute target of another scheme", "9112 3.2.2", 400, "GET ftp://a/healthz HTTP/1.1"),
        line("a fragment", "9112 3.2", 400, "GET /healthz#x HTTP/1.1"),
        line("a percent sign without digits", "9112 3.2", 400, "GET /healthz%0 HTTP/1.1"),
        line("a target outside ASCII", "9112 3.2", 400, "GET /healthz\u{E9} HTTP/1.1"),
        line("a NUL in the target", "9112 3.2", 400, "GET /healthz\0 HTTP/1.1"),
    ]

    private static let sizes = [
        line("a target past 8 KiB", "9110 15.5.15", 414, "GET /\(String(repeating: "a", count: 8_200)) HTTP/1.1"),
        head("fields past 16 KiB", "9110 5.4", 431, "X: \(String(repeating: "a", count: 16_400))\r\nContent-Length: 0"),
        head(
            "more than a hundred fields",
            "9110 5.4",
            431,
            String(repeating: "X: y\r\n", count: 100) + "Content-Length: 0"
        ),
        head("content past 1 MiB", "9110 15.5.14", 413, "Content-Length: 1048577"),
    ]

    private static let chunks = [
        chunk("a size in no digits", 400, "\r\n\r\n"),
        chunk("a size in letters", 400, "zz\r\n\r\n0\r\n\r\n"),
        chunk("a size with a prefix", 400, "0x0\r\n\r\n"),
        chunk("a size with a plus", 400, "+0\r\n\r\n"),
        chunk("a size below nothing", 400, "-1\r\n\r\n0\r\n\r\n"),
        chunk("a size with a space first", 400, " 0\r\n\r\n"),
        chunk("a size with an underscore", 400, "1_0\r\nx\r\n0\r\n\r\n"),
        chunk("a size past 64 bits, which wraps to 0", 400, "10000000000000000\r\n\r\n"),
        chunk("a size of many zeros", 400, "0000000000000000\r\n\r\n"),
        chunk("a size past every limit", 413, "ffffffff\r\n"),
        chunk("a size ended by LF", 400, "0\n\n"),
        chunk("a size ended by CR", 400, "0\r\r\n"),
        chunk("LF in an extension", 400, "1;a=b\n\r\nx\r\n0\r\n\r\n"),
        chunk("CR in an extension", 400, "1;a=b\rc\r\nx\r\n0\r\n\r\n"),
        chunk("a line's end in a quoted extension", 400, "1;a=\"\r\nx\"\r\nx\r\n0\r\n\r\n"),
        chunk("a NUL in an extension", 400, "1;\0\r\nx\r\n0\r\n\r\n"),
        chunk("an extension longer than a head", 400, "1;\(String(repeating: "a", count: 17_000))\r\nx\r\n0\r\n\r\n"),
        chunk("more data than its size", 400, "1\r\nxy\r\n0\r\n\r\n"),
        chunk("data ended by LF", 400, "1\r\nx\n0\r\n\r\n"),
        chunk("data ended by nothing", 400, "1\r\nx0\r\n\r\n"),
    ]

    private static let trailers = [
        chunk("a trailer without a colon", 400, "0\r\nnonsense\r\n\r\n"),
        chunk("a trailer with a space before its colon", 400, "0\r\nX : y\r\n\r\n"),
        chunk("a folded trailer", 400, "0\r\nX: y\r\n z\r\n\r\n"),
        chunk("a trailer ended by LF", 400, "0\r\nX: y\n\r\n"),
        chunk("trailers ended by LF", 400, "0\r\n\n"),
        chunk("trailers ended by CR", 400, "0\r\n\r\r\n"),
        chunk("more than a hundred trailers", 431, "0\r\n\(String(repeating: "X: y\r\n", count: 101))\r\n"),
    ]

    // MARK: Served

    private static let served = [
        served("an empty line first", "9112 2.2", 200, text: "\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"),
        served(
            "an empty line after the content",
            "9112 2.2",
            405,
            text: "POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx\r\n"
        ),
        served(
            "content of GET",
            "9110 9.3.1",
            200,
            text: "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: \(smuggled.utf8.count)\r\n\r\n\(smuggled)"
        ),
        served(
            "chunks of GET",
            "9110 9.3.1",
            200,
            text: "GET /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(smuggledChunk)"
        ),
        served(
            "content of DELETE",
            "9110 9.3.5",
            405,
            text: "DELETE /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: \(smuggled.utf8.count)\r\n\r\n\(smuggled)"
        ),
        served(
            "content of a method that nobody knows",
            "9110 9.1",
            405,
            text: "SHOUT /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: \(smuggled.utf8.count)\r\n\r\n\(smuggled)"
        ),
        served("a method in lower case", "9110 9.1", 405, text: "get /healthz HTTP/1.1\r\nHost: a\r\n\r\n"),
        served(
            "a length with zeros before it",
            "9110 8.6",
            405,
            text: "POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 0005\r\n\r\nhello"
        ),
        served(
            "a length that is nearly named so",
            "9110 5.1",
            405,
            text: "POST /healthz HTTP/1.1\r\nHost: a\r\nContent_Length: 5\r\nContent-Length: 0\r\n\r\n"
        ),
        served(
            "a coding that is nearly named so",
            "9110 5.1",
            405,
            text: "POST /healthz HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\n"
                + "Content-Length: \(smuggled.utf8.count)\r\n\r\n\(smuggled)"
        ),
        served(
            "a coding of the connection only",
            "9110 10.1.4",
            405,
            text: "POST /healthz HTTP/1.1\r\nHost: a\r\nTE: chunked\r\n"
                + "Content-Length: \(smuggled.utf8.count)\r\n\r\n\(smuggled)"
        ),
        served(
            "a connection that calls its length its own",
            "9110 7.6.1",
            405,
            text: "POST /healthz HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Content-Length\r\n"
                + "Content-Length: \(smuggled.utf8.count)\r\n\r\n\(smuggled)"
        ),
        served(
            "a connection that calls its coding its own",
            "9110 7.6.1",
            405,
            text: "POST /healthz HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Transfer-Encoding\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n\(smuggledChunk)"
        ),
        served(
            "an offer of HTTP/2",
            "9110 7.8",
            200,
            text: "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                + "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
        ),
        served(
            "an offer of a WebSocket",
            "9110 7.8",
            200,
            text: "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        ),
        served("an absolute target", "9112 3.2.2", 200, text: "GET http://a/healthz HTTP/1.1\r\nHost: a\r\n\r\n"),
        served(
            "an absolute target of another host",
            "9112 3.2.2",
            200,
            text: "GET http://b/healthz HTTP/1.1\r\nHost: a\r\n\r\n"
        ),
        served("an empty host", "9112 3.2", 200, text: "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n"),
        served("white space round a value", "9112 5", 200, text: "GET /healthz HTTP/1.1\r\nHost: \t a \t \r\n\r\n"),
        served(
            "an expectation whose content is there already",
            "9110 10.1.1",
            405,
            text: "POST /healthz HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                + "Content-Length: \(smuggled.utf8.count)\r\n\r\n\(smuggled)"
        ),
        served(
            "two requests in one piece",
            "9112 9.3.2",
            200,
            200,
            text: "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
        ),
        AmbiguousRequest(
            "HTTP/1.0, which does not go on",
            "9112 9.3",
            [200],
            ends: true,
            Array("GET /healthz HTTP/1.0\r\n\r\n\(smuggled)".utf8)
        ),
        AmbiguousRequest(
            "HTTP/1.0 with content",
            "9112 9.3",
            [405],
            ends: true,
            Array("POST /healthz HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello\(smuggled)".utf8)
        ),
        AmbiguousRequest(
            "the end of the connection asked for",
            "9112 9.6",
            [200],
            ends: true,
            Array("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close, keep-alive\r\n\r\n\(smuggled)".utf8)
        ),
    ]

    private static let servedChunks = [
        coded("a request in a chunk", "9112 7.1", smuggledChunk),
        served(
            "chunked in capitals",
            "9112 7",
            405,
            text: "POST /healthz HTTP/1.1\r\nHost: a\r\ntransfer-encoding: CHUNKED\r\n\r\n\(smuggledChunk)"
        ),
        coded("a size in capitals with zeros before it", "9112 7.1", "00A\r\n0123456789\r\n00\r\n\r\n"),
        coded("an extension", "9112 7.1.1", "1;a=b;c=\"d\"\r\nx\r\n0;e\r\n\r\n"),
        coded("white space before an extension", "9112 7.1.1", "1 ;a=b\r\nx\r\n0\r\n\r\n"),
        coded("a trailer that is a length", "9112 7.1.2", "0\r\nContent-Length: 500\r\n\r\n"),
        coded("a trailer that is a coding", "9112 7.1.2", "0\r\nTransfer-Encoding: gzip\r\n\r\n"),
        coded("a trailer that is a host", "9112 7.1.2", "0\r\nHost: b\r\nHost: c\r\n\r\n"),
        coded("a trailer that is a request", "9112 7.1.2", "0\r\nGET: /v1/users/smuggled/entitlement\r\n\r\n"),
    ]
}
