import COpenSSL
import Glibc
import HTTPServer
import Platform
import TLS
import TestSupport
import Testing

/// The server with TLS on a real socket.
@Suite struct TLSTests {
    /// Made once for all tests, with the openssl command.
    private static let contexts: Result<(old: TLSContext, new: TLSContext), any Error> = Result {
        let folder = try TemporaryFolder(prefix: "tls")
        defer { folder.remove() }
        func context(_ name: String) throws -> TLSContext {
            let files = try TestCertificate(name, in: folder)
            return try TLSContext(certificate: files.certificate, key: files.key)
        }
        return (try context("old"), try context("new"))
    }

    private static func server(loops: Int = 1, limits: ServerLimits = ServerLimits()) throws -> TestServer {
        try TestServer(loops: loops, limits: limits, tls: contexts.get().old)
    }

    private static func settings(_ version: Int32) -> ClientTLS.Settings {
        ClientTLS.Settings(versions: version...version)
    }

    // MARK: - What is agreed on

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func speaksTheTwoNewestVersions(version: Int32) throws {
        let test = try Self.server()
        let client = try test.client()
        let tls = try client.startTLS(Self.settings(version))
        #expect(tls.version == version)
        #expect(tls.chosenProtocol == "http/1.1")
        #expect(tls.serverName == "old")
        #expect(tls.cipher.contains("GCM") || tls.cipher.contains("CHACHA20"))
        #expect(version == TLS1_3_VERSION || tls.cipher.hasPrefix("ECDHE"))
        client.send(get("/echo?a") + get("/close"))
        #expect(try client.response().body.contains("?a 127.0.0.1 "))
        #expect(try client.response().body == "bye")
        // The end is said, not only there.
        #expect(try client.rest().isEmpty)
    }

    @Test(arguments: [TLS1_VERSION, TLS1_1_VERSION])
    func refusesOldVersions(version: Int32) throws {
        let test = try Self.server()
        let client = try test.client()
        #expect(throws: ClientTLS.Failure.handshake(alert: SSL_AD_PROTOCOL_VERSION)) {
            try client.startTLS(Self.settings(version))
        }
        client.close()
        try eventually { test.server.connectionCount == 0 }
    }

    @Test func agreesOnOneProtocolOnly() throws {
        let test = try Self.server()
        let both = try test.client()
        #expect(try both.startTLS(.init(protocols: ["h2", "http/1.1"])).chosenProtocol == "http/1.1")
        let none = try test.client()
        #expect(try none.startTLS(.init(protocols: [])).chosenProtocol.isEmpty)
        none.send(get("/echo"))
        #expect(try none.response().status == 200)
        let other = try test.client()
        #expect(throws: ClientTLS.Failure.handshake(alert: SSL_AD_NO_APPLICATION_PROTOCOL)) {
            try other.startTLS(.init(protocols: ["h2"]))
        }
    }

    @Test func doesNotNegotiateAgain() throws {
        let test = try Self.server()
        let client = try test.client()
        let tls = try client.startTLS(Self.settings(TLS1_2_VERSION))
        #expect(tls.isRenegotiationRefused)
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func aTicketSparesTheSecondHandshake(version: Int32) throws {
        let test = try Self.server(loops: 2)
        func connect(_ session: OpaquePointer?) throws -> (isResumed: Bool, session: OpaquePointer?) {
            var settings = Self.settings(version)
            settings.session = session
            let client = try test.client()
            let tls = try client.startTLS(settings)
            client.send(get("/echo"))
            #expect(try client.response().status == 200)
            return (tls.isResumed, tls.session)
        }
        let first = try connect(nil)
        #expect(!first.isResumed)
        // On whichever loop.
        var session = first.session
        for _ in 0..<6 {
            let next = try connect(session)
            #expect(next.isResumed)
            SSL_SESSION_free(session)
            session = next.session
        }
        // A ticket made with an old certificate is of no use with a new one.
        test.server.useTLS(try Self.contexts.get().new)
        try eventually {
            let next = try connect(session)
            SSL_SESSION_free(next.session)
            return !next.isResumed
        }
        SSL_SESSION_free(session)
    }

    // MARK: - A new certificate

    @Test func aNewCertificateIsForNewConnections() throws {
        let test = try Self.server(loops: 2)
        let before = try test.client()
        #expect(try before.startTLS().serverName == "old")
        test.server.useTLS(try Self.contexts.get().new)
        for _ in 0..<8 {
            try eventually {
                let after = try test.client()
                return try after.startTLS().serverName == "new"
            }
        }
        before.send(get("/echo"))
        #expect(try before.response().status == 200)
    }

    // MARK: - Much and little at once

    @Test func answersPipelinedRequestsInOrder() throws {
        let test = try Self.server()
        let client = try test.client()
        try client.startTLS()
        client.send((0..<500).map { get("/echo?\($0)") }.joined())
        for number in 0..<500 { #expect(try client.response().body.contains("?\(number) ")) }
        // Byte by byte, each in a record of its own.
        for byte in Array(get("/echo?slow").utf8) { client.send([byte]) }
        #expect(try client.response().body.contains("?slow "))
    }

    @Test func takesLargeBodiesAndGivesLargeAnswers() throws {
        let test = try Self.server()
        let client = try test.client(receiveBufferBytes: 16_384)
        try client.startTLS()
        let body = String(repeating: "0123456789abcdef", count: 65_536)
        for _ in 0..<3 {
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body)
            #expect(try client.response().body.hasSuffix(":" + body))
        }
        client.send(get("/size/8388608") + get("/echo"))
        usleep(100_000)
        #expect(try client.response().body.utf8.count == 8_388_608)
        #expect(try client.response().status == 200)
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n" + body)
        #expect(try client.response().status == 413)
    }

    @Test func aDeferredAnswerComesThrough() throws {
        let test = try Self.server()
        let client = try test.client()
        try client.startTLS()
        client.send(get("/later"))
        test.post(.reply(try test.ticket(), "late"))
        #expect(try client.response().body == "late")
    }

    @Test func stopSaysGoodbye() throws {
        let test = try Self.server()
        let client = try test.client()
        try client.startTLS()
        client.send(get("/echo"))
        #expect(try client.response().status == 200)
        test.server.stop()
        #expect(try client.rest().isEmpty)
    }

    // MARK: - Strangers

    @Test func aSlowHandshakeIsTimedAsAWhole() throws {
        let test = try Self.server(limits: ServerLimits(headSeconds: 0.3))
        let slow = try test.client()
        let silent = try test.client()
        let greeting = try ClientTLS.greeting()
        let start = MonotonicNanos.now()
        try eventually { test.server.connectionCount == 2 }
        var sent = 0
        while sent < greeting.count - 1, test.server.connectionCount > 0 {
            slow.send([greeting[sent]])
            sent += 1
            usleep(10_000)
            // Others are served meanwhile.
            if sent % 10 == 0 {
                let other = try test.client()
                try other.startTLS()
                other.send(get("/close"))
                #expect(try other.response().status == 200)
                other.close()
            }
            if MonotonicNanos.now() > start.adding(seconds: 8) { break }
        }
        #expect(MonotonicNanos.now() >= start.adding(milliseconds: 290))
        #expect(try slow.isEndedByServer())
        #expect(try silent.isEndedByServer())
    }

    @Test(arguments: ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "DELETE /x HTTP/1.0\r\n\r\n", "x"])
    func plainTextIsToldSo(request: String) throws {
        let test = try Self.server()
        let client = try test.client()
        client.send(request)
        let response = try client.response()
        #expect(response.status == 400)
        #expect(response.body.contains("HTTPS"))
        client.endSending()
        #expect(try client.isEndedByServer())
        try eventually { test.server.connectionCount == 0 }
    }

    /// Garbage, a greeting of SSL 2, a greeting that claims 128 KiB, and records that hold no greeting.
    @Test(
        arguments: [
            [0x00, 0x01, 0x02], [0x80, 0x2E, 0x01, 0x00, 0x02], [0x16, 0x03, 0x01, 0x40, 0x00, 0x01, 0x01, 0xFF, 0x00],
            [0x16, 0x03, 0x01, 0x00, 0x04, 0x0B, 0x00, 0x00, 0x00], [0x17, 0x03, 0x03, 0x00, 0x01, 0x00],
            [0x16, 0x02, 0x00, 0x00, 0x01, 0x01],
        ] as [[UInt8]]
    )
    func garbageIsClosedCleanly(bytes: [UInt8]) throws {
        let test = try Self.server()
        let client = try test.client()
        let start = MonotonicNanos.now()
        client.send(bytes)
        // At most an alert, and then the end, not a reset; and at once, not when the time is over.
        #expect(try client.rest().utf8.count < 32)
        #expect(MonotonicNanos.now() < start.adding(seconds: 8))
        client.close()
        try eventually { test.server.connectionCount == 0 }
    }

    @Test func aGreetingInPiecesIsTaken() throws {
        let test = try Self.server()
        let client = try test.client()
        for byte in try ClientTLS.greeting() {
            client.send([byte])
            usleep(200)
        }
        #expect(!client.isSilent(milliseconds: 5_000))
    }

    /// A stream that is cut off is no end: half a request is not answered, and its connection is closed.
    @Test(arguments: [false, true])
    func aCutOffConnectionIsClosed(isReset: Bool) throws {
        let test = try Self.server()
        for path in ["handshake", "head", "body", "later"] {
            let client = try test.client()
            if path == "handshake" {
                client.send(Array(try ClientTLS.greeting().dropLast()))
            } else {
                try client.startTLS()
                let count = test.record.tickets.count
                switch path {
                case "head": client.send("GET /echo HTTP/1.1\r\nHost")
                case "body": client.send("POST /later HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell")
                default:
                    client.send(get("/later"))
                    try eventually { test.record.tickets.count == count + 1 }
                }
            }
            try eventually { test.server.connectionCount == 1 }
            if isReset { client.abort() } else { client.close() }
            if path == "later", !isReset {
                // Somebody who only ended may still read; the reply finds out.
                test.post(.replyAndClose(try #require(test.record.tickets.last), "x"))
            }
            try eventually { test.server.connectionCount == 0 }
        }
        #expect(test.record.tickets.count == 1)
    }

    @Test func manyClientsAtOnce() throws {
        let test = try Self.server(loops: 2)
        let clients = try (0..<60).map { _ in try test.client() }
        for client in clients { try client.startTLS() }
        for round in 0..<5 {
            for (index, client) in clients.enumerated() {
                client.send(get("/echo?\(round)-\(index)") + get("/size/4096"))
            }
            for (index, client) in clients.enumerated() {
                #expect(try client.response().body.contains("?\(round)-\(index) "))
                #expect(try client.response().body.utf8.count == 4_096)
            }
        }
    }
}
