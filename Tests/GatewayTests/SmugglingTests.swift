internal import Foundation
internal import TestSupport
internal import Testing

/// Where does a request end? The gateway has one answer, and no proxy in front of it has another one.
///
/// Each ambiguous request is followed, on the same connection and in the same piece, by one that asks for the user `next`.
@Suite("Request smuggling", .ownThread)
struct SmugglingTests {
    private static let next = Array(AmbiguousRequest.read("next", "Connection: close\r\n").utf8)

    @Test func theTableIsLargeAndItsNamesDiffer() {
        #expect(AmbiguousRequest.all.count >= 100)
        #expect(Set(AmbiguousRequest.all.map(\.name)).count == AmbiguousRequest.all.count)
    }

    /// The status lines of everything that came, interim ones left out.
    private static func statuses(_ text: String) -> [Int] {
        text.components(separatedBy: "HTTP/1.1 ").dropFirst().compactMap { Int($0.prefix(3)) }.filter { $0 >= 200 }
    }

    private static func count(_ word: String, in text: String) -> Int { text.components(separatedBy: word).count - 1 }

    private static func answered(_ user: String, in text: String) -> Int {
        count("\"user_id\":\"\(user)\"", in: text)
    }

    /// The gateway itself: the right statuses, nothing smuggled, and the next request read exactly when the connection goes on.
    @Test func theGatewayKnowsWhereARequestEnds() throws {
        let gateway = try RunningGateway().start()
        for request in AmbiguousRequest.all {
            let text = try WireStream.exchange(port: gateway.port, request.bytes + Self.next)
            #expect(Self.statuses(text) == request.answers + (request.ends ? [] : [200]), "\(request.name): \(text)")
            #expect(Self.answered("smuggled", in: text) == 0, "\(request.name)")
            #expect(Self.answered("next", in: text) == (request.ends ? 0 : 1), "\(request.name)")
            #expect(!request.ends || text.lowercased().contains("\r\nconnection: close\r\n"), "\(request.name)")
        }
        try gateway.stop()
    }

    /// However the bytes are cut into pieces, on a connection of the running gateway.
    @Test func piecesMakeNoDifference() throws {
        let gateway = try RunningGateway().start()
        for request in AmbiguousRequest.all where request.bytes.count < 1_000 {
            let whole = try WireStream.exchange(port: gateway.port, request.bytes + Self.next)
            let stream = try WireStream(port: gateway.port)
            let bytes = request.bytes + Self.next
            let cut = bytes.count / 3
            for piece in [bytes[..<cut], bytes[cut..<(2 * cut)], bytes[(2 * cut)...]] {
                stream.send(Array(piece))
                Thread.sleep(forTimeInterval: 0.001)
            }
            var received: [UInt8] = []
            while let more = stream.receive(), !more.isEmpty { received += more }
            let pieces = String(decoding: received, as: UTF8.self)
            #expect(Self.statuses(pieces) == Self.statuses(whole), "\(request.name)")
            #expect(Self.answered("next", in: pieces) == Self.answered("next", in: whole), "\(request.name)")
        }
        try gateway.stop()
    }

    // MARK: - Behind proxies

    /// What the proxy sent back of the gateway, and what the gateway said: as many answers, to the same requests. Whoever uses
    /// the proxy next, on connections that it keeps, is answered what they asked.
    ///
    /// - Parameter arguments: Of the program; `FOLDER` stands for the test's folder, `FILE` for the configuration.
    private func check(
        _ program: String,
        _ arguments: [String],
        config: (_ port: UInt16, _ gateway: UInt16) -> String
    ) throws {
        let gateway = try RunningGateway().start()
        let tap = try WireTap(to: gateway.port)
        let proxy = try RunningProxy(
            try #require(InstalledProgram.path(of: program)),
            in: gateway.folder,
            asking: "/healthz",
            arguments: { file in
                arguments.map { $0 == "FOLDER" ? gateway.folder.path : $0 == "FILE" ? file : $0 }
            },
            config: { config($0, tap.port) }
        )
        var (refused, passed) = (0, 0)
        _ = tap.takeAnswers()
        for (number, request) in AmbiguousRequest.all.enumerated() {
            let got = try WireStream.exchange(port: proxy.port, request.bytes + Self.next)
            // The mark is the proxy's own, on what came from the gateway. An answer without a head is one, too: that of HTTP/0.9,
            // which nginx speaks.
            let isHeadless = got.hasPrefix("{")
            let forwarded = Self.count("x-from-gateway:", in: got.lowercased()) + (isHeadless ? 1 : 0)
            var said = tap.takeAnswers()
            for turn in 0..<2 {
                let name = "witness-\(number)-\(turn)"
                let read = RunningGateway.request("GET", "/v1/users/\(name)/entitlement", key: RunningGateway.readKey)
                let answer = try HTTPConnection(port: proxy.port).send(read, seconds: 30)
                #expect(Self.answered(name, in: answer.text) == 1, "\(request.name): \(answer.status) \(answer.text)")
            }
            said += tap.takeAnswers()
            let answers = Self.count("\r\nDate: ", in: said) - 2
            #expect(answers == forwarded, "\(request.name):\n\(got)\nand the gateway:\n\(said)")
            for user in ["smuggled", "next"] {
                let (seen, told) = (Self.answered(user, in: said), Self.answered(user, in: got))
                #expect(seen == told, "\(request.name) (\(user)):\n\(got)\nand the gateway:\n\(said)")
            }
            if forwarded == 0 { refused += 1 } else { passed += 1 }
        }
        // Both happen, or nothing was tried.
        #expect(refused > 20 && passed > 10, "\(refused) refused by the proxy, \(passed) passed on")
        try gateway.stop()
    }

    @Test(.enabled(if: InstalledProgram.path(of: "nginx") != nil, "nginx is not installed: scripts/test installs it"))
    func nginxAgrees() throws {
        try check("nginx", ["-e", "nginx.log", "-p", "FOLDER", "-c", "FILE"]) { port, gateway in
            """
            daemon off;
            pid nginx.pid;
            worker_processes 1;
            events {}
            http {
                access_log off;
                \(RunningProxy.nginxFolders)
                client_header_timeout 2s; client_body_timeout 2s; keepalive_timeout 5s;
                upstream gateway { server 127.0.0.1:\(gateway); keepalive 8; }
                server {
                    listen 127.0.0.1:\(port);
                    location / {
                        proxy_pass http://gateway;
                        proxy_http_version 1.1;
                        proxy_set_header Connection "";
                        proxy_request_buffering off;
                        add_header X-From-Gateway $upstream_http_date always;
                    }
                }
            }
            """
        }
    }

    @Test(
        .enabled(if: InstalledProgram.path(of: "haproxy") != nil, "HAProxy is not installed: scripts/test installs it")
    )
    func haproxyAgrees() throws {
        try check("haproxy", ["-db", "-f", "FILE"]) { port, gateway in
            """
            global
                maxconn 200
                nbthread 1
            defaults
                mode http
                timeout connect 10s
                timeout client 2s
                timeout server 5s
                timeout http-request 2s
                timeout http-keep-alive 2s
                http-reuse always
            frontend public
                bind 127.0.0.1:\(port)
                default_backend gateway
            backend gateway
                http-response set-header X-From-Gateway 1
                server gateway 127.0.0.1:\(gateway)

            """
        }
    }

    @Test(.enabled(if: InstalledProgram.path(of: "caddy") != nil, "Caddy is not installed: scripts/test installs it"))
    func caddyAgrees() throws {
        try check("caddy", ["run", "--adapter", "caddyfile", "--config", "FILE"]) { port, gateway in
            """
            {
                admin off
                auto_https off
                servers {
                    timeouts {
                        read_header 2s
                        read_body 2s
                        idle 3s
                    }
                }
            }
            http://:\(port) {
                bind 127.0.0.1
                reverse_proxy 127.0.0.1:\(gateway) {
                    header_down X-From-Gateway 1
                }
            }
            """
        }
    }
}
