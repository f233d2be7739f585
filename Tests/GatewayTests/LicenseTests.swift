internal import Foundation
internal import TestSupport
internal import Testing

/// Licences and their seats (contract section 7).
@Suite("Licences", .ownThread)
struct LicenseTests {
    static func body(_ members: [(String, JSONValue)]) -> String {
        JSONValue.object(JSONObject(members.map { (key: $0.0, value: $0.1) })).compact
    }

    private func license(_ gateway: RunningGateway, _ more: [(String, JSONValue)] = []) throws -> JSONValue {
        let answer = try gateway.ask("POST", "/v1/licenses", body: Self.body([("user_id", "u1")] + more))
        #expect(answer.status == 201, "\(answer.text)")
        return try answer.json()
    }

    @discardableResult
    private func ask(
        _ gateway: RunningGateway,
        _ what: String,
        _ key: JSONValue?,
        _ device: String,
        from address: String? = nil
    ) throws -> HTTPAnswer {
        try gateway.ask(
            "POST",
            "/v1/licenses/\(what)",
            key: nil,
            body: Self.body([("license_key", key ?? .null), ("device_id", .string(device))]),
            headers: address.map { [HTTPHeader("X-Forwarded-For", $0)] } ?? []
        )
    }

    @Test func aKeyIsShownOnceAndKeptNowhere() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        let made = try license(gateway)
        let key = try #require(made["license_key"]?.string)
        #expect(try ask(gateway, "activate", .string(key), "d1").status == 200)
        let typed = key.lowercased().replacing("-", with: " ")
        #expect(try ask(gateway, "validate", .string(typed), "d1").json()["code"] == "VALID")
        let view = try gateway.ask("GET", "/v1/users/u1").json()
        #expect(view["licenses"]?.array.map(\.["license_id"]) == [made["license_id"]])
        #expect(view["licenses"]?.array.first?["devices"]?.array.map(\.["device_id"]) == ["d1"])
        try gateway.stop()
        for file in try gateway.bytes(ofFilesNamed: "gateway") {
            for text in [key, key.filter { $0 != "-" }] {
                #expect(file.bytes.range(of: Data(text.utf8)) == nil, "\(file.name)")
            }
        }
        let mode = try FileManager.default.attributesOfItem(atPath: gateway.database + ".signing-keys")
        #expect((mode[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    }

    @Test func aFileOfSigningKeysThatOthersCanReadStopsTheStart() throws {
        let gateway = try RunningGateway().start()
        try gateway.stop()
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644],
            ofItemAtPath: gateway.database + ".signing-keys"
        )
        let result = try gateway.run(["serve"])
        #expect(result.status == .exited(1) && result.errors.contains("chmod 600"))
    }

    @Test func aKeyThatWasSoldElsewhereGoesOn() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        let old: JSONValue = "38B1460A-5104-4067-A91D-77B872934D51"
        let made = try license(gateway, [("license_key", old)])
        #expect(made["license_key"] == old && made["source"] == "imported")
        #expect(try ask(gateway, "activate", old, "d1").status == 200)
        let again = try gateway.ask(
            "POST",
            "/v1/licenses",
            body: Self.body([("user_id", "u1"), ("license_key", old)])
        )
        #expect(try again.status == 200 && again.json()["license_id"] == made["license_id"])
        let others = try gateway.ask(
            "POST",
            "/v1/licenses",
            body: Self.body([("user_id", "u2"), ("license_key", old)])
        )
        #expect(try others.status == 409 && others.json()["code"] == "license_conflict")
    }

    /// A guesser is stopped; those behind the same address go on working.
    @Test func guessingIsLimitedByAddress() throws {
        let gateway = try RunningGateway(config: #"{"trusted_proxies":["127.0.0.1","10.0.0.0/8"]}"#).start()
        try gateway.grant("u1", until: nil)
        let key = try license(gateway)["license_key"]
        #expect(try ask(gateway, "activate", key, "d1", from: "192.0.2.7").status == 200)
        for _ in 0..<60 { #expect(try ask(gateway, "validate", key, "d1", from: "192.0.2.7").status == 200) }
        var statuses: [Int] = []
        for number in 0..<30 {
            let what = ["activate", "validate", "deactivate"][number % 3]
            // What a client writes itself stands further to the left, and does not count.
            let answer = try ask(
                gateway,
                what,
                .string("GUESS-\(number)-AAAA-BBBB"),
                "d",
                from: "198.51.100.\(number), 192.0.2.7"
            )
            statuses.append(answer.status)
            if answer.status == 429 { #expect(Int(answer.header("Retry-After") ?? "") ?? 0 > 0) }
        }
        #expect(
            statuses.prefix(15).allSatisfy { $0 != 429 } && statuses.suffix(5).allSatisfy { $0 == 429 },
            "\(statuses)"
        )
        #expect(try ask(gateway, "validate", key, "d1", from: "192.0.2.7").status == 200)
        #expect(try ask(gateway, "activate", key, "d1", from: "192.0.2.7").status == 200)
        // A guess that hits learns nothing, and another address is not concerned.
        #expect(try ask(gateway, "activate", key, "d2", from: "192.0.2.7").status == 429)
        #expect(try ask(gateway, "activate", key, "d2", from: "192.0.2.8").status == 200)
        #expect(try ask(gateway, "activate", "GUESS-X-AAAA-BBBB", "d", from: "192.0.2.8, 10.1.2.3").status == 404)
    }

    @Test func withoutTrustNobodysWordCounts() throws {
        let gateway = try RunningGateway().start()
        for number in 0..<30 {
            _ = try ask(gateway, "activate", .string("GUESS-\(number)-AAAA"), "d", from: "192.0.2.\(number)")
        }
        #expect(try ask(gateway, "activate", "GUESS-31-AAAA", "d", from: "192.0.2.99").status == 429)
    }

    @Test func soManySeatsAMonthAreGivenBack() throws {
        let gateway = try RunningGateway(config: #"{"licenses":{"deactivations_per_month":2,"max_devices":1}}"#).start()
        try gateway.grant("u1", until: nil)
        let key = try license(gateway)["license_key"]
        for device in ["d1", "d2"] {
            #expect(try ask(gateway, "activate", key, device).status == 200)
            #expect(try ask(gateway, "deactivate", key, device).json()["deactivated"] == true)
            // Said twice, it is done once.
            #expect(try ask(gateway, "deactivate", key, device).json()["deactivated"] == false)
        }
        #expect(try ask(gateway, "activate", key, "d3").status == 200)
        let refused = try ask(gateway, "deactivate", key, "d3")
        #expect(try refused.status == 429 && refused.json()["code"] == "deactivation_limit_reached")
        #expect(refused.header("Retry-After") != nil)
        #expect(try ask(gateway, "validate", key, "d3").json()["code"] == "VALID")
        let full = try ask(gateway, "activate", key, "d4")
        #expect(try full.status == 409 && full.json()["devices"]?.array.map(\.["device_id"]) == ["d3"])
        #expect(try full.json()["server_time"]?.string != nil)
    }

    @Test func anotherKeyTakesThePlaceOfOneThatWasLost() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        let made = try license(gateway)
        #expect(try ask(gateway, "activate", made["license_key"], "d1").status == 200)
        let id = made["license_id"]?.string ?? ""
        let answer = try gateway.ask("POST", "/v1/licenses/\(id)/key")
        let new = try answer.json()["license_key"]
        #expect(answer.status == 200 && new != made["license_key"])
        #expect(try ask(gateway, "validate", made["license_key"], "d1").json()["code"] == "NOT_FOUND")
        #expect(try ask(gateway, "validate", new, "d1").json()["code"] == "VALID")
        #expect(try gateway.ask("POST", "/v1/licenses/\(id)/key", key: RunningGateway.readKey).status == 403)
        #expect(try gateway.ask("GET", "/v1/licenses/\(id)").json()["devices"]?.array.count == 1)
        #expect(try gateway.ask("DELETE", "/v1/licenses/lic_none").status == 404)
        #expect(try gateway.ask("DELETE", "/v1/licenses/\(id)").status == 200)
        #expect(try gateway.ask("DELETE", "/v1/licenses/\(id)").status == 200)
        #expect(try gateway.ask("POST", "/v1/licenses/\(id)/key").status == 403)
    }

    /// The licence comes with the purchase, once, and goes where the purchase goes.
    @Test func aPurchaseBringsItsLicence() throws {
        let gateway = try RunningGateway(config: #"{"licenses":{"issue_on":["stripe"]}}"#).start()
        let event = IdentityTests.subscription(1, customer: "cus_1")
        #expect(try gateway.deliver("stripe", event) == "parked")
        #expect(
            try gateway.deliver("stripe", IdentityTests.subscription(2, customer: "cus_2", user: "u2")) == "applied"
        )
        func licenses(_ user: String) throws -> [JSONValue] {
            try gateway.ask("GET", "/v1/users/\(user)").json()["licenses"]?.array ?? []
        }
        #expect(try licenses("u2").map(\.["source"]) == ["purchase"])
        let claim = #"{"provider":"stripe","external_id":"cus_1"}"#
        try gateway.ask("POST", "/v1/users/u1/identities", body: claim)
        #expect(try licenses("u1").count == 1)
        #expect(try gateway.deliver("stripe", event) == "duplicate")
        let id = try licenses("u1")[0]["license_id"]?.string ?? ""
        let key = try gateway.ask("POST", "/v1/licenses/\(id)/key").json()["license_key"]
        #expect(try ask(gateway, "activate", key, "d1").status == 200)
        Thread.sleep(forTimeInterval: 0.003)
        try gateway.ask("POST", "/v1/users/u3/identities", body: #"{"provider":"stripe","external_id":"sub_1"}"#)
        #expect(try licenses("u1").isEmpty && licenses("u3").map(\.["license_id"]) == [.string(id)])
        #expect(try ask(gateway, "validate", key, "d1").json()["code"] == "DEVICE_NOT_ACTIVATED")
        try gateway.grant("u4", until: nil)
        #expect(try licenses("u4").isEmpty)
    }

    @Test func whoIsErasedLeavesNoDevice() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        let key = try license(gateway)["license_key"]
        let body = Self.body([("license_key", key ?? .null), ("device_id", "d1"), ("device_name", "Anna's notebook")])
        #expect(try gateway.ask("POST", "/v1/licenses/activate", key: nil, body: body).status == 200)
        #expect(try gateway.ask("DELETE", "/v1/users/u1").status == 204)
        #expect(try ask(gateway, "validate", key, "d1").json()["code"] == "NOT_FOUND")
        #expect(try gateway.ask("GET", "/v1/users/u1").json()["licenses"]?.array.isEmpty == true)
    }

    /// A signed-in person's devices sit on the licences they have.
    @Test func withoutAKey() throws {
        let issuer = try TestIssuer()
        let gateway = try RunningGateway(config: issuer.config(more: #","licenses":{"max_devices":1}"#)).start()
        try gateway.grant("u1", until: nil)
        let key = try license(gateway, [("max_devices", 2)])["license_key"]
        #expect(try ask(gateway, "activate", key, "d1").status == 200)
        func me(_ method: String, _ path: String = "", _ body: String? = nil) throws -> HTTPAnswer {
            try gateway.ask(method, "/v1/me/devices" + path, key: issuer.token(), body: body)
        }
        #expect(try me("POST", "", #"{"device_id":"d2","device_name":"Desk"}"#).status == 200)
        let full = try me("POST", "", #"{"device_id":"d3"}"#)
        #expect(try full.status == 409 && full.json()["devices"]?.array.count == 2)
        #expect(try me("GET").json()["devices"]?.array.map(\.["device_id"]) == ["d1", "d2"])
        #expect(try me("DELETE", "/d1").status == 200)
        #expect(try ask(gateway, "validate", key, "d1").json()["code"] == "DEVICE_NOT_ACTIVATED")
        #expect(try me("POST", "", #"{"device_id":"d3"}"#).status == 200)
        #expect(try gateway.ask("GET", "/v1/users/u1").json()["licenses"]?.array.count == 1)
    }

    /// Validating reads; that a device was seen is noted later, and counts when another device needs its seat.
    @Test func validatingWritesNothing() throws {
        let gateway = try RunningGateway(config: #"{"licenses":{"max_devices":1,"release_after_days":30}}"#).start()
        try gateway.grant("u1", until: nil)
        let key = try license(gateway)["license_key"]
        #expect(try ask(gateway, "activate", key, "d1").status == 200)
        let seen = "SELECT last_seen_at FROM seat"
        func setSeen(daysAgo days: Int64) throws {
            try gateway.stop()
            let moment = Clock.millis - days * Clock.dayMillis
            try SQLDatabase(gateway.database).execute("UPDATE seat SET last_seen_at = \(moment)")
            try gateway.start()
        }
        try setSeen(daysAgo: 20)
        let before = try SQLDatabase(gateway.database).integer(seen)
        for _ in 0..<5 { #expect(try ask(gateway, "validate", key, "d1").json()["code"] == "VALID") }
        #expect(try SQLDatabase(gateway.database).integer(seen) == before)
        try gateway.stop()
        #expect(try SQLDatabase(gateway.database).integer(seen) > before + 10 * Clock.dayMillis)
        try setSeen(daysAgo: 29)
        #expect(try ask(gateway, "activate", key, "d2").status == 409)
        try setSeen(daysAgo: 31)
        #expect(try ask(gateway, "activate", key, "d2").status == 200)
        #expect(try ask(gateway, "validate", key, "d1").json()["code"] == "DEVICE_NOT_ACTIVATED")
    }

    @Test func aNewSigningKeyCountsWithoutARestart() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        let key = try license(gateway)["license_key"]
        func kids() throws -> [JSONValue?] {
            try gateway.ask("GET", "/.well-known/jwks.json", key: nil).json()["keys"]?.array.map(\.["kid"]) ?? []
        }
        let before = try kids()
        #expect(before.count == 1)
        #expect(try ask(gateway, "activate", key, "d1").status == 200)
        Thread.sleep(forTimeInterval: 0.02)
        let result = try gateway.run(["keys", "rotate-signing"])
        #expect(result.status == .exited(0), "\(result.errors)")
        Thread.sleep(forTimeInterval: 1.2)
        let after = try kids()
        #expect(after.count == 2 && after.last == before.first)
        let token = try #require(try ask(gateway, "validate", key, "d1").json()["token"]?.string)
        let head = String(token.split(separator: ".")[0]).replacing("-", with: "+").replacing("_", with: "/")
        let padded = head + String(repeating: "=", count: (4 - head.count % 4) % 4)
        let header = try JSONValue(parsing: Array(try #require(Data(base64Encoded: padded))))
        #expect(header["kid"] == after[0])
    }

    @Test func aFileForAMachineWithoutANetwork() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        let key = try license(gateway, [("max_devices", 1)])["license_key"]
        try gateway.write(Self.body([("license_key", key ?? .null), ("device_id", "cellar")]), to: "request.json")
        let result = try gateway.run(["license", "sign", "request.json", "--days", "365"])
        #expect(result.status == .exited(0), "\(result.errors)")
        #expect(result.output.hasPrefix("-----BEGIN LICENSE-----\n"))
        #expect(try ask(gateway, "validate", key, "cellar").json()["code"] == "VALID")
        try gateway.write(Self.body([("license_key", key ?? .null), ("device_id", "attic")]), to: "second.json")
        let second = try gateway.run(["license", "sign", "second.json"])
        #expect(second.status == .exited(1) && second.errors.contains("cellar"), "\(second.errors)")
    }
}
