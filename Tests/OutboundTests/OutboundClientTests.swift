internal import Dispatch
internal import Glibc
internal import Outbound
internal import TestSupport
internal import Testing

/// What the one way out of the process does when the other side misbehaves.
struct OutboundClientTests {
    private func send(
        _ client: OutboundClient = OutboundClient(),
        to server: LoopbackServer,
        deadlineMillis: Int = 5000,
        headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil
    ) async -> Result<OutboundAnswer, OutboundFailure> {
        let request = OutboundRequest(
            body == nil ? "GET" : "POST",
            "http://127.0.0.1:\(server.port)/path?x=1",
            headers: headers,
            body: body,
            deadlineMillis: deadlineMillis
        )
        return await withCheckedContinuation { continuation in
            client.send(request) { continuation.resume(returning: $0) }
        }
    }

    private func answering(_ text: String) throws -> LoopbackServer {
        try LoopbackServer { peer in
            _ = peer.readHead()
            peer.write(text)
        }
    }

    @Test("an answer with its status, headers and body")
    func answer() async throws {
        let seen = Locked("")
        let server = try LoopbackServer { peer in
            let head = peer.readHead() ?? ""
            let body = peer.read(count: 4) ?? []
            seen.with { $0 = head + String(decoding: body, as: UTF8.self) }
            peer.write("HTTP/1.1 418 Teapot\r\nX-Kind: brown\r\nContent-Length: 3\r\n\r\nabc")
        }
        let answer = try await send(to: server, headers: [("Authorization", "Bearer key")], body: Array("tell".utf8))
            .get()
        #expect(answer.status == 418)
        #expect(answer.header("x-kind") == "brown")
        #expect(answer.body == Array("abc".utf8))
        let request = seen.with { $0 }
        #expect(request.hasPrefix("POST /path?x=1 HTTP/1.1"))
        #expect(request.contains("Authorization: Bearer key"))
        #expect(request.hasSuffix("tell"))
    }

    @Test("a redirect is not followed: credentials do not travel to another place")
    func redirect() async throws {
        let visits = Locked(0)
        let other = try LoopbackServer { peer in
            _ = peer.readHead()
            visits.with { $0 += 1 }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let server = try answering(
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(other.port)/\r\nContent-Length: 0\r\n\r\n"
        )
        let answer = try await send(to: server, headers: [("Authorization", "Bearer key")]).get()
        #expect(answer.status == 302)
        #expect(visits.with { $0 } == 0)
    }

    @Test("a cookie is not sent back")
    func cookie() async throws {
        let heads = Locked<[String]>([])
        let server = try LoopbackServer { peer in
            while let head = peer.readHead() {
                heads.with { $0.append(head) }
                peer.write("HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let client = OutboundClient()
        _ = try await send(client, to: server).get()
        _ = try await send(client, to: server).get()
        #expect(heads.with { $0.count } == 2)
        #expect(!heads.with { $0.joined() }.contains("Cookie: a=b"))
    }

    @Test("an answer that drips for longer than the deadline is given up at the deadline")
    func drip() async throws {
        let server = try LoopbackServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in 0..<1000 {
                peer.write("x")
                usleep(50_000)
            }
        }
        let result = await send(to: server, deadlineMillis: 300)
        #expect(throws: OutboundFailure.tooLate) { try result.get() }
    }

    @Test("half a body is no answer")
    func halfABody() async throws {
        let server = try answering("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":")
        let result = await send(to: server)
        #expect(throws: OutboundFailure.self) { try result.get() }
    }

    @Test("no server, no address")
    func nobody() async throws {
        let port: UInt16
        do { port = try LoopbackServer { _ in }.port }
        let client = OutboundClient()
        for (url, isAddress) in [("http://127.0.0.1:\(port)/", true), ("file:///etc/passwd", false), ("x", false)] {
            let result = await withCheckedContinuation { continuation in
                client.send(OutboundRequest("GET", url, deadlineMillis: 2000)) { continuation.resume(returning: $0) }
            }
            guard case .failure(let failure) = result else {
                Issue.record("\(url): an answer")
                continue
            }
            #expect((failure == .notAnAddress) == !isAddress, "\(url): \(failure)")
        }
    }

    @Test("an answer without end is given up")
    func flood() async throws {
        let server = try LoopbackServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\n\r\n")
            let piece = String(repeating: "x", count: 1 << 20)
            for _ in 0..<(OutboundClient.answerBytesMax >> 20) + 2 { peer.write(piece) }
        }
        let result = await send(to: server, deadlineMillis: 20_000)
        #expect(throws: OutboundFailure.tooLong) { try result.get() }
    }

    @Test("after a stop nothing is sent, and what waits fails")
    func stop() async throws {
        let server = try LoopbackServer { peer in
            _ = peer.readHead()
            _ = peer.readHead()
        }
        let client = OutboundClient()
        async let waiting = send(client, to: server)
        try await Task.sleep(for: .milliseconds(100))
        client.stop()
        let first = await waiting
        #expect(throws: OutboundFailure.stopped) { try first.get() }
        let second = await send(client, to: server)
        #expect(throws: OutboundFailure.stopped) { try second.get() }
    }
}
