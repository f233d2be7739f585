import Foundation
import TestSupport
import Testing

@Suite struct HTTPConnectionTests {
    /// Sends requests over one connection to a server that plays `serve` for each connection it gets.
    private func exchange(
        _ requests: [HTTPRequest] = [HTTPRequest(target: "/")],
        seconds: Double = 5,
        _ serve: @escaping @Sendable (LoopbackPeer) -> Void
    ) async throws -> [HTTPAnswer] {
        try await onOwnThread {
            let server = try LoopbackServer(serve)
            defer { withExtendedLifetime(server) {} }
            let connection = HTTPConnection(port: server.port)
            return try requests.map { try connection.send($0, seconds: seconds) }
        }
    }

    /// Answers every request with its own head as the body.
    @Sendable private static func echo(_ peer: LoopbackPeer) {
        while let head = peer.readHead() {
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(head.utf8.count)\r\n\r\n\(head)")
        }
    }

    @Test func theWireShowsWhatWasAsked() async throws {
        let request = HTTPRequest(
            method: "DELETE",
            target: "/v1/users/%00/x?a=é",
            headers: [HTTPHeader("x-B", "2"), HTTPHeader("X-a", "1 ")]
        )
        let answers = try await exchange([request], Self.echo)
        let lines = answers[0].text.split(separator: "\r\n", omittingEmptySubsequences: false)
        #expect(lines[0] == "DELETE /v1/users/%00/x?a=é HTTP/1.1")
        #expect(lines[1].hasPrefix("Host: 127.0.0.1:"))
        #expect(lines[2...] == ["x-B: 2", "X-a: 1 ", "", ""])
    }

    @Test func aBodyHasALengthAndAPostWithoutOneHasZero() async throws {
        let answers = try await exchange(
            [
                HTTPRequest(method: "POST", target: "/", headers: [], body: nil),
                HTTPRequest(method: "GET", target: "/", headers: [], body: nil),
                HTTPRequest(
                    method: "POST",
                    target: "/",
                    headers: [HTTPHeader("Host", "x"), HTTPHeader("content-length", "0")]
                ),
            ],
            Self.echo
        )
        #expect(answers[0].text.hasSuffix("\r\nContent-Length: 0\r\n\r\n"))
        #expect(!answers[1].text.lowercased().contains("content-length"))
        #expect(answers[2].text == "POST / HTTP/1.1\r\nHost: x\r\ncontent-length: 0\r\n\r\n")
    }

    @Test func anAnswerBeforeTheEndOfTheBodyIsRead() async throws {
        let request = HTTPRequest(method: "POST", target: "/", body: [UInt8](repeating: 32, count: 8 << 20))
        let answers = try await exchange([request, request]) { peer in
            // Nothing of the body is read: closing now makes the kernel reset the connection.
            _ = peer.readHead()
            peer.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!")
        }
        #expect(answers.map(\.status) == [413, 413])
        #expect(answers.map(\.text) == ["no!", "no!"])
    }

    @Test func aKeptConnectionThatWasClosedIsOpenedAnew() async throws {
        let answers = try await exchange([HTTPRequest(target: "/1"), HTTPRequest(target: "/2")]) { peer in
            let head = peer.readHead() ?? ""
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\(head.split(separator: " ")[1])")
        }
        #expect(answers.map(\.text) == ["/1", "/2"])
    }

    @Test func aConnectionIsKept() async throws {
        let answers = try await exchange([HTTPRequest(target: "/"), HTTPRequest(target: "/")]) { peer in
            var count = 0
            while peer.readHead() != nil {
                count += 1
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\(count)")
            }
        }
        #expect(answers.map(\.text) == ["1", "2"])
    }

    @Test(
        "bodies of every kind",
        arguments: [
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=1\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 200, "abcde"),
            ("HTTP/1.1 200 OK\r\n\r\nto the end", 200, "to the end"),
            ("HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n", 304, ""),
            ("HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, "x"),
            ("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", 200, ""),
        ]
    )
    func bodies(_ wire: String, _ status: Int, _ body: String) async throws {
        let answers = try await exchange { peer in
            _ = peer.readHead()
            peer.write(wire)
        }
        #expect(answers[0].status == status)
        #expect(answers[0].text == body)
    }

    @Test func anAnswerMayComeInPieces() async throws {
        let answers = try await exchange { peer in
            _ = peer.readHead()
            for piece in ["HTTP/1.1 20", "0 OK\r\nX: a\r", "\nContent-Length: 4\r\n\r", "\nab", "cd"] {
                peer.write(piece)
                Thread.sleep(forTimeInterval: 0.01)
            }
        }
        #expect(answers[0].text == "abcd")
        #expect(answers[0].header("x") == "a")
    }

    @Test(
        "half an answer, or too much of one, is no answer",
        arguments: [
            ("", HTTPFault.closedEarly(receivedBytes: 0)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", .closedEarly(receivedBytes: 41)),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", .closedEarly(receivedBytes: 55)),
            ("HTTP/1.1 304 Not Modified\r\n\r\n{}", .malformed("2 bytes after the end of an answer with status 304")),
            ("SSH-2.0\r\n\r\n", .malformed("no status line: SSH-2.0")),
            ("HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n", .malformed("Content-Length: five")),
        ]
    )
    func broken(_ wire: String, _ fault: HTTPFault) async {
        await #expect(throws: fault) {
            try await exchange { peer in
                _ = peer.readHead()
                peer.write(wire)
            }
        }
    }

    @Test func silenceEndsInATimeout() async {
        await #expect(throws: HTTPFault.timedOut(seconds: 0.2)) {
            try await exchange(seconds: 0.2) { peer in
                _ = peer.readHead()
                _ = peer.readHead()
            }
        }
    }

    @Test func nobodyThereIsAFault() async throws {
        let port = try FreePorts.claim()
        await #expect(throws: HTTPFault.cannotConnect("Connection refused")) {
            try await onOwnThread { try HTTPConnection(port: port).send(HTTPRequest(target: "/")) }
        }
    }
}
