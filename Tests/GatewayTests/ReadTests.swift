internal import Foundation
internal import TestSupport
internal import Testing

/// The gate's answers (contract section 5).
@Suite("Reading", .ownThread)
struct ReadTests {
    private static func read(
        _ gateway: RunningGateway,
        _ target: String,
        method: String = "GET",
        headers: [HTTPHeader] = []
    ) throws -> HTTPAnswer {
        try gateway.ask(method, target, key: RunningGateway.readKey, headers: headers)
    }

    @Test func anUnknownUserHasAnAnswerAndNoRow() throws {
        let gateway = try RunningGateway().start()
        for _ in 0..<2 {
            let answer = try gateway.entitlement(of: "nobody")
            let expected: JSONValue = [
                "user_id": "nobody", "entitlement": "pro", "entitled": false, "status": "none",
                "access_until": .null, "period_end": .null, "lifetime": false, "will_renew": false,
                "provider": .null, "store": .null, "product_id": .null, "purchase_id": .null,
                "management_url": .null, "environment": "production", "entitlements": [:], "version": 0,
                "updated_at": .null,
            ]
            #expect(answer == expected)
        }
        try gateway.stop()
        #expect(try SQLDatabase(gateway.database).integer("SELECT count(*) FROM subscription") == 0)
    }

    @Test func aPurchaseIsAnsweredWhole() throws {
        let gateway = try RunningGateway().start()
        let event = RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1")
        try gateway.deliver("revenuecat", event.body)
        let answer = try gateway.entitlement(of: "u1")
        let expected: [String: JSONValue] = [
            "user_id": "u1", "entitlement": "pro", "entitled": true, "status": "active",
            "access_until": .string(Clock.text(event.end)), "period_end": .string(Clock.text(event.end)),
            "lifetime": false, "will_renew": true, "provider": "revenuecat", "store": "app_store",
            "product_id": "pro_monthly", "purchase_id": "tx_1", "environment": "production",
            "entitlements": ["pro": .string(Clock.text(event.end))],
        ]
        for (name, value) in expected { #expect(answer[name] == value, "\(name)") }
        #expect(answer["version"]?.integer ?? 0 > 0)
        #expect(try gateway.entitlement(of: "u1", "entitlement=other")["status"] == "none")
        #expect(try gateway.entitlement(of: "u1", "entitlement=other")["version"] == answer["version"])
        #expect(try gateway.entitlement(of: "u1", "environment=sandbox")["version"] == 0)
        #expect(try Self.read(gateway, "/v1/entitlement?user_id=u1").json() == answer)
    }

    // MARK: - Tags and moments

    @Test func tagsKeepNoYesAlive() throws {
        let gateway = try RunningGateway().start()
        let end = Clock.millis + 1500
        try gateway.grant("u1", until: Clock.text(end))
        let target = "/v1/users/u1/entitlement"
        let first = try Self.read(gateway, target)
        let tag = try #require(first.header("ETag"))
        #expect(tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.utf8.count > 2)
        #expect(first.header("Cache-Control") == "private, no-cache")
        for list in [tag, "W/" + tag, "\"other\", " + tag, "\"other\"," + tag + ", \"more\"", "*"] {
            let known = try Self.read(gateway, target, headers: [HTTPHeader("If-None-Match", list)])
            #expect(known.status == 304, "\(list)")
            #expect(known.header("ETag") == tag && known.body.isEmpty)
            #expect(known.header("Cache-Control") == "private, no-cache")
        }
        for list in ["\"other\"", "", tag.dropLast() + "0\""] {
            #expect(try Self.read(gateway, target, headers: [HTTPHeader("If-None-Match", String(list))]).status == 200)
        }
        Thread.sleep(forTimeInterval: Double(end - Clock.millis) / 1000 + 0.02)
        let after = try Self.read(gateway, target, headers: [HTTPHeader("If-None-Match", tag)])
        #expect(after.status == 200)
        #expect(try after.json()["entitled"] == false)
        #expect(after.header("ETag") != tag)
        #expect(try after.json()["version"] == (try first.json()["version"]))
    }

    /// Two answers that differ in anything have two tags.
    @Test func differentAnswersHaveDifferentTags() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: Clock.text(secondsFromNow: 3600))
        let one = try Self.read(gateway, "/v1/users/u1/entitlement").header("ETag")
        try gateway.grant("u1", until: Clock.text(secondsFromNow: 7200))
        let two = try Self.read(gateway, "/v1/users/u1/entitlement").header("ETag")
        #expect(one != nil && one != two)
        let erased = try gateway.ask("DELETE", "/v1/users/u1")
        #expect(erased.status == 204)
        let three = try Self.read(gateway, "/v1/users/u1/entitlement").header("ETag")
        #expect(three != two && three != one)
    }

    @Test func theRowIsJudgedAtAMoment() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: "2030-01-01T00:00:00Z")
        for (moment, entitled) in [
            ("2029-12-31T23:59:59Z", true), ("2029-12-31T23:59:59.999Z", true), ("2030-01-01T00:00:00Z", false),
            ("2030-01-01T00:00:00.000Z", false), ("2030-01-01T01:00:00%2B02:00", true),
            ("2030-01-01T01:00:00+02:00", true), ("2029-12-31T23:30:00-01:00", false), ("2031-01-01T00:00:00z", false),
            ("2029-12-31t23:59:59Z", true), ("2029-12-31T23:59:59.123456789Z", true), ("1970-01-01T00:00:00Z", true),
            ("9999-12-31T23:59:59Z", false),
        ] {
            let answer = try gateway.entitlement(of: "u1", "at=\(moment)")
            #expect(answer["entitled"] == .bool(entitled), "\(moment)")
            #expect(answer["status"] == (entitled ? "active" : "expired"), "\(moment)")
        }
        for moment in [
            "", "now", "2030-01-01", "2030-01-01T00:00:00", "2030-13-01T00:00:00Z", "2030-02-30T00:00:00Z",
            "2030-01-01T25:00:00Z", "2030-01-01T00:00:00%20Z", "1893456000", "2030-01-01T00:00:00Zx", "%FF",
            "2030-01-01T00:00:00+99:00", "-2030-01-01T00:00:00Z",
        ] {
            let answer = try Self.read(gateway, "/v1/users/u1/entitlement?at=\(moment)")
            try Self.expectProblem(answer, 400, "bad_request", mentions: "at", "\(moment)")
        }
    }

    @Test func badScopesAreRefused() throws {
        let gateway = try RunningGateway().start()
        for (query, field) in [
            ("environment=test", "environment"), ("environment=", "environment"),
            ("environment=Production", "environment"),
            ("entitlement=", "entitlement"), ("entitlement=%FF", "entitlement"),
            ("entitlement=" + String(repeating: "e", count: 256), "entitlement"),
        ] {
            for path in ["/v1/users/u1/entitlement", "/v1/entitlement", "/v1/gate/u1"] {
                let user = path == "/v1/entitlement" ? "user_id=u1&" : ""
                let answer = try Self.read(gateway, "\(path)?\(user)\(query)")
                try Self.expectProblem(answer, 400, "bad_request", mentions: field, "\(path)?\(query)")
            }
        }
    }

    // MARK: - Methods

    @Test func headIsGetWithoutTheBody() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: "2030-01-01T00:00:00Z")
        for target in [
            "/v1/users/u1/entitlement", "/v1/gate/u1", "/v1/gate/u2", "/v1/users/u1", "/v1/events", "/healthz", "/x",
        ] {
            let get = try gateway.ask("GET", target)
            let head = try gateway.ask("HEAD", target)
            #expect(head.status == get.status, "\(target)")
            #expect(head.body.isEmpty)
            for name in ["Content-Type", "Content-Length", "ETag", "Cache-Control", "X-Entitled"] {
                #expect(head.header(name) == get.header(name), "\(target) \(name)")
            }
        }
    }

    @Test(arguments: [
        ("POST", "/v1/users/u1/entitlement", "GET, HEAD"), ("DELETE", "/v1/users/u1/entitlement", "GET, HEAD"),
        ("PUT", "/v1/users/u1", "GET, HEAD, DELETE"), ("GET", "/v1/users/u1/grants", "POST"),
        ("GET", "/v1/users/u1/grants/g1", "DELETE"), ("GET", "/v1/users/u1/identities", "POST"),
        ("POST", "/v1/entitlement", "GET, HEAD"), ("GET", "/v1/entitlements/query", "POST"),
        ("POST", "/v1/gate/u1", "GET, HEAD"), ("POST", "/v1/events", "GET, HEAD"), ("POST", "/healthz", "GET, HEAD"),
        ("DELETE", "/readyz", "GET, HEAD"), ("GET", "/v1/webhooks/stripe", "POST"),
        ("PATCH", "/v1/users/u1", "GET, HEAD, DELETE"),
    ])
    func anotherMethodIsRefused(method: String, target: String, allow: String) throws {
        let gateway = try RunningGateway().start()
        let answer = try gateway.ask(method, target)
        try Self.expectProblem(answer, 405, "method_not_allowed", "\(method) \(target)")
        #expect(answer.header("Allow") == allow)
    }

    // MARK: - User ids

    @Test func userIDsOfEveryKind() throws {
        let gateway = try RunningGateway().start()
        let long = String(repeating: "a", count: 255)
        let wide = String(repeating: "é", count: 127)
        for (path, id) in [
            ("a%20b", "a b"), ("a%2Fb", "a/b"), ("%75%31", "u1"), ("a+b", "a+b"), ("a%2Bb", "a+b"),
            ("caf%C3%A9", "café"), ("%F0%9F%8E%89", "🎉"), ("%25", "%"), ("a%3Fb%23c", "a?b#c"), ("a%22%5Cb", "a\"\\b"),
            ("...", "..."), ("x@example.com", "x@example.com"), (long, long),
            (String(repeating: "%C3%A9", count: 127), wide), ("a:b;c=d,e", "a:b;c=d,e"),
            ("Anonymous-1", "Anonymous-1"), ("00", "00"),
        ] {
            try gateway.grant(path, until: "2030-01-01T00:00:00Z")
            let answer = try gateway.entitlement(of: path)
            #expect(answer["entitled"] == true, "\(path)")
            #expect(answer["user_id"] == .string(id), "\(path)")
            let gate = try Self.read(gateway, "/v1/gate/\(path)")
            #expect(gate.status == 200)
            #expect(gate.header("X-User-Id")?.removingPercentEncoding == id, "\(path)")
        }
        // An é in two ways is two users: bytes are compared.
        #expect(try gateway.entitlement(of: "cafe%CC%81")["status"] == "none")
        #expect(try Self.read(gateway, "/v1/entitlement?user_id=a+b").json()["user_id"] == "a b")
        #expect(try Self.read(gateway, "/v1/entitlement?user_id=a%2Bb").json()["entitled"] == true)
    }

    @Test(arguments: [
        "%20a", "a%20", "%E2%80%A8x", "a%C2%A0", "a%0Ab", "a%00", "%7F", "%C2%85", "%FF", "%C3", "%ED%A0%80", "%2E",
        "%2E%2E",
        "null", "NULL", "Anonymous", "0", "-1", "%5B%5D", "%7B%7D", "%5Bobject%20Object%5D", "NaN", "(null)", "no_user",
        "unidentified", "undefined", "guest", "",
    ])
    func whatIsNoUserIDIsRefused(path: String) throws {
        let gateway = try RunningGateway().start()
        let targets = ["/v1/users/\(path)/entitlement", "/v1/entitlement?user_id=\(path)", "/v1/gate/\(path)"]
        for target in targets where !(path.isEmpty && target.contains("users")) {
            try Self.expectProblem(try Self.read(gateway, target), 400, "invalid_user_id", "\(target)")
        }
        let grant = try gateway.ask("POST", "/v1/users/\(path)/grants", body: #"{"until":null,"reason":"x"}"#)
        try Self.expectProblem(grant, 400, "invalid_user_id", "grant to \(path)")
        #expect(try gateway.ask("DELETE", "/v1/users/\(path)").status == 400)
    }

    @Test func userIDsHaveAtMost255Bytes() throws {
        let gateway = try RunningGateway().start()
        for path in [String(repeating: "a", count: 256), String(repeating: "%C3%A9", count: 128)] {
            try Self.expectProblem(
                try Self.read(gateway, "/v1/users/\(path)/entitlement"),
                400,
                "invalid_user_id",
                "256 bytes"
            )
        }
        #expect(try Self.read(gateway, "/v1/entitlement").status == 400)
    }

    @Test func theCaseOfAUUIDDoesNotCount() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("7D0C1F52-6A1E-4F0B-9B51-3E2F8F0A1C01", until: "2030-01-01T00:00:00Z")
        for id in ["7d0c1f52-6a1e-4f0b-9b51-3e2f8f0a1c01", "7D0C1F52-6A1E-4F0B-9B51-3E2F8F0A1C01"] {
            #expect(try gateway.entitlement(of: id)["entitled"] == true)
        }
        try gateway.grant("ABC", until: "2030-01-01T00:00:00Z")
        #expect(try gateway.entitlement(of: "abc")["entitled"] == false)
    }

    // MARK: - Many at once, and the gate

    @Test func manyUsersInOneQuestion() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u7", until: "2030-01-01T00:00:00Z", entitlement: "team")
        func query(_ body: String) throws -> HTTPAnswer {
            try gateway.ask("POST", "/v1/entitlements/query", key: RunningGateway.readKey, body: body)
        }
        let ids = (0..<1000).map { "\"u\($0)\"" }
        let answer = try query("{\"user_ids\": [\(ids.joined(separator: ","))], \"entitlement\": \"team\"}")
        #expect(answer.status == 200)
        let answers = try answer.json()["entitlements"]?.array ?? []
        #expect(answers.map(\.["user_id"]?.string) == (0..<1000).map { "u\($0)" })
        #expect(answers.filter { $0["entitled"] == true }.map(\.["user_id"]?.string) == ["u7"])
        #expect(answers.allSatisfy { $0["entitlement"] == "team" })
        #expect(answers[7] == (try gateway.entitlement(of: "u7", "entitlement=team")))
        #expect(try query(#"{"user_ids": []}"#).json()["entitlements"]?.array.isEmpty == true)
        #expect(try query(#"{"user_ids": ["u7", "u7"]}"#).json()["entitlements"]?.array.count == 2)

        let tooMany = try query("{\"user_ids\": [\((ids + ["\"u1000\""]).joined(separator: ","))]}")
        try Self.expectProblem(tooMany, 400, "bad_request", mentions: "user_ids", "1001")
        for (body, field) in [
            ("", "body"), ("{", "body"), ("[]", "body"), ("{}", "user_ids"), (#"{"user_ids": "u1"}"#, "user_ids"),
            (#"{"user_ids": ["u1"], "entitlement": 7}"#, "entitlement"),
            (#"{"user_ids": ["u1"], "environment": "x"}"#, "environment"),
        ] {
            try Self.expectProblem(try query(body), 400, "bad_request", mentions: field, "\(body)")
        }
        for id in ["\"\"", "\"null\"", "7", "null", "\" u\"", "\"a\\u0000\""] {
            let refused = try query("{\"user_ids\": [\"u1\", \(id)]}")
            try Self.expectProblem(refused, 400, "invalid_user_id", mentions: "user_ids/1", "\(id)")
        }
    }

    @Test func theGateSpeaksInHeaders() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("caf%C3%A9", until: Clock.text(secondsFromNow: 3600))
        let open = try Self.read(gateway, "/v1/gate/caf%C3%A9")
        #expect(open.status == 200)
        #expect(open.header("X-User-Id") == "caf%C3%A9")
        #expect(open.header("X-Entitled") == "true")
        #expect(open.header("Cache-Control")?.contains("no-cache") == true)
        let other = try Self.read(gateway, "/v1/gate/caf%C3%A9?entitlement=team")
        try Self.expectProblem(other, 403, "not_entitled", "another entitlement")
        #expect(other.header("X-Entitled") == nil)
        try Self.expectProblem(try Self.read(gateway, "/v1/gate/nobody"), 403, "not_entitled", "nobody")
        #expect(try Self.read(gateway, "/v1/gate/caf%C3%A9?environment=sandbox").status == 403)
        #expect(try gateway.ask("GET", "/v1/gate/caf%C3%A9", key: nil).status == 401)
    }

    // MARK: - Problems

    @Test func everyProblemHasItsShape() throws {
        let gateway = try RunningGateway(["PADDLE_WEBHOOK_SECRET": ""]).start()
        try gateway.grant("u1", until: "2030-01-01T00:00:00Z", id: "g1")
        let conflict = #"{"until":null,"reason":"another","grant_id":"g1"}"#
        for (method, target, body, status, code) in [
            ("GET", "/nothing", nil, 404, "not_found"), ("GET", "/", nil, 404, "not_found"),
            ("GET", "/v1/users/u1/nothing", nil, 404, "not_found"), ("GET", "/v1/users/u1/", nil, 404, "not_found"),
            ("POST", "/v1/webhooks/paypal", "{}", 404, "unknown_provider"),
            ("POST", "/v1/webhooks/paddle", "{}", 404, "provider_not_configured"),
            ("POST", "/v1/webhooks/app_store", "{}", 404, "provider_not_configured"),
            ("POST", "/v1/webhooks/stripe", "{}", 401, "unauthorized"),
            ("POST", "/v1/users/u1/grants", conflict, 409, "grant_conflict"),
            ("POST", "/v1/users/u1/grants", "{}", 400, "bad_request"),
            ("DELETE", "/v1/users/u1/grants/g2", nil, 404, "not_found"),
            ("GET", "/v1/events?outcome=lost", nil, 400, "bad_request"),
            ("GET", "/v1/events?limit=0", nil, 400, "bad_request"),
            ("GET", "/v1/events?limit=501", nil, 400, "bad_request"),
            ("GET", "/v1/events?after=x", nil, 400, "bad_request"),
            ("GET", "/v1/events?user_id=null", nil, 400, "invalid_user_id"),
            ("POST", "/v1/users/u1/identities", #"{"provider":"paypal","external_id":"1"}"#, 400, "bad_request"),
            ("GET", "/" + String(repeating: "x", count: 9000), nil, 414, "uri_too_long"),
        ] as [(String, String, String?, Int, String)] {
            let answer = try gateway.ask(method, target, body: body)
            try Self.expectProblem(answer, status, code, "\(method) \(target.prefix(40))")
        }
        let large = try gateway.ask("POST", "/v1/webhooks/stripe", body: String(repeating: "x", count: (1 << 20) + 1))
        try Self.expectProblem(large, 413, "payload_too_large", "1 MiB and a byte")
        let full = try gateway.ask("POST", "/v1/webhooks/stripe", body: String(repeating: "x", count: 1 << 20))
        try Self.expectProblem(full, 401, "unauthorized", "1 MiB")
        let header = HTTPHeader("X-Long", String(repeating: "x", count: 17_000))
        try Self.expectProblem(
            try gateway.ask("GET", "/healthz", headers: [header]),
            431,
            "headers_too_large",
            "headers"
        )
        let readOnly = try gateway.ask("GET", "/v1/users/u1", key: RunningGateway.readKey)
        try Self.expectProblem(readOnly, 403, "forbidden", "a read key")
    }

    /// Who has no key learns nothing: neither which check failed, nor who is known, nor what would be wrong besides.
    @Test func everyBadCredentialIsToldTheSame() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: "2030-01-01T00:00:00Z")
        var told: Set<String> = []
        func note(_ answer: HTTPAnswer, _ place: String) throws {
            try Self.expectProblem(answer, 401, "unauthorized", place)
            let headers = answer.headers.filter { !$0.isNamed("Date") }.map { "\($0.name): \($0.value)" }
            told.insert((headers + [answer.text]).joined(separator: "\n"))
        }
        let admin = RunningGateway.adminKey
        for value in [
            nil, "", "Bearer", "Bearer ", "Bearer wrong", "Bearer \(admin)x", "Bearer \(admin.dropLast())", admin,
            "Basic \(Data("\(admin):".utf8).base64EncodedString())", "Bearer  \(admin)", "bearer\(admin)",
            "Bearer \(admin.uppercased())", "Bearer " + String(repeating: "k", count: 4000), "Bearer \u{e9}",
            "Token \(admin)", "Bearer \(admin), Bearer \(admin)",
        ] {
            let headers = value.map { [HTTPHeader("Authorization", $0)] } ?? []
            for (method, target, body) in [
                ("GET", "/v1/users/u1/entitlement", nil), ("GET", "/v1/users/unknown/entitlement", nil),
                ("GET", "/v1/users/null/entitlement", nil), ("GET", "/v1/users/u1/entitlement?at=never", nil),
                ("GET", "/v1/entitlement", nil), ("GET", "/v1/gate/u1", nil), ("GET", "/v1/users/u1", nil),
                ("DELETE", "/v1/users/u1", nil), ("GET", "/v1/events?limit=x", nil),
                ("POST", "/v1/entitlements/query", "{"), ("POST", "/v1/users/u1/grants", "{}"),
                ("DELETE", "/v1/users/u1/grants/g", nil), ("POST", "/v1/users/u1/identities", "{}"),
            ] as [(String, String, String?)] {
                let answer = try gateway.ask(method, target, key: nil, body: body, headers: headers)
                try note(answer, "\(method) \(target) with \(value ?? "nothing")")
                #expect(answer.header("WWW-Authenticate") == "Bearer")
            }
        }
        #expect(told.count == 1, "\(told)")
        // The scheme's name has no case (RFC 9110, section 11.1).
        for value in ["bearer \(admin)", "BEARER \(admin)"] {
            let headers = [HTTPHeader("Authorization", value)]
            #expect(try gateway.ask("GET", "/v1/gate/u1", key: nil, headers: headers).status == 200)
        }
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
    }

    @Test func everyBadDeliveryIsToldTheSame() throws {
        let gateway = try RunningGateway().start()
        var told: Set<String> = []
        for provider in WebhookSigner.providers {
            let body = Array(try Samples.all(of: provider)[0].event.compact.utf8)
            let good = WebhookSigner.request(provider, body)
            var bad: [HTTPRequest] = []
            for place in good.headers.indices {
                var missing = good
                missing.headers.remove(at: place)
                var changed = good
                changed.headers[place].value = "x" + changed.headers[place].value.dropFirst()
                var empty = good
                empty.headers[place].value = ""
                bad += [missing, changed, empty]
            }
            if provider != "revenuecat" {
                var other = good
                other.body = body + [0x20]
                bad.append(other)
            }
            for request in bad {
                let answer = try gateway.send(request)
                try Self.expectProblem(answer, 401, "unauthorized", provider)
                told.insert(answer.text)
            }
        }
        #expect(told.count == 1, "\(told)")
        #expect(try gateway.ask("GET", "/v1/events").json()["events"]?.array.isEmpty == true)
    }

    /// RFC 9457 and a stable code; nothing of a problem is kept by anyone.
    static func expectProblem(
        _ answer: HTTPAnswer,
        _ status: Int,
        _ code: String,
        mentions field: String? = nil,
        _ place: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(answer.status == status, "\(place): \(answer.text)", sourceLocation: sourceLocation)
        #expect(
            answer.header("Content-Type")?.hasPrefix("application/problem+json") == true,
            "\(place)",
            sourceLocation: sourceLocation
        )
        guard let problem = try? answer.json() else {
            Issue.record("\(place): no JSON: \(answer.text)", sourceLocation: sourceLocation)
            return
        }
        #expect(problem["status"]?.integer == Int64(status), "\(place)", sourceLocation: sourceLocation)
        #expect(problem["code"]?.string == code, "\(place)", sourceLocation: sourceLocation)
        for name in ["type", "title", "detail"] {
            #expect(problem[name]?.string?.isEmpty == false, "\(place): \(name)", sourceLocation: sourceLocation)
        }
        #expect(answer.header("X-Entitled") == nil, "\(place)", sourceLocation: sourceLocation)
        if let field {
            #expect(
                problem["detail"]?.string?.contains(field) == true,
                "\(place): \(answer.text)",
                sourceLocation: sourceLocation
            )
        }
    }
}
