internal import Foundation
internal import TestSupport
internal import Testing

/// `doctor` says what is off and why, and its status tells whether something is broken.
@Suite("Doctor", .ownThread)
struct DoctorTests {
    /// State and text of every check of an area.
    private static func checks(_ result: CommandResult, _ area: String) throws -> [String] {
        let json = try CommandTests.json(result)
        #expect(json["healthy"]?.bool == (result.status == .exited(0)))
        return (json["checks"]?.array ?? []).filter { $0["area"] == .string(area) }.map { check in
            "\(check["state"]?.string ?? ""): \(check["text"]?.string ?? "") — \(check["hint"]?.string ?? "")"
        }
    }

    @Test func beforeTheFirstStartNothingIsBroken() throws {
        let gateway = try RunningGateway()
        gateway.environment = ["STRIPE_WEBHOOK_SECRET": "whsec_0123456789abcdef"]
        let text = try gateway.run(["doctor"])
        #expect(text.status == .exited(0), "\(text.output)")
        #expect(text.output.contains("nothing is broken") && text.errors.isEmpty)
        let result = try gateway.run(["doctor", "--json"])
        #expect(try Self.checks(result, "database").first?.hasPrefix("off: ") == true)
        #expect(try Self.checks(result, "keys").first?.contains("there are no keys") == true)
        let providers = try Self.checks(result, "provider")
        #expect(providers.contains("ok: stripe is on, every product grants pro — "))
        #expect(providers.contains("off: creem is off — set CREEM_WEBHOOK_SECRET to turn it on"))
        #expect(try Self.checks(result, "gateway").first?.hasPrefix("off: no gateway answers at") == true)
        #expect(try Self.checks(result, "disk").first?.contains("MiB are free") == true)
        #expect(!FileManager.default.fileExists(atPath: gateway.database), "it changes nothing")
    }

    @Test func aRunningGatewayIsLookedAt() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        try gateway.deliver("revenuecat", #"{"event": 7}"#)
        let result = try gateway.run(["doctor", "--json"])
        #expect(result.status == .exited(0), "\(result.output)")
        #expect(try Self.checks(result, "gateway") == ["ok: a gateway answers at http://\(gateway.listen) — "])
        let database = try Self.checks(result, "database")
        #expect(database.first?.contains("sound and up to date; people: 1") == true, "\(database)")
        #expect(
            database.contains("warning: 1 events are quarantined — entitlement-gateway events --outcome quarantined")
        )
        #expect(try Self.checks(result, "files") == ["ok: the files are closed to others — "])
        for secret in gateway.environment.values { #expect(!result.output.contains(secret), "a secret is told") }
    }

    /// It goes on after the first thing that is broken.
    @Test func aBrokenFileIsToldAndTheRestLookedAt() throws {
        let gateway = try RunningGateway(config: #"{"grace": {"past_due_day": 3}}"#)
        let result = try gateway.run(["doctor", "--json"])
        #expect(result.status == .exited(1))
        #expect(try Self.checks(result, "configuration").first?.contains("/grace/past_due_day") == true)
        #expect(try !Self.checks(result, "provider").isEmpty && !Self.checks(result, "disk").isEmpty)
        #expect(try gateway.run(["doctor"]).output.contains("something is broken"))
    }

    struct Wrong: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var changes: [String: String] = [:]
        var config = "{}"
        var area: String
        var told: String
    }

    @Test(arguments: [
        Wrong(
            testDescription: "half a list of keys",
            changes: ["GATEWAY_ADMIN_KEY": "abc,"],
            area: "keys",
            told: "GATEWAY_ADMIN_KEY"
        ),
        Wrong(
            testDescription: "half a list of secrets",
            changes: ["STRIPE_WEBHOOK_SECRET": ",whsec_1"],
            area: "provider",
            told: "STRIPE_WEBHOOK_SECRET"
        ),
        Wrong(
            testDescription: "a missing folder of manifests",
            changes: ["GATEWAY_PROVIDERS": "nowhere"],
            area: "provider",
            told: "nowhere"
        ),
        Wrong(testDescription: "no address", changes: ["GATEWAY_LISTEN": "here"], area: "configuration", told: "here"),
        Wrong(
            testDescription: "no folder for the database",
            changes: ["GATEWAY_DATABASE": "nowhere/gateway.db"],
            area: "disk",
            told: "no such folder"
        ),
        Wrong(
            testDescription: "a map of nobody",
            config: #"{"products": {"strpe": {"*": ["pro"]}}}"#,
            area: "products",
            told: "/products/strpe"
        ),
    ])
    func whatWouldStopTheStartIsBroken(wrong: Wrong) throws {
        let gateway = try RunningGateway(config: wrong.config)
        let result = try gateway.run(["doctor", "--json"], changes: wrong.changes.mapValues { $0 })
        #expect(result.status == .exited(1))
        let found = try Self.checks(result, wrong.area).filter { $0.hasPrefix("broken: ") }
        #expect(found.contains { $0.contains(wrong.told) }, "\(result.output)")
    }

    @Test func manifestsOfAFolderAreRead() throws {
        let gateway = try RunningGateway()
        let folder = gateway.folder.file("more")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try gateway.write("{}", to: "more/odd.json")
        let broken = try gateway.run(["doctor", "--providers", folder, "--json"])
        #expect(broken.status == .exited(1))
        #expect(try Self.checks(broken, "provider").contains { $0.hasPrefix("broken: ") && $0.contains("odd.json") })
        try FileManager.default.removeItem(atPath: folder + "/odd.json")
        let creem = try String(
            contentsOf: Samples.tree.appendingPathComponent("providers/creem/creem.json"),
            encoding: .utf8
        )
        try gateway.write(creem, to: "more/creem.json")
        let sound = try gateway.run(["doctor", "--providers", folder, "--json"])
        #expect(try Self.checks(sound, "manifests") == ["ok: \(folder): creem — "])
    }

    @Test func doubtfulThingsAreWarnings() throws {
        let gateway = try RunningGateway(config: #"{"sandbox_users": ["*"], "restore": "keep"}"#)
        #expect(try gateway.run(["migrate"]).status == .exited(0))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: gateway.database)
        let result = try gateway.run(["doctor", "--json"], changes: ["GATEWAY_READ_KEY": "short"])
        #expect(result.status == .exited(0), "\(result.output)")
        #expect(try Self.checks(result, "configuration").contains { $0.hasPrefix("warning: sandbox purchases") })
        #expect(try Self.checks(result, "keys").contains { $0.contains("GATEWAY_READ_KEY is shorter") })
        #expect(try Self.checks(result, "files").contains { $0.hasPrefix("warning: ") && $0.contains("chmod 600") })
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: gateway.database)
        #expect(try gateway.run(["doctor"]).status == .exited(1), "everyone can write the purchases")
    }

    @Test func aDatabaseThatCannotBeServedIsBroken() throws {
        let gateway = try RunningGateway().start()
        try gateway.stop()
        try gateway.write(#"{"grace": {"past_due_days": 3}}"#, to: "gateway.json")
        let changed = try gateway.run(["doctor", "--json"])
        #expect(changed.status == .exited(0))
        #expect(try Self.checks(changed, "database").contains { $0.contains("elects them anew") })
        try SQLDatabase(gateway.database)
            .execute("INSERT INTO migration (number, name, checksum) VALUES (9999, '9999_later.sql', 'x')")
        let newer = try gateway.run(["doctor", "--json"])
        #expect(newer.status == .exited(1))
        #expect(
            try Self.checks(newer, "database").contains { $0.hasPrefix("broken: ") && $0.contains("newer version") }
        )
        try gateway.write("not a database", to: "gateway.db")
        #expect(try gateway.run(["doctor"]).status == .exited(1))
    }
}
