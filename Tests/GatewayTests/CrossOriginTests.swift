internal import Foundation
internal import TestSupport
internal import Testing

/// Which web pages may read an answer (`cors`).
@Suite("Web pages", .ownThread)
struct CrossOriginTests {
    private static let page = HTTPHeader("Origin", "https://app.example.com")
    private static let other = HTTPHeader("Origin", "https://evil.example.com")

    private func allowed(_ answer: HTTPAnswer) -> String? { answer.header("Access-Control-Allow-Origin") }

    @Test func onlyTheNamedPagesAndPaths() throws {
        let issuer = try TestIssuer()
        let gateway = try RunningGateway(config: issuer.config(more: #","cors":["https://app.example.com"]"#)).start()
        try gateway.grant("u1", until: nil)
        let asked = try gateway.ask("OPTIONS", "/v1/me/entitlement", key: nil, headers: [Self.page])
        #expect(asked.status == 204 && allowed(asked) == Self.page.value)
        #expect(asked.header("Access-Control-Allow-Headers")?.contains("Authorization") == true)
        let token = issuer.token()
        // The first request of a gateway waits for the issuer's keys, and its answer is for the page too.
        for _ in 0..<2 {
            let answer = try gateway.ask("GET", "/v1/me/entitlement", key: token, headers: [Self.page])
            #expect(answer.status == 200 && allowed(answer) == Self.page.value)
            #expect(answer.header("Vary")?.contains("Origin") == true)
        }
        let refused = try gateway.ask("GET", "/v1/me/entitlement", key: "x", headers: [Self.page])
        #expect(refused.status == 401 && allowed(refused) == Self.page.value)
        let body = #"{"device_id":"d1"}"#
        let written = try gateway.ask("POST", "/v1/me/devices", key: token, body: body, headers: [Self.page])
        #expect(written.status == 200 && allowed(written) == Self.page.value)
        let wrong = #"{"license_key":"AAAA-BBBB-CCCC","device_id":"d1"}"#
        let license = try gateway.ask("POST", "/v1/licenses/activate", key: nil, body: wrong, headers: [Self.page])
        #expect(license.status == 404 && allowed(license) == Self.page.value)
        #expect(try allowed(gateway.ask("GET", "/v1/me/entitlement", key: token, headers: [Self.other])) == nil)
        #expect(try allowed(gateway.ask("OPTIONS", "/v1/me/entitlement", key: nil, headers: [Self.other])) == nil)
        #expect(try allowed(gateway.ask("GET", "/v1/users/u1/entitlement", headers: [Self.page])) == nil)
        #expect(try allowed(gateway.ask("GET", "/v1/me/entitlement", key: token)) == nil)
    }

    @Test func aPageThatWaitsIsTheOneThatIsAnswered() throws {
        let issuer = try TestIssuer()
        let gateway = try RunningGateway(config: issuer.config(more: #","cors":["https://app.example.com"]"#)).start()
        try gateway.grant("u1", until: nil)
        let answer = try gateway.ask(
            "GET",
            "/v1/me/entitlement?wait=1&after=1000",
            key: issuer.token(),
            headers: [Self.page]
        )
        #expect(answer.status == 200 && allowed(answer) == Self.page.value)
    }

    @Test func withoutSettingNoPage() throws {
        let gateway = try RunningGateway().start()
        #expect(try allowed(gateway.ask("GET", "/v1/me/entitlement", key: nil, headers: [Self.page])) == nil)
        let keys = try gateway.ask("GET", "/.well-known/jwks.json", key: nil, headers: [Self.page])
        #expect(keys.status == 200 && allowed(keys) == "*")
    }
}
