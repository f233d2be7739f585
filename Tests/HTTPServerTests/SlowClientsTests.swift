import Glibc
import HTTPServer
import Platform
import Testing

/// Many clients that send a byte now and then: each is cut off by its time limit, and others are served meanwhile.
///
/// `GATEWAY_STRESS=full` takes twenty times as many.
@Suite(.serialized) struct SlowClientsTests {
    private static let isFull = getenv("GATEWAY_STRESS").map { String(cString: $0) } == "full"

    @Test(arguments: [
        ("GET /echo HTTP/1.1\r\nHost: a\r\nX-Slow: ", "a"),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n", "a"),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"),
    ])
    func slowClientsAreCutOff(beginning: String, piece: String) throws {
        let count = Self.isFull ? 4_000 : 200
        let seconds = Self.isFull ? 5.0 : 0.6
        let limits = ServerLimits(headSeconds: seconds, bodySeconds: seconds, lingerSeconds: 1)
        let test = try TestServer(loops: 2, limits: limits)
        let start = MonotonicNanos.now()
        let slow = try (0..<count).map { _ in try test.client() }
        for client in slow { client.send(beginning) }
        let other = try test.client()
        var worst: UInt64 = 0
        var asked = 0
        // The slow ones go on as long as the limit would let them, and a little longer.
        while MonotonicNanos.now() < start.adding(milliseconds: Int(seconds * 1_500)) {
            for client in slow {
                if !client.isSilent(milliseconds: 0) { continue }
                client.send(piece)
            }
            let before = MonotonicNanos.now()
            other.send(get("/echo?\(asked)"))
            #expect(try other.response().body.contains("?\(asked) "))
            worst = max(worst, MonotonicNanos.now().nanoseconds(since: before))
            asked += 1
        }
        if Self.isFull { print("stress: \(count) slow clients, \(asked) answers, worst \(worst / 1_000_000) ms") }
        #expect(worst < 1_000_000_000)
        for client in slow { #expect(try client.response().status == 408) }
        try eventually { test.server.connectionCount <= 1 }
        other.send(get("/echo"))
        #expect(try other.response().status == 200)
    }
}
