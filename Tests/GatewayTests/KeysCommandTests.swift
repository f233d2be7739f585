internal import Foundation
internal import TestSupport
internal import Testing

/// `keys`: made and revoked in the database, shown once, and heard of by a running gateway.
@Suite("Keys", .ownThread)
struct KeysCommandTests {
    /// Many times what the gateway takes to hear of a key.
    private static let hearSeconds = 10.0

    private static func status(_ gateway: RunningGateway, _ key: String, _ target: String) throws -> Int {
        try gateway.ask("GET", target, key: key).status
    }

    /// Asks until the gateway answers so; the last answer when it never does.
    private static func wait(
        _ gateway: RunningGateway,
        _ key: String,
        _ target: String,
        for status: Int
    ) throws -> Int {
        let end = ContinuousClock.now + .seconds(hearSeconds)
        var last = 0
        while ContinuousClock.now < end {
            last = try Self.status(gateway, key, target)
            if last == status { break }
            Thread.sleep(forTimeInterval: 0.02)
        }
        return last
    }

    @Test func aRunningGatewayHearsOfThem() throws {
        let gateway = try RunningGateway().start()
        let made = try gateway.run(["keys", "create", "--scope", "admin", "--label", "Anna's laptop"])
        #expect(made.status == .exited(0), "\(made.errors)")
        let key = made.output.trimmingCharacters(in: .newlines)
        #expect(key.hasPrefix("admin_") && key.count >= 40 && !key.contains(" "), "the key alone, for scripts")
        #expect(try Self.wait(gateway, key, "/v1/events", for: 200) == 200)

        let read = try CommandTests.json(gateway.run(["keys", "create", "--json"]))
        #expect(read["scope"] == "read" && read["label"] == "")
        let readKey = try #require(read["key"]?.string)
        #expect(try Self.wait(gateway, readKey, "/v1/users/u1/entitlement", for: 200) == 200)
        #expect(try Self.status(gateway, readKey, "/v1/events") == 403)

        let list = try CommandTests.json(gateway.run(["keys", "list", "--json"]))["keys"]?.array ?? []
        #expect(list.map { $0["scope"] } == ["admin", "read", "admin", "read"])
        #expect(list.map { $0["label"] } == ["GATEWAY_ADMIN_KEY", "GATEWAY_READ_KEY", "Anna's laptop", ""])
        #expect(list[0]["key_id"] == "env:admin" && list[0]["created_at"] == .null)
        #expect(list[2]["revoked_at"] == .null && list[2]["created_at"]?.string != nil)
        #expect(try !gateway.run(["keys", "list"]).output.contains(key), "a key is shown once")

        let id = try #require(list[2]["key_id"]?.string)
        #expect(try gateway.run(["keys", "revoke", id]).status == .exited(0))
        #expect(try Self.wait(gateway, key, "/v1/events", for: 401) == 401)
        #expect(try Self.status(gateway, readKey, "/v1/users/u1/entitlement") == 200, "the others stay")
        #expect(try Self.status(gateway, RunningGateway.adminKey, "/v1/events") == 200)
        let again = try gateway.run(["keys", "revoke", id, "--json"])
        #expect(again.status == .exited(1) && again.errors.contains("keys list"))
        #expect(try CommandTests.json(again)["code"] == "failed")
        #expect(try gateway.run(["keys", "list"]).output.contains("revoked 20"))
        #expect(try gateway.run(["keys", "revoke", "env:admin"]).errors.contains("restart"))

        try gateway.stop()
        #expect(gateway.text(of: "gateway.log").contains("the keys in the database have changed"))
        try gateway.start()
        #expect(try Self.status(gateway, key, "/v1/events") == 401)
        #expect(try Self.status(gateway, readKey, "/v1/users/u1/entitlement") == 200)
        for (name, bytes) in try gateway.bytes(ofFilesNamed: "gateway.") {
            for secret in [key, readKey] {
                #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(name) has a key in it")
            }
        }
    }

    /// Changes by other commits of the gateway itself do not make the keys new.
    @Test func writesAreNoNewKeys() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        Thread.sleep(forTimeInterval: 0.7)
        #expect(!gateway.text(of: "gateway.log").contains("keys in the database"))
    }

    @Test func theyWorkWithoutAGateway() throws {
        let gateway = try RunningGateway()
        gateway.environment["GATEWAY_ADMIN_KEY"] = nil
        gateway.environment["GATEWAY_READ_KEY"] = nil
        for words in [["list"], ["revoke", "key_1"]] {
            let result = try gateway.run(["keys"] + words)
            #expect(result.status == .exited(1) && result.errors.contains("there is no database"), "\(result.errors)")
        }
        let made = try gateway.run(["keys", "create", "--scope=admin"])
        #expect(made.status == .exited(0), "\(made.errors)")
        let key = made.output.trimmingCharacters(in: .newlines)
        try gateway.start()
        #expect(!FileManager.default.fileExists(atPath: gateway.folder.file("gateway.keys")), "there is a key already")
        #expect(try Self.status(gateway, key, "/v1/events") == 200)
        let long = try gateway.run(["keys", "create", "--label", String(repeating: "x", count: 256)])
        #expect(long.status == .exited(1) && long.errors.contains("--label"))
    }

    @Test func whoMadeThemIsRecorded() throws {
        let gateway = try RunningGateway()
        let id = try #require(CommandTests.json(gateway.run(["keys", "create", "--json"]))["key_id"]?.string)
        _ = try gateway.run(["keys", "revoke", id])
        #expect(
            try SQLDatabase(gateway.database).rows("SELECT key_id, action, detail FROM audit ORDER BY seq")
                == ["command|key_created|\(id) read", "command|key_revoked|\(id)"]
        )
    }
}
