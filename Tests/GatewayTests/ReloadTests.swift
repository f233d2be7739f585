internal import Foundation
internal import TestSupport
internal import Testing

/// SIGHUP: the configuration is read again, and nobody's connection is dropped.
@Suite("Reading the configuration again", .ownThread)
struct ReloadTests {
    /// A gateway whose keys and Creem's secret come from a file.
    private static func gatewayWithFile() throws -> RunningGateway {
        let gateway = try RunningGateway()
        gateway.environment["GATEWAY_READ_KEY"] = nil
        gateway.environment["CREEM_WEBHOOK_SECRET"] = nil
        gateway.arguments = ["--env-file", "gateway.env"]
        return gateway
    }

    // EVIDENCE RELOAD-1
    @Test func secretsAreExchanged() throws {
        let gateway = try Self.gatewayWithFile()
        try gateway.write("GATEWAY_READ_KEY=old_key\n", to: "gateway.env")
        try gateway.start()
        #expect(try gateway.ask("GET", "/v1/users/u1/entitlement", key: "old_key").status == 200)
        let body = BrokenManifest.paid("evt_1")
        #expect(try gateway.send(WebhookSigner.request("creem", Array(body.utf8))).status == 404)

        let secret = try #require(WebhookSigner.environment["CREEM_WEBHOOK_SECRET"])
        try gateway.write("GATEWAY_READ_KEY=new_key\nCREEM_WEBHOOK_SECRET=\(secret)\n", to: "gateway.env")
        let log = try gateway.reload()
        #expect(log.contains("provider is on now") && log.contains("creem"))
        #expect(!log.contains(secret) && !log.contains("new_key") && !log.contains("old_key"))
        // New connections: each loop has the new keys.
        for _ in 0..<20 {
            let connection = HTTPConnection(port: gateway.port)
            for (key, status) in [("old_key", 401), ("new_key", 200)] {
                let request = RunningGateway.request("GET", "/v1/users/u1/entitlement", key: key)
                #expect(try connection.send(request).status == status, "\(key)")
            }
        }
        #expect(try gateway.deliver("creem", body) == "applied")

        try gateway.write("GATEWAY_READ_KEY=new_key\n", to: "gateway.env")
        #expect(try gateway.reload().contains("provider is off now"))
        let answer = try gateway.send(WebhookSigner.request("creem", Array(body.utf8)))
        try ReadTests.expectProblem(answer, 404, "provider_not_configured", "off")
        #expect(try gateway.ask("GET", "/v1/users/u1/entitlement", key: "new_key").json()["entitled"] == true)
    }

    // EVIDENCE RELOAD-2
    @Test func aChangedPolicyElectsEveryRowAnew() throws {
        let gateway = try RunningGateway(config: #"{"products": {"revenuecat": {"pro_monthly": ["pro"]}}}"#).start()
        // More than one step of the election.
        let people = 300
        for number in 0..<people {
            let user = "u\(number)"
            try gateway.deliver(
                "revenuecat",
                RevenueCatEvent("evt_\(number)", user: user, purchase: "tx_\(number)").body
            )
        }
        var sandbox = RevenueCatEvent("evt_s", user: "reviewer-1", purchase: "tx_s")
        sandbox.environment = "SANDBOX"
        try gateway.deliver("revenuecat", sandbox.body)
        #expect(try gateway.entitlement(of: "u7")["entitled"] == true)
        #expect(try gateway.entitlement(of: "reviewer-1")["entitled"] == false)

        try gateway.write(
            #"{"products": {"revenuecat": {"pro_monthly": ["team"]}}, "sandbox_users": ["reviewer-1"], "entitlement": "team"}"#,
            to: "gateway.json"
        )
        try gateway.reload()
        try Self.wait(gateway, until: "rows elected anew")
        for number in stride(from: 0, to: people, by: 13) {
            // The default entitlement is another one now.
            let row = try gateway.entitlement(of: "u\(number)")
            #expect(row["entitlement"] == "team" && row["entitled"] == true, "u\(number)")
            #expect(try gateway.entitlement(of: "u\(number)", "entitlement=pro")["entitled"] == false)
        }
        #expect(try gateway.entitlement(of: "reviewer-1")["entitled"] == true)
        let views = try gateway.ask("GET", "/v1/users/u1").json()["purchases"]?.array
        #expect(views?.first?["entitlements"]?["team"] != nil)
        try gateway.stop()
        let check = try gateway.run(["rebuild", "--check"])
        #expect(check.status == .exited(0), "\(check.output)\(check.errors)")
        // Nothing is left to do at the next start.
        let known = gateway.text(of: "gateway.log")
        try gateway.start()
        #expect(!gateway.text(of: "gateway.log").dropFirst(known.count).contains("elected anew"))
    }

    /// Killed in the middle of an election, the next start finishes it.
    @Test func aKillDuringTheElectionLeavesNoOldRow() throws {
        let gateway = try RunningGateway().start()
        for number in 0..<300 {
            let user = "u\(number)"
            try gateway.deliver(
                "revenuecat",
                RevenueCatEvent("evt_\(number)", user: user, purchase: "tx_\(number)").body
            )
        }
        try gateway.write(#"{"products": {"revenuecat": {"pro_monthly": ["team"]}}}"#, to: "gateway.json")
        try gateway.reload()
        _ = kill(-gateway.processNumber, SIGKILL)
        try gateway.waitForKill()
        // A command beside no gateway knows the new policy, too.
        try gateway.start()
        for number in stride(from: 0, to: 300, by: 7) {
            #expect(try gateway.entitlement(of: "u\(number)")["entitled"] == false)
            #expect(try gateway.entitlement(of: "u\(number)", "entitlement=team")["entitled"] == true)
        }
        try gateway.stop()
        #expect(try gateway.run(["rebuild", "--check"]).status == .exited(0))
    }

    // EVIDENCE RELOAD-3
    @Test(arguments: [
        (#"{"products": {"creem": {"prod_1": "pro"}}}"#, "/products/creem/prod_1"),
        (#"{"products": {"nobody": {"prod_1": ["pro"]}}}"#, "/products/nobody"),
        (#"{"entitlments": "pro"}"#, "/entitlments"), ("{", "gateway.json"),
    ])
    func whatCannotBeUsedChangesNothing(file: String, place: String) throws {
        let gateway = try RunningGateway(config: #"{"products": {"creem": {"prod_1": ["pro"]}}}"#).start()
        try gateway.deliver("creem", BrokenManifest.paid("evt_1"))
        try gateway.write(file, to: "gateway.json")
        let log = try gateway.reload()
        #expect(
            log.contains("\"level\":\"error\"") && log.contains("the old one stays") && log.contains(place),
            "\(log)"
        )
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        #expect(try gateway.deliver("creem", BrokenManifest.paid("evt_2", of: "sub_2", user: "u2")) == "applied")
        // Mended, it is taken.
        try gateway.write(#"{"products": {"creem": {"prod_1": ["team"]}}}"#, to: "gateway.json")
        #expect(try gateway.reload().contains("configuration read again"))
    }

    @Test func aBadSecretOrManifestChangesNothing() throws {
        let gateway = try Self.gatewayWithFile()
        try gateway.write("GATEWAY_READ_KEY=a_key\nPOLAR_WEBHOOK_SECRET=whsec_a2V5\n", to: "gateway.env")
        gateway.environment["POLAR_WEBHOOK_SECRET"] = nil
        try gateway.start()
        for (text, mode, place) in [
            ("GATEWAY_READ_KEY=a_key,\n", 0o600, "GATEWAY_READ_KEY"),
            ("GATEWAY_READ_KEY=a_key\n", 0o604, "chmod 600"),
        ] {
            try gateway.write(text, to: "gateway.env", mode: mode)
            let log = try gateway.reload()
            #expect(log.contains("the old one stays") && log.contains(place), "\(log)")
            #expect(try gateway.ask("GET", "/v1/users/u1/entitlement", key: "a_key").status == 200)
            #expect(try gateway.ask("POST", "/v1/webhooks/polar", key: nil, body: "{}").status == 401)
        }
        let other = try BrokenManifest.gateway()
        try BrokenManifest.fix(other)
        try other.start()
        try other.write("{}", to: "\(BrokenManifest.folder)/creem.json")
        #expect(try other.reload().contains("creem.json"))
        #expect(try other.deliver("creem", BrokenManifest.paid("evt_1")) == "applied")
    }

    /// It keeps what it gave, and holds up nobody else.
    @Test func aPurchaseThatCannotBeReadIsPassedOver() throws {
        let gateway = try RunningGateway(config: #"{"products": {"creem": {"prod_1": ["basic"]}}}"#).start()
        for number in 1...3 {
            try gateway.deliver("creem", BrokenManifest.paid("evt_\(number)", of: "sub_\(number)", user: "u\(number)"))
        }
        let database = try SQLDatabase(gateway.database)
        try database.execute(
            "UPDATE fact SET body = x'ff' WHERE purchase = (SELECT id FROM purchase WHERE owner = 'u2')"
        )
        try gateway.write(#"{"products": {"creem": {"prod_1": ["pro"]}}}"#, to: "gateway.json")
        try gateway.reload()
        try Self.wait(gateway, until: "rows elected anew")
        #expect(gateway.text(of: "gateway.log").contains("a purchase cannot be read"))
        let entitled = try ["u1", "u2", "u3"].map { try gateway.entitlement(of: $0)["entitled"] }
        #expect(entitled == [true, false, true])
        let kept = try gateway.ask("GET", "/v1/users/u2/entitlement?entitlement=basic", key: RunningGateway.readKey)
        #expect(try kept.json()["entitled"] == true)
    }

    @Test func whatNeedsARestartIsToldEachTime() throws {
        let gateway = try Self.gatewayWithFile()
        let settings = """
            GATEWAY_READ_KEY=a_key
            GATEWAY_ADMIN_LISTEN=127.0.0.1:1
            GATEWAY_PAYLOAD_DAYS=3
            STRIPE_API_KEY=sk_test

            """
        try gateway.write("GATEWAY_READ_KEY=a_key\n", to: "gateway.env")
        try gateway.start()
        try gateway.write(settings, to: "gateway.env")
        for _ in 0..<2 {
            let log = try gateway.reload()
            for setting in ["admin-listen", "GATEWAY_PAYLOAD_DAYS", "STRIPE_API_KEY"] {
                #expect(log.contains("\"setting\":\"\(setting)\""), "\(log)")
            }
            #expect(log.contains("next start"), "\(log)")
            #expect(!log.contains("\"setting\":\"listen\""))
        }
        #expect(try gateway.ask("GET", "/v1/audit").status == 200)
    }

    // EVIDENCE RELOAD-4
    @Test func noConnectionAndNoRequestIsLost() throws {
        let gateway = try RunningGateway().start()
        try gateway.deliver("creem", BrokenManifest.paid("evt_0", of: "sub_0", user: "u0"))
        let port = gateway.port
        let version = try #require(gateway.entitlement(of: "u0")["version"]?.integer)
        let waited = SharedResults<HTTPAnswer>()
        Thread.detachNewThread {
            let target = "/v1/users/u0/entitlement?wait=30&after=\(version)"
            let request = RunningGateway.request("GET", target, key: RunningGateway.readKey)
            var start = ContinuousClock.now
            var answer: Result<HTTPAnswer, HTTPFault>
            repeat {
                start = .now
                answer = Result { () throws(HTTPFault) in try HTTPConnection(port: port).send(request, seconds: 60) }
                // On a busy machine its thirty seconds end before the reloads do: it waits again.
            } while (try? answer.get().status) != nil && start.duration(to: .now) >= .seconds(30)
            waited.add(answer)
        }
        let answers = SharedResults<Int>()
        for client in 0..<4 {
            Thread.detachNewThread {
                let connection = HTTPConnection(port: port)
                for number in 0..<60 {
                    let id = "\(client)_\(number)"
                    let body = BrokenManifest.paid("evt_\(id)", of: "sub_\(id)", user: "u\(id)")
                    let sent = [
                        WebhookSigner.request("creem", Array(body.utf8)),
                        RunningGateway.request("GET", "/v1/users/u\(id)/entitlement", key: RunningGateway.readKey),
                    ]
                    for request in sent {
                        answers.add(Result { () throws(HTTPFault) in try connection.send(request, seconds: 40).status })
                    }
                }
            }
        }
        var reloads = 0
        while answers.count < 4 * 60 * 2 {
            let days = reloads % 2 == 0 ? 3 : 5
            try gateway.write("{\"grace\": {\"past_due_days\": \(days)}}", to: "gateway.json")
            #expect(try gateway.reload().contains("configuration read again"))
            reloads += 1
        }
        #expect(reloads > 0)
        #expect(try answers.all(4 * 60 * 2, seconds: 40).allSatisfy { $0 == 200 })
        #expect(waited.count == 0, "a waiting reader was answered by a reload")
        try gateway.grant("u0", until: nil)
        #expect(try waited.all(1, seconds: 40).first?.status == 200)
        try gateway.stop()
        let check = try gateway.run(["rebuild", "--check"])
        #expect(check.status == .exited(0), "\(check.output)\(check.errors)")
    }

    private static func wait(_ gateway: RunningGateway, until word: String) throws {
        let end = ContinuousClock.now + .seconds(20)
        while !gateway.text(of: "gateway.log").contains(word) {
            guard ContinuousClock.now < end else { throw GatewayTestError("not logged: \(word)") }
            Thread.sleep(forTimeInterval: 0.01)
        }
    }
}
