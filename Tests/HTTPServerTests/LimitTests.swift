import Glibc
import HTTPServer
import Platform
import Testing

/// What a client may not do, and how long it may take.
@Suite struct LimitTests {
    @Test func aNewConnectionMayNotBeSilent() throws {
        let test = try TestServer(limits: ServerLimits(headSeconds: 0.1))
        let client = try test.client()
        let start = MonotonicNanos.now()
        #expect(try client.isEndedByServer())
        #expect(MonotonicNanos.now() >= start.adding(milliseconds: 90))
    }

    /// Each byte comes soon after the one before, and still the head as a whole has its time.
    @Test func aSlowHeadIsTimedAsAWhole() throws {
        let test = try TestServer(limits: ServerLimits(headSeconds: 0.2))
        let client = try test.client()
        client.send(get("/echo"))
        #expect(try client.response().status == 200)
        let start = MonotonicNanos.now()
        let bytes = Array("GET /echo HTTP/1.1\r\nHost: a\r\nX-Slow: \(String(repeating: "a", count: 200))".utf8)
        var sent = 0
        while sent < bytes.count && client.isSilent(milliseconds: 10) {
            client.send([bytes[sent]])
            sent += 1
        }
        #expect(sent < bytes.count)
        let response = try client.response()
        #expect(response.status == 408)
        #expect(response.body.contains("\"code\":\"request_timeout\""))
        #expect(MonotonicNanos.now() >= start.adding(milliseconds: 190))
        client.endSending()
        #expect(try client.isEndedByServer())
    }

    @Test(arguments: ["Content-Length: 1000", "Transfer-Encoding: chunked"])
    func aSlowBodyIsTimedAsAWhole(framing: String) throws {
        let test = try TestServer(limits: ServerLimits(bodySeconds: 0.2))
        let client = try test.client()
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\n\(framing)\r\n\r\n")
        var sent = 0
        while sent < 200 && client.isSilent(milliseconds: 10) {
            client.send(framing.hasPrefix("T") ? "1\r\nx\r\n" : "x")
            sent += 1
        }
        #expect(sent < 200)
        #expect(try client.response().status == 408)
    }

    @Test func anIdleConnectionIsClosedSilently() throws {
        let test = try TestServer(limits: ServerLimits(headSeconds: 5, idleSeconds: 0.2))
        let client = try test.client()
        client.send(get("/echo"))
        #expect(try client.response().status == 200)
        let start = MonotonicNanos.now()
        #expect(try client.isEndedByServer())
        #expect(MonotonicNanos.now() >= start.adding(milliseconds: 190))
        #expect(MonotonicNanos.now() < start.adding(seconds: 4))
    }

    @Test func aDeferredRequestIsNotTimed() throws {
        let limits = ServerLimits(headSeconds: 0.1, bodySeconds: 0.1, idleSeconds: 0.1, writeSeconds: 0.1)
        let test = try TestServer(limits: limits)
        let client = try test.client()
        client.send(get("/later"))
        let ticket = try test.ticket()
        usleep(300_000)
        test.post(.reply(ticket, "late"))
        #expect(try client.response().body == "late")
    }

    @Test func aClientThatDoesNotReadIsClosed() throws {
        let test = try TestServer(limits: ServerLimits(writeSeconds: 0.2))
        let client = try test.client(receiveBufferBytes: 4_096)
        client.send(get("/size/33554432"))
        try eventually { test.server.connectionCount == 1 }
        try eventually { test.server.connectionCount == 0 }
        #expect(throws: RawClient.Failure.reset) { while try client.skip(1 << 20) > 0 {} }
    }

    /// Slower than the limit in all, but never without progress for that long; and every byte arrives.
    @Test func aClientThatReadsSlowlyGetsEverything() throws {
        let test = try TestServer(limits: ServerLimits(writeSeconds: 3))
        let client = try test.client(receiveBufferBytes: 65_536)
        client.send(get("/size/33554432", "Connection: close\r\n"))
        var received = 0
        var pauses = 0
        while true {
            let count = try client.skip(1 << 20)
            if count == 0 { break }
            received += count
            if received / (2 << 20) > pauses {
                pauses += 1
                usleep(250_000)
            }
        }
        #expect(received > 33_554_432 && received < 33_555_432)
    }

    /// The client sends all of a far too large request before it reads, and still sees the answer rather than a reset.
    @Test(arguments: [false, true])
    func aTooLargeBodyIsAnsweredReadably(isChunked: Bool) throws {
        let test = try TestServer(limits: ServerLimits(bodyBytesMax: 100_000))
        let client = try test.client()
        if isChunked {
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "4000\r\n\(String(repeating: "x", count: 16_384))\r\n"
            for _ in 0..<128 { #expect(client.send(chunk)) }
        } else {
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2097152\r\n\r\n")
            let piece = String(repeating: "x", count: 16_384)
            for _ in 0..<128 { #expect(client.send(piece)) }
        }
        let response = try client.response()
        #expect(response.status == 413)
        #expect(response.body.contains("\"code\":\"payload_too_large\""))
        client.endSending()
        #expect(try client.isEndedByServer())
        try eventually { test.server.connectionCount == 0 }
    }

    @Test func lingeringIsBoundedInTime() throws {
        let test = try TestServer(limits: ServerLimits(lingerSeconds: 0.2))
        let client = try test.client()
        client.send("nonsense\r\n\r\n")
        #expect(try client.response().status == 400)
        // Neither more bytes nor silence keep the connection.
        for _ in 0..<50 where test.server.connectionCount > 0 {
            client.send("more")
            usleep(10_000)
        }
        #expect(test.server.connectionCount == 0)
    }

    @Test func lingeringIsBoundedInBytes() throws {
        let test = try TestServer(limits: ServerLimits(lingerBytesMax: 100_000, lingerSeconds: 60))
        let client = try test.client()
        client.send("nonsense\r\n\r\n")
        #expect(try client.response().status == 400)
        let piece = [UInt8](repeating: 0, count: 65_536)
        var sent = 0
        while client.send(piece) && sent < 64 << 20 { sent += piece.count }
        #expect(sent < 64 << 20)
        try eventually { test.server.connectionCount == 0 }
    }

    @Test func oneConnectionTooManyIsRefused() throws {
        let test = try TestServer(limits: ServerLimits(connectionsMax: 2))
        let first = try test.client()
        let second = try test.client()
        for client in [first, second] {
            client.send(get("/echo"))
            #expect(try client.response().status == 200)
        }
        let third = try test.client()
        let response = try third.response()
        #expect(response.status == 503)
        #expect(response.body.contains("\"code\":\"overloaded\""))
        #expect(try third.isEndedByServer())
        #expect(test.server.connectionCount == 2)

        first.close()
        try eventually { test.server.connectionCount == 1 }
        let fourth = try test.client()
        fourth.send(get("/echo"))
        #expect(try fourth.response().status == 200)
    }

    /// Eight clients may not each hold a megabyte when there is one for all; the room comes back.
    @Test func memoryForIncomingRequestsIsBounded() throws {
        let test = try TestServer(limits: ServerLimits(bufferedBytesMax: 1 << 20))
        let body = String(repeating: "x", count: 400_000)
        let head = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 400001\r\n\r\n"
        let clients = try (0..<8).map { _ in try test.client() }
        for client in clients { client.send(head + body) }
        var refused = 0
        for client in clients where !client.isSilent(milliseconds: 200) {
            #expect(try client.response().status == 503)
            refused += 1
        }
        #expect((5...7).contains(refused))
        for client in clients { client.close() }
        try eventually { test.server.connectionCount == 0 }
        let client = try test.client()
        client.send(head + body + "y")
        #expect(try client.response().status == 200)
    }
}
