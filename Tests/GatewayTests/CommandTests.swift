internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

/// The commands that ask a running gateway, as somebody new to them uses them (contract section 10).
@Suite("Commands", .ownThread)
struct CommandTests {
    static func json(_ result: CommandResult) throws -> JSONValue {
        try JSONValue(parsing: result.output)
    }

    // MARK: - Explaining

    @Test func whyThisPersonIsEntitled() throws {
        let gateway = try RunningGateway().start()
        let event = RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1")
        try gateway.deliver("revenuecat", event.body)
        try gateway.grant("u1", until: Clock.text(secondsFromNow: 5 * 86_400), id: "g1")
        try gateway.grant("u1", until: nil, id: "g2", entitlement: "th")

        let result = try gateway.run(["user", "u1"])
        #expect(result.status == .exited(0), "\(result.errors)")
        #expect(result.errors.isEmpty)
        for words in [
            "u1 (production)", "pro: yes, until", "revenuecat tx_1, product pro_monthly, runs until",
            "So says event evt_1 (INITIAL_PURCHASE)", "because it lasts longest (the next, manual g1,",
            "manual g1 (given by hand: a test) runs until", "it renews; without word of the renewal",
            "th: yes, without an end",
            "Latest events:", "Grants:",
        ] {
            #expect(result.output.contains(words), "\(words) is missing in \(result.output)")
        }

        let view = try Self.json(gateway.run(["user", "u1", "--json"]))
        let explanation = try #require(view["explanation"]?.array)
        #expect(explanation.map { $0["entitlement"] } == ["pro", "th"])
        let pro = explanation[0]
        #expect(pro["entitled"] == true && pro["status"] == "active")
        #expect(pro["winner"]?["purchase_id"] == "tx_1" && pro["winner"]?["provider"] == "revenuecat")
        #expect(pro["winner"]?["event"]?["event_id"] == "evt_1")
        #expect(pro["winner"]?["event"]?["type"] == "INITIAL_PURCHASE")
        #expect(pro["winner"]?["event"]?["at"] == .string(Clock.text(event.at)))
        #expect(pro["others"]?.array.map { $0["purchase_id"] } == ["g1"])
        #expect(pro["next"]?["at"] == .string(Clock.text(event.end)))
        #expect(pro["lines"]?.array.count == 4)
        #expect(explanation[1]["winner"]?["purchase_id"] == "g2" && explanation[1]["next"]?["at"] == .null)
        let answer = try gateway.entitlement(of: "u1")
        #expect(view["access_until"] == answer["access_until"] && view["purchase_id"] == answer["purchase_id"])
    }

    @Test func whyThisPersonIsNot() throws {
        let gateway = try RunningGateway().start()
        let nobody = try gateway.run(["user", "nobody"])
        #expect(nobody.status == .exited(0))
        #expect(nobody.output.contains("pro: no. Nothing was ever bought by this person"))

        var event = RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1")
        event.environment = "SANDBOX"
        try gateway.deliver("revenuecat", event.body)
        let production = try gateway.run(["user", "u1"]).output
        #expect(production.contains("pro: no.") && production.contains("it was made in sandbox"))
        let sandbox = try gateway.run(["user", "u1", "--environment", "sandbox"]).output
        #expect(sandbox.contains("u1 (sandbox)") && sandbox.contains("pro: yes"))
        let other = try Self.json(gateway.run(["user", "u1", "--entitlement", "th", "--json"]))
        #expect(other["explanation"]?.array.first?["entitlement"] == "th")
        #expect(other["entitled"] == false)
    }

    /// Ids that a path or an option could be taken for.
    @Test(arguments: ["a/b", "ü & ?=%#+", "--json", "-x", "user:1"])
    func anyUserIDWillDo(user: String) throws {
        let gateway = try RunningGateway().start()
        let granted = try gateway.run(["grant", "--for-life", "--reason", "test", "--id", "g/1", "--", user])
        #expect(granted.status == .exited(0), "\(granted.errors)")
        let view = try Self.json(gateway.run(["user", "--json", "--", user]))
        #expect(view["user_id"] == .string(user) && view["entitled"] == true)
        #expect(try gateway.run(["revoke", "--", user, "g/1"]).status == .exited(0))
        #expect(try Self.json(gateway.run(["user", "--json", "--", user]))["entitled"] == false)
    }

    // MARK: - Grants

    @Test func aGrantIsGivenAndEnded() throws {
        let gateway = try RunningGateway().start()
        let given = try gateway.run(["grant", "u1", "--days", "30", "--reason", "case 7", "--id", "g1"])
        #expect(given.status == .exited(0), "\(given.errors)")
        #expect(given.output.contains("u1 has pro until") && given.output.contains("revoke u1 g1"))
        let answer = try gateway.entitlement(of: "u1")
        #expect(answer["entitled"] == true && answer["purchase_id"] == "g1")
        let end = try #require(answer["access_until"]?.string)
        let days = Double(Clock.dayMillis) / 1000
        #expect(end > Clock.text(secondsFromNow: 29.9 * days) && end <= Clock.text(secondsFromNow: 30 * days))

        let lifelong = ["grant", "u2", "--for-life", "--reason", "founder", "--entitlement", "th", "--id", "g2"]
        let first = try Self.json(gateway.run(lifelong + ["--json"]))
        #expect(first["grant_id"] == "g2" && first["until"] == .null && first["entitlement"] == "th")
        let again = try gateway.run(lifelong)
        #expect(again.status == .exited(0) && again.output.contains("was there already"))
        let conflict = try gateway.run(["grant", "u2", "--days", "3", "--reason", "founder", "--id", "g2"])
        #expect(conflict.status == .exited(1) && conflict.errors.contains("grant_conflict"))
        let exact = ["grant", "u3", "--until", "2030-01-01T00:00:00Z", "--reason", "x", "--json"]
        #expect(try Self.json(gateway.run(exact))["until"] == "2030-01-01T00:00:00.000Z")

        #expect(try gateway.run(["revoke", "u1", "g1"]).output.contains("has ended"))
        #expect(try gateway.entitlement(of: "u1")["status"] == "revoked")
        let ended = try gateway.run(["user", "u1"]).output
        #expect(ended.contains("It was taken back at") && ended.contains("(grant_ended)"), "\(ended)")
        let unknown = try gateway.run(["revoke", "u1", "nope", "--json"])
        #expect(unknown.status == .exited(1) && unknown.errors.contains("user ID"))
        #expect(try Self.json(unknown)["code"] == "not_found")
    }

    // MARK: - Events

    @Test func eventsAreListedAndPaged() throws {
        let gateway = try RunningGateway().start()
        #expect(try gateway.run(["events"]).output == "no events\n")
        try gateway.deliver("revenuecat", RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1").body)
        try gateway.deliver("revenuecat", RevenueCatEvent("evt_2", user: "u2", purchase: "tx_2").body)
        try gateway.deliver("revenuecat", #"{"event": 7}"#)
        let all = try gateway.run(["events"])
        #expect(all.status == .exited(0), "\(all.errors)")
        #expect(all.output.split(separator: "\n").count == 3 && all.output.contains("quarantined"))
        let one = try Self.json(gateway.run(["events", "--user", "u1", "--json"]))
        #expect(one["events"]?.array.map { $0["event_id"] } == ["evt_1"] && one["next"] == .null)
        let page = try gateway.run(["events", "--limit", "1"])
        let next = try #require(
            page.output.split(separator: " ").last.map { String($0).trimmingCharacters(in: .newlines) }
        )
        #expect(page.output.contains("more: --after"))
        let rest = try Self.json(gateway.run(["events", "--after", next, "--json"]))
        #expect(rest["events"]?.array.map { $0["event_id"] } == ["evt_2", "evt_1"])
        #expect(try gateway.run(["events", "--outcome", "quarantined"]).output.split(separator: "\n").count == 1)
        let wrong = try gateway.run(["events", "--outcome", "odd"])
        #expect(wrong.status == .exited(1) && wrong.errors.contains("quarantined"), "the words that can stand there")
    }

    @Test func whatIsNotThereCannotBeReplayed() throws {
        let gateway = try RunningGateway().start()
        let result = try gateway.run(["replay", "stripe", "evt_nope", "--json"])
        #expect(result.status == .exited(1))
        #expect(result.errors.contains("entitlement-gateway events"), "\(result.errors)")
        #expect(try Self.json(result)["status"] == 404)
    }

    // MARK: - Whom it asks, and with what

    @Test func theKeyIsNeeded() throws {
        let gateway = try RunningGateway().start()
        let none = try gateway.run(["user", "u1", "--json"], changes: ["GATEWAY_ADMIN_KEY": nil])
        #expect(none.status == .exited(1) && none.errors.contains("--env-file"), "\(none.errors)")
        #expect(try Self.json(none)["code"] == "failed")
        let wrong = try gateway.run(["user", "u1"], changes: ["GATEWAY_ADMIN_KEY": "another_key_0123456789"])
        #expect(
            wrong.status == .exited(1) && wrong.errors.contains("unauthorized") && wrong.errors.contains("keys list")
        )
        let read = try gateway.run(["user", "u1"], changes: ["GATEWAY_ADMIN_KEY": RunningGateway.readKey])
        #expect(read.status == .exited(1) && read.errors.contains("--scope admin"), "\(read.errors)")
        let rotated = ["GATEWAY_ADMIN_KEY": "\(RunningGateway.adminKey), next_key_0123456789"]
        #expect(try gateway.run(["user", "u1"], changes: rotated).status == .exited(0))
        for result in [none, wrong, read] {
            #expect(!(result.output + result.errors).contains(RunningGateway.readKey), "a key is told")
        }
    }

    /// The keys of a first start are in a file that `--env-file` takes; whoever forgets it is told.
    @Test func theKeysOfTheFirstStartAreFound() throws {
        let gateway = try RunningGateway()
        gateway.environment["GATEWAY_ADMIN_KEY"] = nil
        gateway.environment["GATEWAY_READ_KEY"] = nil
        try gateway.start()
        let hint = try gateway.run(["user", "u1"])
        #expect(hint.status == .exited(1) && hint.errors.contains("--env-file") && hint.errors.contains("gateway.keys"))
        #expect(try gateway.run(["user", "u1", "--env-file", "gateway.keys"]).status == .exited(0))
    }

    @Test func aGatewayThatDoesNotRunIsNamed() throws {
        let gateway = try RunningGateway()
        for words in [["user", "u1"], ["events"], ["replay", "a", "b"], ["revoke", "u", "g"]] {
            let result = try gateway.run(words)
            #expect(result.status == .exited(1), "\(words)")
            #expect(result.errors.contains(gateway.listen) && result.errors.contains("serve"), "\(result.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: gateway.database), "asking makes no database")
    }

    @Test func theURLIsTakenAsGiven() throws {
        let gateway = try RunningGateway().start()
        for url in ["http://\(gateway.listen)", "http://\(gateway.listen)/", "http://localhost:\(gateway.port)"] {
            let result = try gateway.run(["user", "u1", "--url", url], changes: ["GATEWAY_LISTEN": "127.0.0.1:1"])
            #expect(result.status == .exited(0), "\(url): \(result.errors)")
        }
        let every = try gateway.run(["user", "u1"], changes: ["GATEWAY_LISTEN": "0.0.0.0:\(gateway.port)"])
        #expect(every.status == .exited(0), "\(every.errors)")
        for url in ["localhost", "ftp://a", ""] {
            #expect(try gateway.run(["user", "u1", "--url", url]).status == .exited(2), "\(url)")
        }
    }

    /// The key goes to the gateway that was named, and nowhere else.
    @Test func theKeyGoesNowhereElse() throws {
        let gateway = try RunningGateway().start()
        let asked = Mutex(0)
        let other = try LoopbackServer { peer in
            _ = peer.readHead()
            asked.withLock { $0 += 1 }
        }
        let redirecting = try LoopbackServer { [port = other.port] peer in
            _ = peer.readHead()
            peer.write(
                "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:\(port)/v1/users/u1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
        }
        let redirected = try gateway.run(["user", "u1", "--json", "--url", "http://127.0.0.1:\(redirecting.port)"])
        #expect(redirected.status == .exited(1) && redirected.errors.contains("307"), "\(redirected.errors)")
        #expect(try Self.json(redirected)["code"] == "http_307")
        let proxy = "http://127.0.0.1:\(other.port)"
        let direct = try gateway.run(["user", "u1"], changes: ["http_proxy": proxy, "all_proxy": proxy])
        #expect(direct.status == .exited(0), "\(direct.errors)")
        #expect(asked.withLock { $0 } == 0)
    }

    /// Something else that listens there is not taken for a gateway.
    @Test func whatIsNoGatewayIsTold() throws {
        let gateway = try RunningGateway()
        let other = try LoopbackServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        }
        for words in [["user", "u1"], ["events"]] {
            let result = try gateway.run(words + ["--url", "http://127.0.0.1:\(other.port)"])
            #expect(result.status == .exited(1) && result.errors.contains("is it one?"), "\(result.errors)")
        }
    }

    // MARK: - Wrong calls

    /// Status 2, the reason and the help on standard error, nothing on standard output, nothing done.
    @Test func wrongCallsAreExplained() throws {
        let gateway = try RunningGateway()
        let wrong: [(words: [String], told: String)] = [
            (["usr"], "did you mean user?"), (["event"], "did you mean events?"), (["bakcup"], "did you mean backup?"),
            (["doctor", "--jsn"], "did you mean --json?"), (["grant", "u1", "--reson", "x"], "did you mean --reason?"),
            (["xyzzy"], "no such command"), (["user"], "ID is missing"), (["user", "a", "b"], "one word too many: b"),
            (["user", "a", "--environment", "test"], "production or sandbox"), (["grant"], "USER is missing"),
            (["grant", "u1"], "--reason"), (["grant", "u1", "--reason", "x"], "--for-life"),
            (["grant", "u1", "--reason", "x", "--days", "3", "--for-life"], "one of"),
            (["grant", "u1", "--reason", "x", "--days", "-3"], "--days"),
            (["grant", "u1", "--reason", "x", "--until", "tomorrow"], "2027-01-01T00:00:00Z"),
            (["revoke", "u1"], "GRANT_ID is missing"), (["replay", "stripe"], "EVENT_ID is missing"),
            (["events", "x"], "one word too many"), (["events", "--limit", "501"], "from 1 to 500"),
            (["events", "--limit"], "needs a value"), (["events", "--json=1"], "takes no value"),
            (["keys"], "create, list, revoke or rotate-signing"), (["keys", "creat"], "did you mean keys create?"),
            (["keys", "create", "--scope", "all"], "read or admin"), (["keys", "revoke"], "KEY_ID is missing"),
            (["keys", "list", "--scope", "read"], "keys create"), (["backup"], "FILE is missing"),
            (["doctor", "x"], "one word too many"), (["doctor", "-v"], "no such option: -v"),
        ]
        for (words, told) in wrong {
            let result = try gateway.run(words)
            #expect(result.status == .exited(2), "\(words): \(result.errors)")
            #expect(result.errors.contains(told), "\(words): \(result.errors.prefix(200))")
            #expect(result.output.isEmpty, "\(words)")
        }
        #expect(!FileManager.default.fileExists(atPath: gateway.database))
    }

    @Test func everyCommandHasExamplesAndTakesTheEnvironmentFile() throws {
        let gateway = try RunningGateway()
        let help = try gateway.run(["--help"]).output
        let commands = [
            "serve", "doctor", "user", "events", "replay", "grant", "revoke", "keys", "simulate", "backup", "rebuild",
            "migrate", "version",
        ]
        for command in commands {
            #expect(help.contains("  \(command) "), "\(command)")
            let text = try gateway.run([command, "--help"]).output
            #expect(text.contains("examples:\n  entitlement-gateway \(command)"), "\(command)")
            #expect(text.contains("--env-file"), "\(command)")
            if command != "serve" { #expect(text.contains("--json"), "\(command)") }
        }
        try gateway.write("A=1\n", to: "open.env", mode: 0o644)
        for command in ["version", "keys list", "events", "backup x.db", "migrate", "rebuild"] {
            let words = command.split(separator: " ").map(String.init)
            let result = try gateway.run(words + ["--env-file", "open.env"])
            #expect(result.status == .exited(1) && result.errors.contains("chmod 600"), "\(command)")
        }
    }
}
