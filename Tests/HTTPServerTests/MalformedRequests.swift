import Testing

@testable import HTTPServer

/// A request that must be refused, and how.
struct MalformedRequest: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let status: Int
    let limits: ServerLimits

    var testDescription: String { name }

    init(_ name: String, _ status: Int, _ text: String, limits: ServerLimits = tableLimits) {
        self.init(name, status, Array(text.utf8), limits: limits)
    }

    init(_ name: String, _ status: Int, _ bytes: [UInt8], limits: ServerLimits = tableLimits) {
        self.name = name
        self.status = status
        self.bytes = bytes
        self.limits = limits
    }

    /// Small, so that every cut of a too large request can be tried.
    static let tableLimits = ServerLimits(headBytesMax: 400, targetBytesMax: 100, headersMax: 10, bodyBytesMax: 64)

    private static func head(_ name: String, _ status: Int, _ fields: String) -> MalformedRequest {
        MalformedRequest(name, status, "POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\nhello")
    }

    private static func line(_ name: String, _ status: Int, _ line: String) -> MalformedRequest {
        MalformedRequest(name, status, "\(line)\r\nHost: a\r\n\r\n")
    }

    private static func chunks(_ name: String, _ status: Int, _ content: String) -> MalformedRequest {
        MalformedRequest(name, status, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(content)")
    }

    static let all =
        lengths + codings + lines + fields + hosts + requestLines + targets + limits + chunked + expectations

    private static let lengths = [
        head("length and coding", 400, "Content-Length: 5\r\nTransfer-Encoding: chunked"),
        head("coding and length", 400, "Transfer-Encoding: chunked\r\nContent-Length: 5"),
        head("malformed coding and length", 400, "Transfer-Encoding: x\r\nContent-Length: 5"),
        head("equal lengths", 400, "Content-Length: 5\r\nContent-Length: 5"),
        head("different lengths", 400, "Content-Length: 5\r\ncontent-length: 6"),
        head("length with plus", 400, "Content-Length: +5"),
        head("length with minus", 400, "Content-Length: -5"),
        head("length with a space inside", 400, "Content-Length: 5 5"),
        head("length list", 400, "Content-Length: 5,5"),
        head("length list with a space", 400, "Content-Length: 5, 5"),
        head("empty length", 400, "Content-Length:"),
        head("hexadecimal length", 400, "Content-Length: 0x5"),
        head("length with a letter", 400, "Content-Length: 5a"),
        head("length with a fraction", 400, "Content-Length: 5.0"),
        head("length past 64 bits", 400, "Content-Length: 18446744073709551621"),
        head("length of 40 digits", 400, "Content-Length: 0000000000000000000000000000000000000005"),
        head("length with a vertical tab", 400, "Content-Length: \u{b}5"),
        head("length in other digits", 400, "Content-Length: ５"),
        head("length over the limit", 413, "Content-Length: 65"),
        head("length far over the limit", 413, "Content-Length: 999999999999999999"),
    ]

    private static let codings = [
        head("gzip", 501, "Transfer-Encoding: gzip"),
        head("gzip, chunked", 501, "Transfer-Encoding: gzip, chunked"),
        head("identity", 501, "Transfer-Encoding: identity"),
        head("xchunked", 501, "Transfer-Encoding: xchunked"),
        head("chunked with a parameter", 501, "Transfer-Encoding: chunked;q=1"),
        head("two fields, chunked last", 501, "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked"),
        head("chunked, gzip", 400, "Transfer-Encoding: chunked, gzip"),
        head("two fields, chunked first", 400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip"),
        head("chunked twice", 400, "Transfer-Encoding: chunked, chunked"),
        head("two chunked fields", 400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        head("empty coding", 400, "Transfer-Encoding:"),
        head("coding list with an empty front", 400, "Transfer-Encoding: , chunked"),
        head("coding list with an empty end", 400, "Transfer-Encoding: chunked,"),
        head("quoted coding", 400, "Transfer-Encoding: \"chunked\""),
        head("coding with a space inside", 400, "Transfer-Encoding: chun ked"),
        head("coding with a form feed", 400, "Transfer-Encoding: \u{c}chunked"),
        MalformedRequest("coding in HTTP/1.0", 400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        head("coding, space before the colon", 400, "Transfer-Encoding : chunked"),
        head("coding, tab before the colon", 400, "Transfer-Encoding\t: chunked"),
        head("coding, NUL in the name", 400, "Transfer\0-Encoding: chunked"),
        head("coding, folded", 400, "Transfer-Encoding:\r\n chunked"),
    ]

    private static let lines = [
        MalformedRequest("LF after the request line", 400, "GET / HTTP/1.1\nHost: a\r\n\r\n"),
        MalformedRequest("LF after a field", 400, "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n"),
        MalformedRequest("LF for the empty line", 400, "GET / HTTP/1.1\r\nHost: a\r\n\n"),
        MalformedRequest("LF alone first", 400, "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("CR alone first", 400, "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("CR in the target", 400, "GET /a\rb HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("CR in a value", 400, "GET / HTTP/1.1\r\nHost: a\r\nX: y\rz\r\n\r\n"),
        MalformedRequest("CR for a field's end", 400, "GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n"),
        MalformedRequest("CR CR LF", 400, "GET / HTTP/1.1\r\nHost: a\r\r\nX: y\r\n\r\n"),
        MalformedRequest("CR CR LF at the end", 400, "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n\r\n"),
        MalformedRequest("three empty lines first", 400, "\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        MalformedRequest("a TLS handshake", 400, [0x16, 0x03, 0x01, 0x02, 0x00, 0x01]),
    ]

    private static let fields = [
        head("fold with a space", 400, "X: y\r\n z"),
        head("fold with a tab", 400, "X: y\r\n\tz"),
        MalformedRequest("fold of the first field", 400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
        head("fold of nothing", 400, "X: y\r\n "),
        head("empty name", 400, ": y"),
        head("no colon", 400, "nonsense"),
        head("space in a name", 400, "X Y: z"),
        head("space before the colon", 400, "X : y"),
        head("letter outside ASCII in a name", 400, "Xé: y"),
        head("parenthesis in a name", 400, "X(1): y"),
        head("NUL in a value", 400, "X: a\0b"),
        head("DEL in a value", 400, "X: a\u{7f}b"),
        head("control in a value", 400, "X: a\u{1}b"),
        head("escape in a value", 400, "X: \u{1b}[31m"),
    ]

    private static let hosts = [
        MalformedRequest("no host", 400, "GET / HTTP/1.1\r\n\r\n"),
        MalformedRequest("no host with an absolute target", 400, "GET http://a/ HTTP/1.1\r\n\r\n"),
        MalformedRequest("two hosts", 400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
        MalformedRequest("two equal hosts", 400, "GET / HTTP/1.1\r\nHost: a\r\nhOST: a\r\n\r\n"),
        MalformedRequest("two hosts in HTTP/1.0", 400, "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"),
        MalformedRequest("host with a space", 400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
        MalformedRequest("host with a path", 400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
        MalformedRequest("host with a user", 400, "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
        MalformedRequest("host outside ASCII", 400, "GET / HTTP/1.1\r\nHost: é\r\n\r\n"),
    ]

    private static let requestLines = [
        line("HTTP/1.2", 505, "GET / HTTP/1.2"),
        line("HTTP/2.0", 505, "GET / HTTP/2.0"),
        line("HTTP/0.9", 505, "GET / HTTP/0.9"),
        MalformedRequest("HTTP/2 preface", 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        line("lower case version", 400, "GET / http/1.1"),
        line("other protocol", 400, "GET / ICAP/1.0"),
        line("version without a dot", 400, "GET / HTTP/11"),
        line("version of two digits", 400, "GET / HTTP/1.10"),
        line("version with a leading zero", 400, "GET / HTTP/01.1"),
        line("space after the version", 400, "GET / HTTP/1.1 "),
        line("two spaces before the target", 400, "GET  / HTTP/1.1"),
        line("two spaces after the target", 400, "GET /  HTTP/1.1"),
        line("tab for a space", 400, "GET\t/ HTTP/1.1"),
        line("space first", 400, " GET / HTTP/1.1"),
        line("no version", 400, "GET /"),
        line("no target", 400, "GET HTTP/1.1"),
        line("empty target", 400, "GET  HTTP/1.1"),
        line("method alone", 400, "GET"),
        line("illegal method", 400, "G@T / HTTP/1.1"),
        line("NUL in the method", 400, "GE\0T / HTTP/1.1"),
        line("too long method", 400, String(repeating: "A", count: 300)),
    ]

    private static let targets = [
        line("relative target", 400, "GET foo HTTP/1.1"),
        line("star for GET", 400, "GET * HTTP/1.1"),
        line("star with more", 400, "OPTIONS *a HTTP/1.1"),
        line("authority form", 400, "CONNECT a:443 HTTP/1.1"),
        line("absolute without authority", 400, "GET http:///x HTTP/1.1"),
        line("absolute with nothing", 400, "GET http:// HTTP/1.1"),
        line("absolute of another scheme", 400, "GET ftp://a/x HTTP/1.1"),
        line("absolute with a user", 400, "GET http://u@a/x HTTP/1.1"),
        line("target outside ASCII", 400, "GET /é HTTP/1.1"),
        line("NUL in the target", 400, "GET /\0 HTTP/1.1"),
        line("angle bracket", 400, "GET /<a HTTP/1.1"),
        line("quote", 400, "GET /\"a HTTP/1.1"),
        line("backslash", 400, "GET /a\\b HTTP/1.1"),
        line("fragment", 400, "GET /a#b HTTP/1.1"),
        line("pipe", 400, "GET /a|b HTTP/1.1"),
        line("percent without digits", 400, "GET /a%zz HTTP/1.1"),
        line("percent with one digit", 400, "GET /a%4 HTTP/1.1"),
        line("percent at the end", 400, "GET /a% HTTP/1.1"),
        line("percent in the query", 400, "GET /a?b=%g0 HTTP/1.1"),
    ]

    private static let limits = [
        line("target of 101 bytes", 414, "GET /\(String(repeating: "a", count: 100)) HTTP/1.1"),
        line("target of 300 bytes", 414, "GET /\(String(repeating: "a", count: 299)) HTTP/1.1"),
        MalformedRequest("target without an end", 414, "GET /\(String(repeating: "a", count: 1_000))"),
        MalformedRequest(
            "head of 401 bytes",
            431,
            "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 369))\r\n\r\n"
        ),
        MalformedRequest("head without an end", 431, "GET / HTTP/1.1\r\nX: \(String(repeating: "a", count: 1_000))"),
        MalformedRequest("eleven fields", 431, "GET / HTTP/1.1\r\n\(String(repeating: "Y: z\r\n", count: 11))\r\n"),
    ]

    private static let chunked = [
        chunks("size in other letters", 400, "g\r\nx\r\n0\r\n\r\n"),
        chunks("empty size", 400, "\r\nx\r\n0\r\n\r\n"),
        chunks("extension without a size", 400, ";a=b\r\n0\r\n\r\n"),
        chunks("negative size", 400, "-1\r\nx\r\n0\r\n\r\n"),
        chunks("size with plus", 400, "+1\r\nx\r\n0\r\n\r\n"),
        chunks("size with a prefix", 400, "0x1\r\nx\r\n0\r\n\r\n"),
        chunks("size with a space first", 400, " 1\r\nx\r\n0\r\n\r\n"),
        chunks("size with a space after", 400, "1 \r\nx\r\n0\r\n\r\n"),
        chunks("size with an underscore", 400, "1_0\r\nx\r\n0\r\n\r\n"),
        chunks("size ended by LF", 400, "1\nx\r\n0\r\n\r\n"),
        chunks("size ended by CR", 400, "1\rx\r\n0\r\n\r\n"),
        chunks("size of 16 digits", 400, "0000000000000001\r\nx\r\n0\r\n\r\n"),
        chunks("size past 64 bits", 400, "10000000000000001\r\nx\r\n0\r\n\r\n"),
        chunks("size over the limit", 413, "41\r\n"),
        chunks("size far over the limit", 413, "fffffffffffffff\r\n"),
        chunks("sum over the limit", 413, "40\r\n\(String(repeating: "x", count: 64))\r\n1\r\nx\r\n0\r\n\r\n"),
        chunks("no CRLF after the data", 400, "1\r\nxx\r\n0\r\n\r\n"),
        chunks("LF after the data", 400, "1\r\nx\n0\r\n\r\n"),
        chunks("CR after the data", 400, "1\r\nx\r0\r\n\r\n"),
        chunks("control in an extension", 400, "1;a=\u{1}\r\nx\r\n0\r\n\r\n"),
        chunks("LF in an extension", 400, "1;a=\nx\r\n0\r\n\r\n"),
        chunks("CR in an extension", 400, "1;a=\rb\r\nx\r\n0\r\n\r\n"),
        chunks("endless extension", 400, "1;\(String(repeating: "a", count: 500))\r\nx\r\n0\r\n\r\n"),
        chunks("endless extensions", 400, "\(String(repeating: "1;aaaaaaaaaaaaaaaa\r\nx\r\n", count: 30))0\r\n\r\n"),
        chunks("trailer without a colon", 400, "0\r\nnonsense\r\n\r\n"),
        chunks("trailer with an empty name", 400, "0\r\n: x\r\n\r\n"),
        chunks("trailer with a fold", 400, "0\r\nX: y\r\n z\r\n\r\n"),
        chunks("trailer with a control", 400, "0\r\nX: \0\r\n\r\n"),
        chunks("trailer ended by LF", 400, "0\r\nX: y\n\r\n"),
        chunks("last line ended by LF", 400, "0\r\n\n"),
        chunks("last line ended by CR", 400, "0\r\n\rX"),
        chunks("eleven trailers", 431, "0\r\n\(String(repeating: "X: y\r\n", count: 11))\r\n"),
        chunks("endless trailer", 431, "0\r\nX: \(String(repeating: "a", count: 500))\r\n\r\n"),
    ]

    private static let expectations = [
        head("unknown expectation", 417, "Expect: 200-ok\r\nContent-Length: 5"),
        head("expectation list", 417, "Expect: 100-continue, 200-ok\r\nContent-Length: 5"),
        head("two expectations", 417, "Expect: 100-continue\r\nExpect: x\r\nContent-Length: 5"),
        head("empty expectation", 417, "Expect:\r\nContent-Length: 5"),
        head("expected content over the limit", 413, "Expect: 100-continue\r\nContent-Length: 65"),
    ]
}
