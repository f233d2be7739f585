internal import Foundation
internal import TestSupport
internal import Testing

/// What a signed-in person may ask (contract sections 3 and 5).
@Suite("User tokens", .ownThread)
struct UserTokenTests {
    private func status(_ gateway: RunningGateway, _ token: String?, _ path: String = "/v1/me/entitlement") throws
        -> Int
    {
        try gateway.ask("GET", path, key: token).status
    }

    @Test(arguments: [(SigningKey.Kind.rsa, "RS256"), (.p256, "ES256"), (.ed25519, "EdDSA")])
    func everyKindOfKey(kind: SigningKey.Kind, algorithm: String) throws {
        let issuer = try TestIssuer(kind)
        let gateway = try RunningGateway(config: issuer.config(algorithm)).start()
        try gateway.grant("u1", until: nil)
        let answer = try gateway.ask("GET", "/v1/me/entitlement", key: issuer.token(algorithm: algorithm))
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try answer.json()["user_id"] == "u1" && answer.json()["entitled"] == true)
        #expect(try status(gateway, issuer.token(algorithm: algorithm, signedBy: SigningKey(kind))) == 401)
    }

    @Test func everyClaimIsChecked() throws {
        let issuer = try TestIssuer()
        let gateway = try RunningGateway(config: issuer.config()).start()
        let now = Clock.millis / 1000
        let good: [[String: JSONValue]] = [
            [:], ["aud": ["other", "app"]], ["nbf": .integer(now - 5)], ["exp": .integer(now - 5)],
            ["nbf": .integer(now + 5)],
        ]
        for claims in good { #expect(try status(gateway, issuer.token(claims)) == 200, "\(claims)") }
        let bad: [[String: JSONValue]] = [
            ["exp": .null], ["exp": .integer(now - 60)], ["exp": "soon"], ["exp": true], ["nbf": .integer(now + 60)],
            ["nbf": "later"], ["aud": .null], ["aud": "other"], ["aud": ["other"]], ["aud": []], ["iss": .null],
            ["iss": "https://id.example.com/"], ["sub": .null], ["sub": ""], ["sub": "null"], ["sub": "undefined"],
            ["sub": ["u1"]],
        ]
        for claims in bad { #expect(try status(gateway, issuer.token(claims)) == 401, "\(claims)") }
    }

    /// The configuration names the algorithm, never the token.
    @Test func theTokenDoesNotChooseItsAlgorithm() throws {
        let issuer = try TestIssuer()
        let gateway = try RunningGateway(config: issuer.config()).start()
        #expect(try status(gateway, issuer.token()) == 200)
        let payload = SigningKey.base64URL(TestIssuer.payload([:]))
        for header in ["{\"alg\":\"none\"}", "{\"alg\":\"None\"}", "{\"alg\":\"none\",\"kid\":\"first\"}", "{}"] {
            for signature in ["", "AAAA"] {
                let token = SigningKey.base64URL(header.utf8) + "." + payload + "." + signature
                #expect(try status(gateway, token) == 401, "\(header)")
            }
        }
        // The published key as a secret.
        for secret in [TestIssuer.secret, "", issuer.url] {
            let confused = TestIssuer.shared(secret: secret, header: "{\"alg\":\"HS256\",\"kid\":\"first\"}")
            #expect(try status(gateway, confused) == 401)
        }
        #expect(try status(gateway, issuer.token(algorithm: "RS384")) == 401)
        #expect(try status(gateway, issuer.token(algorithm: "ES256")) == 401)
        let critical = "{\"alg\":\"RS256\",\"kid\":\"first\",\"crit\":[\"exp\"]}"
        #expect(try status(gateway, TestIssuer.shared(header: critical)) == 401)
        for token in ["", ".", "..", "a.b.c", "a.b", String(repeating: "a", count: 5000)] {
            #expect(try status(gateway, token) == 401, "\(token.prefix(20))")
        }
        #expect(try status(gateway, nil) == 401)
    }

    /// An issuer changes its key: the first token with the new one is taken, and made-up names cost it nothing.
    @Test func aNewKeyIsFetchedWhenItsNameIsNotKnown() throws {
        let issuer = try TestIssuer()
        let gateway = try RunningGateway(config: issuer.config()).start()
        #expect(try status(gateway, issuer.token()) == 200)
        let old = issuer.token(["sub": "u2"])
        issuer.rotate(to: "second")
        #expect(try status(gateway, issuer.token()) == 200)
        // The old key is published no more, so it is nobody's.
        #expect(try status(gateway, old) == 401)
        for number in 0..<30 {
            #expect(try status(gateway, issuer.token(["sub": .string("x\(number)")], kid: "made-up-\(number)")) == 401)
        }
        #expect(issuer.fetches < 12, "\(issuer.fetches)")
        #expect(try status(gateway, issuer.token()) == 200)
    }

    @Test func anIssuersBadHourIsNotTheSellers() throws {
        let issuer = try TestIssuer()
        issuer.goDown()
        let gateway = try RunningGateway(config: issuer.config()).start()
        let answer = try gateway.ask("GET", "/v1/me/entitlement", key: issuer.token())
        #expect(answer.status == 503 && answer.header("Retry-After") != nil)
        #expect(try answer.json()["code"] == "keys_unavailable")
        issuer.comeUp()
        #expect(try status(gateway, issuer.token()) == 200)
        issuer.goDown()
        #expect(try status(gateway, issuer.token(["sub": "u2"])) == 200)
        #expect(try status(gateway, issuer.token(kid: "unknown")) == 401)
    }

    @Test func aSharedSecretMayBeTwo() throws {
        let config = """
            {"jwt":[{"issuer":"\(TestIssuer.name)","audience":["web","app"],"algorithms":["HS256"],"secret_env":"S",
            "user_id_claim":"/app/id","user_id_prefix":"a:","cookie":"session","leeway_seconds":0}]}
            """
        let secrets = "a first secret of the tests," + TestIssuer.secret
        let gateway = try RunningGateway(["S": secrets], config: config).start()
        try gateway.grant("a:7", until: nil)
        let claims: [String: JSONValue] = ["app": ["id": 7], "sub": .null]
        for secret in ["a first secret of the tests", TestIssuer.secret] {
            let answer = try gateway.ask("GET", "/v1/me/entitlement", key: TestIssuer.shared(claims, secret: secret))
            #expect(try answer.json()["user_id"] == "a:7" && answer.json()["entitled"] == true)
        }
        #expect(try status(gateway, TestIssuer.shared(claims, secret: secrets)) == 401)
        // A cookie is enough to read, and not to change anything.
        let cookie = HTTPHeader("Cookie", "theme=dark; session=\(TestIssuer.shared(claims)); x=y")
        #expect(try gateway.ask("GET", "/v1/me/entitlement", key: nil, headers: [cookie]).status == 200)
        #expect(try gateway.ask("GET", "/v1/gate", key: nil, headers: [cookie]).status == 200)
        let body = "{\"device_id\":\"d1\"}"
        #expect(try gateway.ask("POST", "/v1/me/devices", key: nil, body: body, headers: [cookie]).status == 401)
        #expect(try gateway.ask("GET", "/v1/me/entitlement", key: "wrong", headers: [cookie]).status == 401)
    }

    @Test func aUserTokenOpensNothingElse() throws {
        let issuer = try TestIssuer()
        let gateway = try RunningGateway(config: issuer.config()).start()
        let token = issuer.token()
        for (method, path) in [
            ("GET", "/v1/users/u1/entitlement"), ("GET", "/v1/gate/u1"), ("GET", "/v1/users/u1"), ("GET", "/v1/events"),
            ("POST", "/v1/users/u1/grants"), ("DELETE", "/v1/users/u1"), ("POST", "/v1/licenses"),
            ("POST", "/v1/entitlements/query"),
        ] {
            #expect(try gateway.ask(method, path, key: token, body: method == "POST" ? "{}" : nil).status == 401)
        }
        // And a seller's key is no user.
        for key in [RunningGateway.adminKey, RunningGateway.readKey] {
            #expect(try gateway.ask("GET", "/v1/me/entitlement", key: key).status == 401)
            #expect(try gateway.ask("GET", "/v1/gate", key: key).status == 401)
        }
    }

    @Test func theGateTellsWhoItIs() throws {
        let issuer = try TestIssuer()
        let gateway = try RunningGateway(config: issuer.config()).start()
        try gateway.grant("a%2Fb%20%C3%BC", until: nil)
        try gateway.grant("u2", until: nil, entitlement: "theatre")
        let open = try gateway.ask("GET", "/v1/gate", key: issuer.token(["sub": "a/b ü"]))
        #expect(open.status == 200 && open.header("X-User-Id") == "a%2Fb%20%C3%BC")
        #expect(open.header("X-Entitled") == "true")
        let closed = try gateway.ask("GET", "/v1/gate", key: issuer.token(["sub": "u2"]))
        #expect(closed.status == 403 && closed.header("X-Entitled") == nil)
        #expect(try gateway.ask("GET", "/v1/gate?entitlement=theatre", key: issuer.token(["sub": "u2"])).status == 200)
        let wait = try gateway.ask("GET", "/v1/me/entitlement?wait=1&after=0", key: issuer.token(["sub": "u2"]))
        #expect(wait.status == 200)
        let tag = try #require(wait.header("ETag"))
        let again = try gateway.ask(
            "GET",
            "/v1/me/entitlement",
            key: issuer.token(["sub": "u2"]),
            headers: [HTTPHeader("If-None-Match", tag)]
        )
        #expect(again.status == 304)
    }

    @Test(
        "a configuration that cannot work stops the start",
        arguments: [
            (#"{"jwt":[{"audience":"a","algorithms":["HS256"],"secret_env":"S"}]}"#, "/jwt/0/issuer"),
            (#"{"jwt":[{"issuer":"i","algorithms":["HS256"],"secret_env":"S"}]}"#, "/jwt/0/audience"),
            (#"{"jwt":[{"issuer":"i","audience":"a","secret_env":"S"}]}"#, "/jwt/0/algorithms"),
            (#"{"jwt":[{"issuer":"i","audience":"a","algorithms":["none"]}]}"#, "/jwt/0/algorithms/0"),
            (#"{"jwt":[{"issuer":"i","audience":"a","algorithms":["RS256"]}]}"#, "/jwt/0/jwks"),
            (#"{"jwt":[{"issuer":"i","audience":"a","algorithms":["HS256"]}]}"#, "/jwt/0/secret_env"),
            (#"{"jwt":[{"issuer":"i","audience":"a","algorithms":["HS256"],"secret_env":"NO"}]}"#, "NO"),
            (
                #"{"jwt":[{"issuer":"i","audience":"a","algorithms":["RS256"],"jwks":"http://a.example/k"}]}"#,
                "/jwt/0/jwks"
            ),
            (#"{"jwt":[{"issuer":"i","audience":"a","algorithms":["RS256"],"jwks":"nowhere.json"}]}"#, "nowhere.json"),
            (#"{"jwt":[{"issuer":"i","audience":"a","algorithms":["HS256"],"secret":"x"}]}"#, "/jwt/0/secret"),
            (#"{"licenses":{"max_devices":0}}"#, "/licenses/max_devices"),
            (#"{"licenses":{"issue_on":["nobody"]}}"#, "nobody"), (#"{"licenses":{"seats":3}}"#, "/licenses/seats"),
            (#"{"cors":["https://a.example/path"]}"#, "/cors/0"),
            (#"{"trusted_proxies":["proxy"]}"#, "/trusted_proxies/0"),
            (#"{"public_url":"entitlements"}"#, "/public_url"), (#"{"claim_by_email":"yes"}"#, "/claim_by_email"),
        ]
    )
    func wrongConfiguration(config: String, named: String) throws {
        let gateway = try RunningGateway(["S": "a secret"], config: config)
        let result = try gateway.run(["serve"])
        #expect(result.status == .exited(1))
        #expect(result.errors.contains(named), "\(result.errors)")
    }
}
