import Testing

@testable import HTTPServer

/// Requests and answers over one connection, without waiting for anything.
@Suite struct ExchangeTests {
    @Test func keepsTheConnectionFromRequestToRequest() throws {
        let test = try TestServer()
        let client = try test.client()
        for number in 0..<5 {
            client.send(get("/echo?\(number)", "X-Tag:  t\(number) \r\nx-tag: second\r\n"))
            let response = try client.response()
            #expect(response.status == 200)
            #expect(response.body == "GET /echo ?\(number) 127.0.0.1 0:")
            #expect(response.headers["x-tag"] == "t\(number)")
            #expect(response.headers["x-tags"] == "2")
            #expect(response.headers["connection"] == nil)
            #expect(response.headers["content-length"] == "\(response.body.utf8.count)")
        }
        #expect(test.server.connectionCount == 1)
        client.close()
        try eventually { test.server.connectionCount == 0 }
    }

    @Test func datesItsAnswers() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send(get("/echo"))
        let date = try client.response().headers["date"] ?? ""
        #expect(
            date.wholeMatch(of: /(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z][a-z] 20\d\d \d\d:\d\d:\d\d GMT/) != nil
        )
    }

    @Test func answersPost() throws {
        let test = try TestServer()
        let client = try test.client()
        for body in ["", "hello", String(repeating: "x", count: 100_000)] {
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            #expect(try client.response().body == "POST /echo ? 127.0.0.1 0:\(body)")
        }
        client.send(
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "3;x\r\nfoo\r\n3\r\nbar\r\n0\r\nX: y\r\n\r\n"
        )
        #expect(try client.response().body == "POST /echo ? 127.0.0.1 0:foobar")
    }

    /// 1 MiB is within the limit, by length and in 1,024 chunks; and the connection goes on afterwards.
    @Test func takesTheLargestContent() throws {
        let test = try TestServer()
        let client = try test.client()
        let body = String(repeating: "0123456789abcdef", count: 65_536)
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n")
        client.send(body)
        #expect(try client.response().body.hasSuffix(":\(body)"))
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        let chunk = "400\r\n\(String(repeating: "x", count: 1_024))\r\n"
        for _ in 0..<1_024 { client.send(chunk) }
        client.send("0\r\n\r\n")
        #expect(try client.response().body.utf8.count == (1 << 20) + "POST /echo ? 127.0.0.1 0:".utf8.count)
        client.send(get("/echo"))
        #expect(try client.response().status == 200)
    }

    @Test func takesOneByteAtATime() throws {
        let test = try TestServer()
        let client = try test.client()
        let text =
            get("/echo?a", "X-Tag: slow\r\n")
            + "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
        for byte in text.utf8 { client.send([byte]) }
        #expect(try client.response().headers["x-tag"] == "slow")
        #expect(try client.response().body.hasSuffix(":hi"))
    }

    /// A head is not kept while its content is awaited; other clients' requests meanwhile must not show in it.
    @Test func keepsInterleavedClientsApart() throws {
        let test = try TestServer()
        let slow = try test.client()
        let quick = try test.client()
        for framing in [
            "Content-Length: 5\r\n\r\nhe|llo", "Transfer-Encoding: chunked\r\n\r\n5\r\nhe|llo\r\n0\r\n\r\n",
        ] {
            let halves = framing.split(separator: "|")
            slow.send("PUT /echo?slow HTTP/1.1\r\nHost: a\r\nX-Tag: slow\r\n\(halves[0])")
            for _ in 0..<3 {
                quick.send(get("/size/32?quick", "X-Tag: quick\r\nX-Tag: again\r\n"))
                #expect(try quick.response().status == 200)
            }
            slow.send(String(halves[1]))
            let response = try slow.response()
            #expect(response.body == "PUT /echo ?slow 127.0.0.1 0:hello")
            #expect(response.headers["x-tag"] == "slow" && response.headers["x-tags"] == "1")
        }
    }

    @Test func answersPipelinedRequestsInOrder() throws {
        let test = try TestServer()
        let client = try test.client()
        let count = 500
        client.send((0..<count).map { get("/echo?\($0)") }.joined())
        for number in 0..<count { #expect(try client.response().body.contains("?\(number) ")) }
    }

    /// The answers together are far more than what may wait, and the client reads none before all is sent.
    @Test func answersPipelinedRequestsWithLargeAnswers() throws {
        let test = try TestServer(limits: ServerLimits(outputBytesMax: 4_096))
        let client = try test.client()
        client.send((0..<200).map { get("/size/\(32_000 + $0 * 16)") }.joined())
        for number in 0..<200 { #expect(try client.response().body.utf8.count == 32_000 + number * 16) }
        client.send(get("/echo"))
        #expect(try client.response().status == 200)
    }

    @Test func answersHeadWithoutABody() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send("HEAD /size/160 HTTP/1.1\r\nHost: a\r\n\r\n" + get("/echo"))
        let response = try client.response(isHead: true)
        #expect(response.status == 200)
        #expect(response.headers["content-length"] == "160")
        #expect(try client.response().body.hasPrefix("GET /echo"))
        client.send("HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n")
        #expect(try client.response(isHead: true).status == 413)
        client.endSending()
        #expect(try client.isEndedByServer())
    }

    @Test(arguments: [204, 304])
    func sendsNoBodyWhereNoneIsAllowed(status: Int) throws {
        let test = try TestServer()
        let client = try test.client()
        client.send(get("/status/\(status)") + get("/echo"))
        let response = try client.response()
        #expect(response.status == status)
        #expect(response.headers["content-length"] == nil)
        #expect(try client.response().body.hasPrefix("GET /echo"))
    }

    @Test func speaksHTTP10() throws {
        let test = try TestServer()
        let first = try test.client()
        first.send("GET /echo HTTP/1.0\r\n\r\n")
        let response = try first.response()
        #expect(response.status == 200)
        #expect(response.headers["connection"] == "close")
        #expect(try first.isEndedByServer())

        let second = try test.client()
        second.send("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(try second.response().headers["connection"] == "keep-alive")
        second.send("GET /echo HTTP/1.0\r\n\r\n")
        #expect(try second.response().headers["connection"] == "close")
        #expect(try second.isEndedByServer())
    }

    @Test func closesWhenAsked() throws {
        let test = try TestServer()
        let byClient = try test.client()
        byClient.send(get("/echo", "Connection: close\r\n"))
        #expect(try byClient.response().headers["connection"] == "close")
        #expect(try byClient.isEndedByServer())

        // What is pipelined behind the last answer is neither answered nor a reason to lose that answer.
        let byHandler = try test.client()
        byHandler.send(get("/close") + String(repeating: get("/echo"), count: 100))
        let response = try byHandler.response()
        #expect(response.body == "bye" && response.headers["connection"] == "close")
        byHandler.endSending()
        #expect(try byHandler.isEndedByServer())
    }

    @Test func continuesOnlyWhenAsked() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send(
            get("/echo") + "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
        )
        #expect(try client.response().status == 200)
        #expect(try client.response().status == 100)
        #expect(client.isSilent(milliseconds: 20))
        client.send("hello")
        #expect(try client.response().body.hasSuffix(":hello"))

        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello")
        #expect(try client.response().status == 200)

        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n")
        #expect(try client.response().status == 413)
    }

    @Test func answersAHalfClosedClient() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send(get("/echo?1") + get("/echo?2"))
        client.endSending()
        #expect(try client.response().body.contains("?1 "))
        #expect(try client.response().body.contains("?2 "))
        #expect(try client.isEndedByServer())
        try eventually { test.server.connectionCount == 0 }
    }

    @Test func endsQuietlyWhenTheClientEndsInsideARequest() throws {
        let test = try TestServer()
        for part in ["", "GET / HT", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel"] {
            let client = try test.client()
            client.send(part)
            client.endSending()
            #expect(try client.isEndedByServer())
        }
        try eventually { test.server.connectionCount == 0 }
    }

    @Test func turnsAnUnfinishedAnswerInto500() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send(get("/unfinished"))
        let response = try client.response()
        #expect(response.status == 500)
        #expect(response.headers["x-lost"] == nil)
        #expect(response.body.contains("\"code\":\"internal_error\""))
        #expect(try client.isEndedByServer())
    }

    @Test func startsAgain() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send(get("/restart"))
        let response = try client.response()
        #expect(response.status == 503)
        #expect(response.headers["x-lost"] == nil)
        #expect(response.headers["content-length"] == "0")
    }

    @Test func neverWritesLineEndsIntoAValue() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send(get("/inject"))
        let response = try client.response()
        #expect(response.headers["x-value"] == "aX-Evil: 1")
        #expect(response.headers["x-evil"] == nil)
    }

    @Test func namesTheListener() throws {
        let record = try Record().mailbox
        let addresses = [
            try ListenAddress("127.0.0.1:0"), try ListenAddress("127.0.0.1:0"), try ListenAddress("[::1]:0"),
        ]
        let server = try HTTPServer<TestHandler>.start(listen: addresses, loops: 2) { _, _ in
            TestHandler(record: record)
        }
        #expect(server.addresses.count == 3)
        #expect(Set(server.addresses).count == 3)
        #expect(server.addresses[2].description.hasPrefix("[::1]:"))
        for index in 0..<2 {
            let client = try RawClient(port: server.addresses[index].port)
            client.send(get("/echo"))
            #expect(try client.response().body == "GET /echo ? 127.0.0.1 \(index):")
        }
        server.stop()
    }

    /// Said between two requests when the loop had to wait for the second, and not while there is work.
    @Test func tellsTheHandlerBeforeItBlocks() throws {
        let test = try TestServer()
        let client = try test.client()
        func sleeps() throws -> Int { Int(try client.response().body) ?? -1 }
        client.send(get("/sleeps"))
        let first = try sleeps()
        try eventually {
            client.send(get("/sleeps") + get("/sleeps"))
            let later = try sleeps()
            #expect(try sleeps() == later)
            return later > first
        }
    }

    @Test func takesAnAbsoluteTargetWithoutAPath() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send("GET http://a HTTP/1.1\r\nHost: a\r\n\r\nGET http://a/echo?x HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.response().status == 404)
        #expect(try client.response().body.hasPrefix("GET /echo ?x"))
    }
}
