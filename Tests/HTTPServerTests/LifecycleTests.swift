import Glibc
import Platform
import Testing

@testable import HTTPServer

/// Starting, stopping, and many clients.
@Suite struct LifecycleTests {
    private struct NoHandler: Error, Equatable {
        let loop: Int
    }

    @Test func handlersLiveOnTheirLoops() throws {
        let test = try TestServer(loops: 3)
        #expect(test.record.events.filter { $0 == .made }.count == 3)
        #expect(test.server.mailboxes.count == 3)
        test.server.stop()
        #expect(test.record.events.filter { $0 == .ended }.count == 3)
        for mailbox in test.server.mailboxes { #expect(mailbox.isClosed) }
        test.server.stop()
    }

    @Test func aServerNobodyHoldsStops() throws {
        let record: Record
        do {
            let test = try TestServer()
            record = test.record
        }
        #expect(record.events.last == .ended)
    }

    @Test func anAddressInUseIsAnError() throws {
        let test = try TestServer(loops: 2)
        let address = test.server.addresses[0]
        let other = try Record().mailbox
        for loops in [1, 2] {
            #expect(throws: ServerError.addressInUse(address)) {
                try HTTPServer<TestHandler>.start(listen: [address], loops: loops) { loop, _ in
                    TestHandler(record: other)
                }
            }
        }
        #expect(ServerError.addressInUse(address).description.contains("in use"))
        // The second of two addresses fails, and the first is free again.
        let free: ListenAddress
        do { free = try TestServer().server.addresses[0] }
        #expect(throws: ServerError.addressInUse(address)) {
            try HTTPServer<TestHandler>.start(listen: [free, address], loops: 2) { _, _ in
                TestHandler(record: other)
            }
        }
        let again = try HTTPServer<TestHandler>.start(listen: [free], loops: 2) { _, _ in
            TestHandler(record: other)
        }
        #expect(again.addresses == [free])
    }

    @Test func anAddressOfAnotherMachineIsAnError() throws {
        let address = try ListenAddress("192.0.2.1:8080")
        let other = try Record().mailbox
        #expect(throws: ServerError.cannotListen(address, .call("bind", EADDRNOTAVAIL))) {
            try HTTPServer<TestHandler>.start(listen: [address], loops: 1) { _, _ in
                TestHandler(record: other)
            }
        }
    }

    @Test func aFailingHandlerUndoesTheStart() throws {
        let record = try Record()
        let mailbox = record.mailbox
        let free: ListenAddress
        do { free = try TestServer().server.addresses[0] }
        #expect(throws: NoHandler(loop: 1)) {
            try HTTPServer<TestHandler>.start(listen: [free], loops: 3) { loop, _ in
                if loop == 1 { throw NoHandler(loop: 1) }
                return TestHandler(record: mailbox)
            }
        }
        #expect(record.events.filter { $0 == .made }.count == 2)
        #expect(record.events.filter { $0 == .ended }.count == 2)
        #expect(throws: RawClient.Failure.connect(ECONNREFUSED)) { try RawClient(port: free.port) }
    }

    @Test func stopClosesIdleConnectionsAtOnce() throws {
        let test = try TestServer(limits: ServerLimits(stopSeconds: 60))
        let used = try test.client()
        used.send(get("/echo"))
        #expect(try used.response().status == 200)
        let unused = try test.client()
        try eventually { test.server.connectionCount == 2 }
        let start = MonotonicNanos.now()
        test.server.stop()
        #expect(MonotonicNanos.now() < start.adding(seconds: 5))
        #expect(try used.isEndedByServer())
        #expect(try unused.isEndedByServer())
        #expect(throws: RawClient.Failure.connect(ECONNREFUSED)) { try test.client() }
        #expect(test.server.connectionCount == 0)
    }

    @Test func stopWaitsForWhatIsInFlight() throws {
        let test = try TestServer(limits: ServerLimits(stopSeconds: 60))
        let deferred = try test.client()
        deferred.send(get("/later") + get("/echo"))
        let ticket = try test.ticket()
        let halfSent = try test.client()
        halfSent.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel")
        try eventually { test.server.connectionCount == 2 }
        usleep(20_000)
        let server = test.server
        let stopped = try Mailbox<Int>()
        let stopper = try WorkerThread.start(name: "stopper") {
            server.stop()
            stopped.post(1)
        }
        #expect(!stopped.wait(milliseconds: 100))
        #expect(throws: RawClient.Failure.connect(ECONNREFUSED)) { try test.client() }

        halfSent.send("lo")
        let finished = try halfSent.response()
        #expect(finished.body.hasSuffix(":hello") && finished.headers["connection"] == "close")
        #expect(try halfSent.isEndedByServer())
        #expect(stopped.count == 0)

        test.post(.reply(ticket, "finished"))
        let response = try deferred.response()
        #expect(response.body == "finished" && response.headers["connection"] == "close")
        deferred.endSending()
        #expect(try deferred.isEndedByServer())
        stopper.join()
        #expect(test.record.cancelled.isEmpty)
    }

    /// The loop is busy while a client connects and sends and the stop is asked for: that client was let in and is
    /// answered.
    @Test func stopAnswersWhoIsAlreadyConnected() throws {
        let test = try TestServer()
        let blocker = try test.client()
        blocker.send(get("/block/200"))
        try eventually { test.record.events.contains(.blocking) }
        let late = try test.client()
        late.send(get("/echo?late"))
        test.server.stop()
        #expect(try blocker.response().status == 200)
        let response = try late.response()
        #expect(response.body.contains("?late ") && response.headers["connection"] == "close")
        #expect(try late.isEndedByServer())
    }

    @Test func stopDoesNotWaitForEver() throws {
        let test = try TestServer(limits: ServerLimits(stopSeconds: 0.1))
        let client = try test.client()
        client.send(get("/later"))
        let ticket = try test.ticket()
        let start = MonotonicNanos.now()
        test.server.stop()
        #expect(MonotonicNanos.now() >= start.adding(milliseconds: 90))
        #expect(MonotonicNanos.now() < start.adding(seconds: 5))
        #expect(test.record.cancelled == [ticket])
        #expect(try client.isEndedByServer())
    }

    /// More clients than loops, each with several requests, some pipelined, from several threads.
    @Test func servesManyClientsAtOnce() throws {
        let test = try TestServer(loops: 2)
        let port = test.port
        let wrong = try Mailbox<String>()
        let threads = try (0..<4).map { part in
            try WorkerThread.start(name: "client") {
                do {
                    let clients = try (0..<50).map { _ in try RawClient(port: port) }
                    for round in 0..<10 {
                        for (index, client) in clients.enumerated() {
                            client.send(get("/echo?\(part)-\(round)-\(index)") + get("/size/4096"))
                        }
                        for (index, client) in clients.enumerated() {
                            let first = try client.response().body
                            if !first.contains("?\(part)-\(round)-\(index) ") { wrong.post(first) }
                            if try client.response().body.utf8.count != 4_096 { wrong.post("size") }
                        }
                    }
                } catch {
                    wrong.post("\(error)")
                }
            }
        }
        for thread in threads { thread.join() }
        var mistakes: ContiguousArray<String> = []
        wrong.drain(into: &mistakes)
        #expect(mistakes.isEmpty)
        try eventually { test.server.connectionCount == 0 }
    }

    /// However many clients come and go, the places of those who left are used again, each time under another name.
    @Test func recyclesSlots() throws {
        let test = try TestServer()
        for round in 0..<20 {
            let clients = try (0..<20).map { _ in try test.client() }
            for (index, client) in clients.enumerated() {
                client.send(get("/echo?\(index)"))
                #expect(try client.response().body.contains("?\(index) "))
                switch index % 3 {
                case 0: client.abort()
                case 1: client.close()
                default:
                    client.send(get("/later"))
                    _ = try test.ticket(round * 6 + index / 3 + 1)
                    client.abort()
                }
            }
            try eventually { test.server.connectionCount == 0 }
        }
        try eventually { test.record.cancelled.count == 120 }
        #expect(Set(test.record.tickets).count == 120)
        #expect(test.record.tickets.allSatisfy { $0.slot < 20 })
    }
}
