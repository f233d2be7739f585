internal import Foundation
internal import TestSupport
internal import Testing

/// Real proxies that let the gateway decide: a protected page opens for who is entitled, and within a second of the purchase.
@Suite("Proxies", .ownThread)
struct ProxyTests {
    /// A proxy in front of a page, and what it is to be stopped with.
    private final class Proxy {
        private let proxy: RunningProxy
        private let page: LoopbackServer

        var port: UInt16 { proxy.port }

        init(
            _ program: String,
            in folder: TemporaryFolder,
            arguments: (String) -> [String],
            config: (UInt16, UInt16) -> String
        )
            throws
        {
            let page = try LoopbackServer { peer in
                while let head = peer.readHead() {
                    let user =
                        head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("x-user-id:") } ?? "nobody"
                    let body = "the page for \(user.split(separator: " ").last ?? "")"
                    peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                }
            }
            self.page = page
            proxy = try RunningProxy(program, in: folder, asking: "/open", arguments: arguments) { port in
                config(port, page.port)
            }
        }

        func get(_ path: String, token: String?, cookie: String? = nil) throws -> HTTPAnswer {
            var headers = token.map { [HTTPHeader("Authorization", "Bearer \($0)")] } ?? []
            if let cookie { headers.append(HTTPHeader("Cookie", "session=\(cookie)")) }
            return try HTTPConnection(port: port).send(HTTPRequest(target: path, headers: headers), seconds: 10)
        }
    }

    private func check(_ gateway: RunningGateway, _ proxy: Proxy, _ issuer: TestIssuer) throws {
        let (paying, other) = (issuer.token(), issuer.token(["sub": "u2"]))
        #expect(try proxy.get("/pro", token: nil).status == 401)
        #expect(try proxy.get("/pro", token: "nonsense").status == 401)
        #expect(try proxy.get("/pro", token: paying).status == 403)
        #expect(try proxy.get("/pro", token: other).status == 403)
        try gateway.deliver("stripe", IdentityTests.subscription(1, customer: "cus_1", user: "u1"))
        let bought = ContinuousClock.now
        var opened = try proxy.get("/pro", token: paying)
        while opened.status != 200, ContinuousClock.now - bought < .seconds(1) {
            Thread.sleep(forTimeInterval: 0.02)
            opened = try proxy.get("/pro", token: paying)
        }
        #expect(opened.status == 200, "\(opened.status) \(opened.text)")
        #expect(opened.text == "the page for u1")
        #expect(try proxy.get("/pro", token: nil, cookie: paying).text == "the page for u1")
        #expect(try proxy.get("/pro", token: other).status == 403)
        // Who says of themselves who they are is not believed.
        let forged = HTTPRequest(
            target: "/pro",
            headers: [HTTPHeader("X-User-Id", "u1"), HTTPHeader("X-Entitled", "true")]
        )
        #expect(try HTTPConnection(port: proxy.port).send(forged, seconds: 10).status == 401)
    }

    private static let cookie = #","cookie":"session""#

    @Test(.enabled(if: InstalledProgram.path(of: "nginx") != nil, "nginx is not installed: scripts/test installs it"))
    func nginx() throws {
        let issuer = try TestIssuer()
        let gateway = try RunningGateway(config: issuer.config(entry: Self.cookie)).start()
        let proxy = try Proxy(
            try #require(InstalledProgram.path(of: "nginx")),
            in: gateway.folder,
            arguments: { ["-e", "nginx.log", "-p", gateway.folder.path, "-c", $0] },
            config: { port, page in
                """
                daemon off;
                pid nginx.pid;
                worker_processes 1;
                events {}
                http {
                    access_log off;
                    \(RunningProxy.nginxFolders)
                    server {
                        listen 127.0.0.1:\(port);
                        location /open { return 200 "open"; }
                        location /pro {
                            auth_request /gate;
                            auth_request_set $user $upstream_http_x_user_id;
                            proxy_set_header X-User-Id $user;
                            proxy_pass http://127.0.0.1:\(page);
                        }
                        location = /gate {
                            internal;
                            proxy_pass http://\(gateway.listen)/v1/gate;
                            proxy_pass_request_body off;
                            proxy_set_header Content-Length "";
                        }
                    }
                }
                """
            }
        )
        try check(gateway, proxy, issuer)
    }

    @Test(.enabled(if: InstalledProgram.path(of: "caddy") != nil, "Caddy is not installed: scripts/test installs it"))
    func caddy() throws {
        let issuer = try TestIssuer()
        let gateway = try RunningGateway(config: issuer.config(entry: Self.cookie)).start()
        let proxy = try Proxy(
            try #require(InstalledProgram.path(of: "caddy")),
            in: gateway.folder,
            arguments: { ["run", "--adapter", "caddyfile", "--config", $0] },
            config: { port, page in
                """
                {
                    admin off
                    auto_https off
                }
                http://127.0.0.1:\(port) {
                    respond /open "open"
                    handle /pro* {
                        forward_auth \(gateway.listen) {
                            uri /v1/gate
                            copy_headers X-User-Id
                        }
                        reverse_proxy 127.0.0.1:\(page)
                    }
                }
                """
            }
        )
        try check(gateway, proxy, issuer)
    }
}
