import HTTPServer
import Platform
import Testing

/// Answers that come later, and clients that go away meanwhile.
@Suite struct DeferredTests {
    @Test func repliesLater() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send(get("/later"))
        let ticket = try test.ticket()
        #expect(client.isSilent(milliseconds: 10))
        test.post(.reply(ticket, "now"))
        let response = try client.response()
        #expect(response.body == "now")
        #expect(response.headers["connection"] == nil)
        client.send(get("/echo"))
        #expect(try client.response().status == 200)
    }

    @Test func dropsWhatWasWrittenBeforeDeferring() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send(get("/echo") + get("/scribble"))
        #expect(try client.response().body.hasPrefix("GET /echo"))
        test.post(.reply(try test.ticket(), "sent"))
        #expect(try client.response().body == "sent")
    }

    @Test func keepsTheOrderOfPipelinedRequests() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send(get("/echo?1") + get("/later") + get("/echo?3") + get("/later") + get("/echo?5"))
        #expect(try client.response().body.contains("?1 "))
        let first = try test.ticket(1)
        #expect(client.isSilent(milliseconds: 10))
        #expect(test.record.tickets.count == 1)
        test.post(.reply(first, "2"))
        #expect(try client.response().body == "2")
        #expect(try client.response().body.contains("?3 "))
        let second = try test.ticket(2)
        #expect(first != second)
        client.send(get("/echo?6"))
        test.post(.reply(second, "4"))
        #expect(try client.response().body == "4")
        #expect(try client.response().body.contains("?5 "))
        #expect(try client.response().body.contains("?6 "))
    }

    @Test func knowsTheFormOfTheDeferredRequest() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send("HEAD /later HTTP/1.1\r\nHost: a\r\n\r\n")
        test.post(.reply(try test.ticket(1), "text"))
        #expect(try client.response(isHead: true).headers["content-length"] == "4")
        client.send("GET /later HTTP/1.0\r\n\r\n")
        test.post(.reply(try test.ticket(2), "text"))
        let response = try client.response()
        #expect(response.body == "text" && response.headers["connection"] == "close")
        #expect(try client.isEndedByServer())
    }

    @Test func aTicketIsGoodForOneReply() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send(get("/later") + get("/later"))
        let first = try test.ticket(1)
        test.post(.reply(first, "first"))
        test.post(.reply(first, "again"))
        #expect(try client.response().body == "first")
        let second = try test.ticket(2)
        // The connection waits for a reply again, but not for this one.
        test.post(.reply(first, "much later"))
        #expect(client.isSilent(milliseconds: 20))
        test.post(.reply(second, "second"))
        #expect(try client.response().body == "second")
    }

    @Test func aRecycledConnectionGetsNoOldReply() throws {
        let test = try TestServer()
        let gone = try test.client()
        gone.send(get("/later"))
        let old = try test.ticket(1)
        gone.abort()
        try eventually { test.record.cancelled == [old] }

        let client = try test.client()
        client.send(get("/later"))
        let new = try test.ticket(2)
        let asked = try Mailbox<Bool>()
        test.post(.replyWithin(old, asked))
        try #require(asked.wait(milliseconds: 10_000))
        var answers: ContiguousArray<Bool> = []
        asked.drain(into: &answers)
        #expect(answers == [false])
        #expect(client.isSilent(milliseconds: 10))
        test.post(.reply(new, "new"))
        #expect(try client.response().body == "new")
        #expect(test.record.cancelled == [old])
    }

    /// A client that only ended its sending side is not gone.
    @Test func repliesToAHalfClosedClient() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send(get("/later"))
        client.endSending()
        let ticket = try test.ticket()
        #expect(client.isSilent(milliseconds: 10))
        #expect(test.record.cancelled.isEmpty)
        test.post(.reply(ticket, "still there"))
        #expect(try client.response().body == "still there")
        #expect(try client.isEndedByServer())
        try eventually { test.server.connectionCount == 0 }
    }

    @Test func repliesAndCloses() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send(get("/later"))
        test.post(.replyAndClose(try test.ticket(), "bye"))
        let response = try client.response()
        #expect(response.body == "bye" && response.headers["connection"] == "close")
        #expect(try client.isEndedByServer())
    }

    @Test func turnsAnUnfinishedReplyInto500() throws {
        let test = try TestServer()
        let client = try test.client()
        client.send(get("/later"))
        test.post(.replyUnfinished(try test.ticket()))
        #expect(try client.response().status == 500)
    }

    @Test func reachesDeadlines() throws {
        let test = try TestServer()
        let clients = try (0..<5).map { _ in try test.client() }
        let start = MonotonicNanos.now()
        for (index, client) in clients.enumerated() { client.send(get("/wait/\(50 - index * 10)")) }
        for client in clients.reversed() { #expect(try client.response().body == "waited") }
        #expect(MonotonicNanos.now() >= start.adding(milliseconds: 50))
        #expect(MonotonicNanos.now() < start.adding(seconds: 5))
    }

    @Test func manyDeferredRequestsAreAnsweredFromOtherThreads() throws {
        let test = try TestServer()
        let count = 100
        let clients = try (0..<count).map { _ in try test.client() }
        for client in clients { client.send(get("/later")) }
        _ = try test.ticket(count)
        let tickets = test.record.tickets
        let mailbox = test.server.mailboxes[0]
        let threads = try (0..<4).map { part in
            try WorkerThread.start(name: "replier") {
                for index in stride(from: part, to: count, by: 4) { mailbox.post(.reply(tickets[index], "\(index)")) }
            }
        }
        for thread in threads { thread.join() }
        var bodies: Set<String> = []
        for client in clients { bodies.insert(try client.response().body) }
        #expect(bodies == Set((0..<count).map { "\($0)" }))
    }
}
