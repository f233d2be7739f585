import Testing

@testable import HTTPServer

@Suite struct RequestReaderTests {
    private func request(
        _ method: Method,
        _ path: String,
        query: String = "",
        fields: [String] = ["Host=a"],
        body: String = "",
        keepsAlive: Bool = true,
        isHTTP11: Bool = true,
        name: String? = nil
    ) -> Reading {
        .request(
            ReadRequest(
                method: method,
                name: name ?? "\(method)".uppercased(),
                path: path,
                query: query,
                fields: fields,
                body: body,
                keepsAlive: keepsAlive,
                isHTTP11: isHTTP11
            )
        )
    }

    private static let wellFormed: [String] = [
        get("/"),
        get("/a/b%20c?x=1&y=%2F?z", "Accept: */*\r\nX-Empty:\r\nX-Blank:  \t \r\nX-Inner:\ta b\tc \r\n"),
        "\r\n" + get("/"), "\r\n\r\n" + get("/"),
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 005\r\n\r\nhello\r\n" + get("/next"),
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + get("/next"),
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
            + "1;a\r\nh\r\n002 ; b=\"c d\"\r\nel\r\nA\r\nlo, world!\r\n00;x\r\nX-Sum: 1\r\nY:\r\n\r\n" + get("/next"),
        "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\nGET /2 HTTP/1.0\r\nHost:\r\nConnection: Keep-Alive\r\n\r\n",
        get("/1") + get("/2") + "POST /3 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n3" + get("/4"),
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://example.com:80/x?y HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET HTTPS://[::1] HTTP/1.1\r\nHost: [::1]:8\r\n\r\n",
        "GET http://a?q HTTP/1.1\r\nHost: a\r\n\r\n",
    ]

    /// One byte at a time, and at every cut in two, a connection's bytes mean the same.
    @Test(arguments: wellFormed)
    func cutsDoNotMatter(text: String) {
        let whole = readings(of: text)
        #expect(!whole.isEmpty)
        #expect(whole.allSatisfy { if case .request = $0 { true } else { false } })
        for cut in cuts(of: Array(text.utf8)) { #expect(readings(of: cut) == whole) }
    }

    @Test func readsThePartsOfAHead() {
        #expect(
            readings(of: Self.wellFormed[1]) == [
                request(
                    .get,
                    "/a/b%20c",
                    query: "x=1&y=%2F?z",
                    fields: ["Host=a", "Accept=*/*", "X-Empty=", "X-Blank=", "X-Inner=a b\tc"]
                )
            ]
        )
    }

    @Test(arguments: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
    func knowsTheMethod(name: String) {
        guard case .request(let request) = readings(of: "\(name) / HTTP/1.1\r\nHost: a\r\n\r\n").first else {
            Issue.record("not read")
            return
        }
        #expect("\(request.method)".uppercased() == name)
    }

    @Test(arguments: ["get", "Get", "G", "GETS", "TRACE", "M-SEARCH", "UPDATEREDIRECTREF"])
    func leavesOtherMethodsToTheHandler(name: String) {
        #expect(readings(of: "\(name) / HTTP/1.1\r\nHost: a\r\n\r\n") == [request(.other, "/", name: name)])
    }

    @Test func takesTheContentOutOfItsChunks() {
        guard case .request(let first) = readings(of: Self.wellFormed[7]).first else {
            Issue.record("not read")
            return
        }
        #expect(first.body == "hello, world!")
        #expect(first.fields == ["Host=a", "Transfer-Encoding=Chunked"])
        #expect(readings(of: Self.wellFormed[7]).last == request(.get, "/next"))
    }

    @Test func skipsTheAuthorityOfAnAbsoluteTarget() {
        #expect(readings(of: Self.wellFormed[13]) == [request(.get, "/x", query: "y")])
        // An empty path stands for "/"; see `Request.path`.
        #expect(readings(of: Self.wellFormed[14]) == [request(.get, "", fields: ["Host=[::1]:8"])])
        #expect(readings(of: Self.wellFormed[15]) == [request(.get, "", query: "q")])
    }

    @Test(arguments: [
        ("1.1", "", true), ("1.1", "Connection: close\r\n", false), ("1.1", "Connection: CLOSE\r\n", false),
        ("1.1", "Connection: x, close ,y\r\n", false), ("1.1", "Connection: closed\r\n", true),
        ("1.1", "Connection: close\r\nConnection: keep-alive\r\n", false),
        ("1.1", "Connection: keep-alive, close\r\n", false), ("1.1", "Connection: upgrade\r\n", true),
        ("1.0", "", false), ("1.0", "Connection: keep-alive\r\n", true), ("1.0", "Connection: Keep-Alive\r\n", true),
        ("1.0", "Connection: keep-alive, close\r\n", false),
    ])
    func decidesWhetherTheConnectionStays(version: String, fields: String, keepsAlive: Bool) {
        guard case .request(let request) = readings(of: "GET / HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n").first
        else {
            Issue.record("not read")
            return
        }
        #expect(request.keepsAlive == keepsAlive)
    }

    @Test func asksForTheContentOnlyWhenItIsAwaited() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n"
        #expect(readings(of: head) == [.sendContinue])
        let fields = ["Host=a", "Expect=100-Continue", "Content-Length=2"]
        let read = request(.post, "/", fields: fields, body: "hi")
        #expect(readings(of: [Array(head.utf8), Array("h".utf8), Array("i".utf8)]) == [.sendContinue, read])
        #expect(readings(of: head + "hi") == [read])
        #expect(readings(of: head + "h") == [])
        let none = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n"
        #expect(readings(of: none).count == 1)
        // HTTP/1.0 knows no expectations, so even a strange one is ignored.
        for value in ["100-continue", "x"] {
            let old = "POST / HTTP/1.0\r\nExpect: \(value)\r\nContent-Length: 2\r\n\r\n"
            #expect(readings(of: old) == [])
            #expect(readings(of: old + "hi").count == 1)
        }
        let chunked = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(readings(of: chunked) == [.sendContinue])
    }

    /// tchar and nothing else; a colon ends the name.
    @Test func triesEveryByteInAFieldName() {
        let token = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for byte in UInt8.min...UInt8.max {
            let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nX".utf8) + [byte] + Array("Y: v\r\n\r\n".utf8)
            let isRead = readings(of: [bytes]).first.map { if case .request = $0 { true } else { false } }
            #expect(isRead == (token.contains(byte) || byte == UInt8(ascii: ":")), "byte \(byte)")
        }
    }

    /// At each place among bytes that are looked at together, too.
    @Test func triesEveryByteInAFieldValue() {
        for byte in UInt8.min...UInt8.max {
            for before in [1, 5, 8, 11, 15] {
                let bytes =
                    Array("GET / HTTP/1.1\r\nHost: a\r\nX: ".utf8) + [UInt8](repeating: 0x61, count: before) + [byte]
                    + Array("\u{ff}bcdefghijklmnopqrstuvwxyz\r\n\r\n".utf8)
                let isRead = readings(of: [bytes]).first.map { if case .request = $0 { true } else { false } }
                #expect(isRead == (byte == 9 || (byte >= 32 && byte != 127)), "byte \(byte) after \(before)")
            }
        }
    }

    /// RFC 3986, and "%" only before two hexadecimal digits.
    @Test func triesEveryByteInATarget() {
        let legal = Set("-._~!$&'()*+,;=:@/?0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for byte in UInt8.min...UInt8.max {
            let bytes = Array("GET /a".utf8) + [byte] + Array("zz HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
            let isRead = readings(of: [bytes]).first.map { if case .request = $0 { true } else { false } }
            #expect(isRead == legal.contains(byte), "byte \(byte)")
        }
    }

    @Test func triesEveryByteInAHost() {
        let legal = Set("-._~!$&'()*+,;=%:[]0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for byte in UInt8.min...UInt8.max {
            let bytes = Array("GET / HTTP/1.1\r\nHost: a".utf8) + [byte] + Array("b\r\n\r\n".utf8)
            let isRead = readings(of: [bytes]).first.map { if case .request = $0 { true } else { false } }
            #expect(isRead == legal.contains(byte), "byte \(byte)")
        }
    }

    @Test func limitsAreInclusive() {
        let limits = MalformedRequest.tableLimits
        func isRead(_ text: String) -> Bool {
            if case .request = readings(of: text, limits: limits).first { true } else { false }
        }
        #expect(isRead(get("/" + String(repeating: "a", count: 99))))
        let head = "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 368))\r\n\r\n"
        #expect(head.utf8.count == 400)
        #expect(isRead(head))
        #expect(isRead(get("/", String(repeating: "Y: z\r\n", count: 9))))
        let body = String(repeating: "x", count: 64)
        #expect(isRead("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 64\r\n\r\n\(body)"))
        #expect(isRead("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n\(body)\r\n0\r\n\r\n"))
    }

    /// Random bytes, and random changes of good requests, never trap; the seed is in the failing index.
    @Test func survivesNoise() {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        func random(_ bound: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(bound))
        }
        for _ in 0..<5_000 {
            var bytes = Array(Self.wellFormed[random(Self.wellFormed.count)].utf8)
            for _ in 0...random(4) {
                let position = random(bytes.count)
                switch random(3) {
                case 0: bytes[position] = UInt8(random(256))
                case 1: bytes.remove(at: position)
                default: bytes.insert(Array("\r\n :\0;0".utf8)[random(7)], at: position)
                }
                if bytes.isEmpty { bytes = [0] }
            }
            let whole = readings(of: [bytes], limits: MalformedRequest.tableLimits)
            let cut = random(bytes.count + 1)
            let parts = readings(
                of: [Array(bytes[..<cut]), Array(bytes[cut...])],
                limits: MalformedRequest.tableLimits
            )
            // A cut may only add the question whether to send the content.
            let isContinue: (Reading) -> Bool = { $0 == .sendContinue }
            #expect(whole.filter { !isContinue($0) } == parts.filter { !isContinue($0) })
        }
    }
}
