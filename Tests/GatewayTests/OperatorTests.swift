internal import Foundation
internal import TestSupport
internal import Testing

/// What is for operators only: an address of their own, and the record of what they did (contract sections 3 and 6).
@Suite("Operators", .ownThread)
struct OperatorTests {
    /// Every route that an operator's address takes away from the public one.
    private static let hidden: [(method: String, path: String)] = [
        ("GET", "/v1/users/u1"), ("DELETE", "/v1/users/u1"), ("PUT", "/v1/users/u1"),
        ("POST", "/v1/users/u1/grants"), ("DELETE", "/v1/users/u1/grants/g1"), ("POST", "/v1/users/u1/identities"),
        ("GET", "/v1/events"), ("POST", "/v1/events/creem/evt_1/replay"), ("GET", "/v1/audit"), ("GET", "/metrics"),
        ("POST", "/v1/audit"), ("GET", "/admin"), ("GET", "/v1/providers"), ("GET", "/v1/purchases/parked"),
        ("GET", "/v1/purchases/overlapping"),
        ("POST", "/v1/audit"), ("GET", "/admin"), ("POST", "/v1/licenses"), ("GET", "/v1/licenses/l1"),
        ("DELETE", "/v1/licenses/l1"), ("POST", "/v1/licenses/l1/key"), ("GET", "/v1/notifications"),
        ("GET", "/v1/users/u1/export"),
    ]

    // EVIDENCE ADMIN-1
    @Test func theyHaveAnAddressOfTheirOwn() throws {
        let gateway = try RunningGateway(config: #"{"metrics": "open"}"#)
        let adminPort = try FreePorts.claim()
        gateway.environment["GATEWAY_ADMIN_LISTEN"] = "127.0.0.1:\(adminPort)"
        try gateway.start()
        let admin = HTTPConnection(port: adminPort)
        for (method, path) in Self.hidden {
            // With every right and with none: nobody learns that there is anything.
            for key in [RunningGateway.adminKey, RunningGateway.readKey, nil] {
                let body = method == "POST" ? #"{"until":null,"reason":"x"}"# : nil
                let answer = try gateway.ask(method, path, key: key, body: body)
                try ReadTests.expectProblem(answer, 404, "not_found", "\(method) \(path)")
            }
        }
        #expect(try gateway.ask("GET", "/v1/users/u1/entitlement").status == 200)
        #expect(try gateway.ask("GET", "/v1/gate/u1").status == 403)
        #expect(try gateway.ask("POST", "/v1/licenses/validate", body: "{}").status == 400)
        #expect(try gateway.ask("GET", "/healthz", key: nil).status == 200)
        #expect(try gateway.deliver("creem", BrokenManifest.paid("evt_1")) == "applied")

        func ask(_ method: String, _ path: String, _ body: String? = nil) throws -> Int {
            try admin.send(RunningGateway.request(method, path, body: body)).status
        }
        #expect(try ask("GET", "/v1/users/u1") == 200)
        #expect(try ask("POST", "/v1/users/u1/grants", #"{"until":null,"reason":"x","grant_id":"g1"}"#) == 201)
        #expect(try ask("DELETE", "/v1/users/u1/grants/g1") == 200)
        #expect(try ask("GET", "/v1/events") == 200)
        #expect(try ask("POST", "/v1/events/creem/evt_1/replay") == 200)
        #expect(try ask("GET", "/v1/audit") == 200)
        #expect(try ask("GET", "/metrics") == 200)
        for path in ["/admin", "/v1/providers", "/v1/purchases/parked", "/v1/purchases/overlapping", "/readyz"] {
            #expect(try ask("GET", path) == 200, "\(path)")
        }
        #expect(try ask("POST", "/v1/licenses", #"{"user_id":"u1"}"#) == 201)
        #expect(try ask("GET", "/readyz") == 200)
        #expect(try ask("DELETE", "/v1/users/u1") == 204)
        #expect(gateway.text(of: "gateway.log").contains("127.0.0.1:\(adminPort)"))
    }

    @Test func withoutOneTheyAreServedWithEverybody() throws {
        let gateway = try RunningGateway().start()
        #expect(try gateway.ask("GET", "/v1/audit").status == 200)
        #expect(try gateway.ask("GET", "/metrics").status == 200)
    }

    @Test(arguments: ["nowhere", "127.0.0.1", "127.0.0.1:99999"])
    func anAddressThatIsNoneEndsTheStart(address: String) throws {
        let gateway = try RunningGateway()
        let result = try gateway.run(["serve", "--admin-listen", address])
        #expect(result.status == .exited(1) && result.errors.contains("admin-listen"), "\(result.errors)")
        #expect(!FileManager.default.fileExists(atPath: gateway.database), "a mistake leaves a trace")
    }

    @Test func theAuditIsReadInPages() throws {
        let gateway = try RunningGateway(["GATEWAY_ADMIN_KEY": "one,two"])
        try gateway.start()
        func ask(_ method: String, _ path: String, _ body: String? = nil) throws -> HTTPAnswer {
            try gateway.ask(method, path, key: "two", body: body)
        }
        for number in 0..<5 {
            let body = "{\"until\":null,\"reason\":\"case\",\"grant_id\":\"g\(number)\"}"
            #expect(try ask("POST", "/v1/users/u\(number)/grants", body).status == 201)
        }
        #expect(try ask("POST", "/v1/users/u1/identities", #"{"provider":"creem","external_id":"c1"}"#).status == 201)
        #expect(try ask("DELETE", "/v1/users/u4").status == 204)
        var found: [String] = []
        var next: String? = ""
        while let after = next {
            let answer = try ask("GET", "/v1/audit?limit=3" + (after.isEmpty ? "" : "&after=\(after)"))
            #expect(!answer.text.contains("one,two") && !answer.text.contains("\"two\""))
            let page = try answer.json()
            for entry in page["audit"]?.array ?? [] {
                #expect(entry["key_id"] == "env:admin" && entry["at"]?.string?.hasSuffix("Z") == true)
                found.append("\(entry["action"]?.string ?? "-") \(entry["user_id"]?.string ?? "-")")
            }
            next = page["next"]?.string
        }
        // The erased person is gone from it.
        #expect(
            found == ["erase -", "identity u1", "grant -", "grant u3", "grant u2", "grant u1", "grant u0"]
        )
        for (query, field) in [
            ("limit=0", "limit"), ("limit=501", "limit"), ("limit=x", "limit"), ("after=x", "after"),
        ] {
            try ReadTests.expectProblem(
                try ask("GET", "/v1/audit?\(query)"),
                400,
                "bad_request",
                mentions: field,
                "\(query)"
            )
        }
        try ReadTests.expectProblem(
            try gateway.ask("GET", "/v1/audit", key: RunningGateway.readKey),
            403,
            "forbidden",
            "a read key"
        )
        try ReadTests.expectProblem(try gateway.ask("GET", "/v1/audit", key: nil), 401, "unauthorized", "no key")
    }

    /// One object a line, with a time, a level and a message, and nothing that is nobody's business (contract section 10).
    @Test func theLogIsOfObjectsWithoutSecretsAndPeople() throws {
        let gateway = try RunningGateway().start()
        try gateway.deliver("creem", BrokenManifest.paid("evt_1", user: "person_of_the_log"))
        try gateway.deliver("creem", "no JSON, but person_of_the_log@example.com")
        _ = try gateway.ask("GET", "/v1/users/person_of_the_log/entitlement", key: "wrong_key_of_the_log")
        try gateway.grant("person_of_the_log", until: nil)
        let database = try SQLDatabase(gateway.database)
        try database.execute("BEGIN IMMEDIATE")
        let failing = BrokenManifest.paid("evt_2", user: "person_of_the_log")
        #expect(try gateway.send(WebhookSigner.request("creem", Array(failing.utf8))).status == 503)
        try database.execute("ROLLBACK")
        try gateway.write("{\"sandbox_users\": 1}", to: "gateway.json")
        try gateway.reload()
        try gateway.stop()
        let log = gateway.text(of: "gateway.log")
        let lines = log.split(separator: "\n")
        #expect(lines.count > 5)
        for line in lines {
            let object = try JSONValue(parsing: String(line))
            for name in ["time", "level", "message"] { #expect(object[name]?.string?.isEmpty == false, "\(line)") }
            #expect(["info", "warning", "error"].contains(object["level"]?.string), "\(line)")
        }
        let secrets = [RunningGateway.adminKey, RunningGateway.readKey, "wrong_key_of_the_log"]
        for word in secrets + WebhookSigner.environment.values + ["person_of_the_log", "buyer@example.com"] {
            #expect(!log.contains(word), "\(word)")
        }
        for message in ["listening", "a write failed", "the old one stays", "stopping", "stopped"] {
            #expect(log.contains(message), "\(message)")
        }
    }
}
