internal import CSQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// What `serve` needs and what it refuses, and the command line (contract sections 3 and 10).
@Suite("Starting", .ownThread)
struct StartTests {
    private static func mode(of path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
    }

    private static func gatewayWithoutKeys() throws -> RunningGateway {
        let gateway = try RunningGateway()
        gateway.environment["GATEWAY_ADMIN_KEY"] = nil
        gateway.environment["GATEWAY_READ_KEY"] = nil
        return gateway
    }

    /// What `serve` says when it must end with a failure; it has then not been running for long.
    private static func refusal(_ gateway: RunningGateway, _ words: String..., changes: [String: String?] = [:]) throws
        -> String
    {
        let result = try gateway.run(["serve"] + words, changes: changes)
        #expect(result.status == .exited(1), "\(result.errors)")
        return result.errors
    }

    // MARK: - Keys

    @Test func theFirstStartMakesKeysOnce() throws {
        let gateway = try Self.gatewayWithoutKeys()
        try gateway.start()
        let path = gateway.folder.file("gateway.keys")
        #expect(try Self.mode(of: path) == 0o600)
        let made = gateway.text(of: "gateway.keys")
        var keys: [String: String] = [:]
        for line in made.split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: "=", maxSplits: 1)
            keys[String(parts[0])] = String(parts[1])
        }
        let admin = try #require(keys["GATEWAY_ADMIN_KEY"])
        let read = try #require(keys["GATEWAY_READ_KEY"])
        #expect(admin != read && admin.utf8.count >= 32 && read.utf8.count >= 32)
        #expect(try gateway.ask("GET", "/v1/users/u1", key: admin).status == 200)
        #expect(try gateway.ask("GET", "/v1/users/u1", key: read).status == 403)
        #expect(try gateway.ask("GET", "/v1/users/u1/entitlement", key: read).status == 200)
        try gateway.stop()

        try gateway.start()
        #expect(gateway.text(of: "gateway.keys") == made)
        #expect(try gateway.ask("GET", "/v1/users/u1", key: admin).status == 200)
        try gateway.stop()
        let told = gateway.text(of: "gateway.log") + gateway.text(of: "gateway.out")
        for (name, bytes) in try gateway.bytes(ofFilesNamed: "gateway.db") {
            for key in [admin, read] {
                #expect(bytes.range(of: Data(key.utf8)) == nil, "\(name) has a key in it")
                #expect(!told.contains(key), "the log has a key in it")
            }
        }
        #expect(told.contains("gateway.keys"), "nobody is told where the keys are")
    }

    /// Keys that nobody was ever shown would lock everybody out for good.
    @Test func keysThatCannotBeWrittenAreNotMade() throws {
        let gateway = try Self.gatewayWithoutKeys()
        let path = gateway.folder.file("gateway.keys")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try Self.refusal(gateway).contains("gateway.keys"))
        try FileManager.default.removeItem(atPath: path)
        try gateway.start()
        #expect(gateway.text(of: "gateway.keys").contains("GATEWAY_ADMIN_KEY="))
    }

    /// A file of an earlier database, readable by everyone, does not give the new keys away.
    @Test func aFileThatIsThereIsClosedToOthers() throws {
        let gateway = try Self.gatewayWithoutKeys()
        try gateway.write("# old\n", to: "gateway.keys", mode: 0o644)
        try gateway.start()
        #expect(gateway.text(of: "gateway.keys").contains("GATEWAY_ADMIN_KEY="))
        #expect(try Self.mode(of: gateway.folder.file("gateway.keys")) == 0o600)
    }

    @Test func oneKeyFromTheEnvironmentIsEnough() throws {
        let gateway = try RunningGateway()
        gateway.environment["GATEWAY_READ_KEY"] = nil
        try gateway.start()
        #expect(!FileManager.default.fileExists(atPath: gateway.folder.file("gateway.keys")))
        #expect(try gateway.ask("GET", "/v1/users/u1/entitlement").status == 200)
    }

    @Test func severalKeysAreValidAtOnce() throws {
        let gateway = try RunningGateway(["GATEWAY_READ_KEY": "old_key, new_key"]).start()
        for key in ["old_key", "new_key"] {
            #expect(try gateway.ask("GET", "/v1/users/u1/entitlement", key: key).status == 200)
        }
        #expect(try gateway.ask("GET", "/v1/users/u1/entitlement", key: "old_key, new_key").status == 401)
    }

    @Test(arguments: [
        "GATEWAY_ADMIN_KEY", "GATEWAY_READ_KEY", "CREEM_WEBHOOK_SECRET", "STRIPE_WEBHOOK_SECRET",
        "REVENUECAT_WEBHOOK_SECRET",
    ])
    func anEmptyPartOfAListIsRefused(variable: String) throws {
        let gateway = try RunningGateway()
        for value in ["one,", ",one", "one,,two", "one, ,two", ","] {
            #expect(try Self.refusal(gateway, changes: [variable: value]).contains(variable), "\(value)")
        }
    }

    // MARK: - Files

    @Test func anEnvironmentFileThatEveryoneReadsIsRefused() throws {
        let gateway = try RunningGateway()
        try gateway.write("GATEWAY_READ_KEY=abc\n", to: "gateway.env", mode: 0o604)
        let reason = try Self.refusal(gateway, "--env-file", "gateway.env")
        #expect(reason.contains("gateway.env") && reason.contains("chmod 600"), "\(reason)")
        #expect(!reason.contains("abc"))
        #expect(try Self.refusal(gateway, "--env-file", "missing.env").contains("missing.env"))
        try gateway.write("GATEWAY_READ_KEY=abc\nno value here secret\n", to: "gateway.env")
        let malformed = try Self.refusal(gateway, "--env-file", "gateway.env")
        #expect(malformed.contains("line 2"), "\(malformed)")
        #expect(!malformed.contains("secret"), "a line of a file of secrets is shown")
    }

    @Test func theEnvironmentGoesBeforeItsFile() throws {
        let gateway = try RunningGateway()
        try gateway.write(
            "GATEWAY_READ_KEY=of_the_file\nexport POLAR_WEBHOOK_SECRET='whsec_x'\n\n# a remark\n",
            to: "gateway.env"
        )
        gateway.arguments = ["--env-file", "gateway.env"]
        gateway.environment["POLAR_WEBHOOK_SECRET"] = nil
        try gateway.start()
        #expect(try gateway.ask("GET", "/v1/users/u1/entitlement", key: "of_the_file").status == 401)
        #expect(try gateway.ask("GET", "/v1/users/u1/entitlement", key: RunningGateway.readKey).status == 200)
        #expect(try gateway.ask("POST", "/v1/webhooks/polar", key: nil, body: "{}").status == 401)
    }

    @Test(arguments: [
        (#"{"entitlments": "pro"}"#, "/entitlments"),
        (#"{"grace": {"past_due_day": 3}}"#, "/grace/past_due_day"),
        (#"{"grace": {"past_due_days": -1}}"#, "/grace/past_due_days"),
        (#"{"grace": {"past_due_days": "3"}}"#, "/grace/past_due_days"),
        (#"{"products": {"stripe": {"price_1": "pro"}}}"#, "/products/stripe/price_1"),
        (
            #"{"products": {"stripe": {"price_1": {"entitlements": ["pro"], "day": 3}}}}"#,
            "/products/stripe/price_1/day"
        ),
        (#"{"products": {"stripe": {"price_1": ["pro", 7]}}}"#, "/products/stripe/price_1/1"),
        (#"{"products": []}"#, "/products"),
        (#"{"sandbox_users": "*"}"#, "/sandbox_users"),
        (#"{"entitlement": ""}"#, "/entitlement"),
        (#"{"metrics": "closed"}"#, "/metrics"),
        ("[]", "gateway.json"),
        ("{", "gateway.json"),
    ])
    func aSettingThatIsNoneIsRefusedWithItsPath(file: String, path: String) throws {
        let gateway = try RunningGateway(config: file)
        #expect(try Self.refusal(gateway).contains(path))
    }

    /// One letter wrong in a provider's name, and a purchase would grant what the map was to hold back.
    @Test func aProductMapOfAnUnknownProviderIsRefused() throws {
        let gateway = try RunningGateway(config: #"{"products": {"strype": {"price_1": ["pro"]}}}"#)
        #expect((try? gateway.start()) == nil)
        #expect(gateway.text(of: "gateway.log").contains("/products/strype"))
    }

    @Test func aNamedConfigurationMustBeThere() throws {
        let gateway = try RunningGateway()
        #expect(try Self.refusal(gateway, "--config", "missing.json").contains("missing.json"))
        #expect(try Self.refusal(gateway, changes: ["GATEWAY_CONFIG": "other.json"]).contains("other.json"))
        // A flag goes before the environment.
        try gateway.write("{}", to: "there.json")
        gateway.arguments = ["--config", "there.json"]
        gateway.environment["GATEWAY_CONFIG"] = "other.json"
        try gateway.start()
    }

    @Test func aFolderOfProvidersMustBeThere() throws {
        let gateway = try RunningGateway()
        #expect(try Self.refusal(gateway, "--providers", "nowhere").contains("nowhere"))
        try FileManager.default.createDirectory(
            atPath: gateway.folder.file("more"),
            withIntermediateDirectories: false
        )
        try gateway.write("{}", to: "more/acme.json")
        #expect(try Self.refusal(gateway, "--providers", "more").contains("acme.json"))
    }

    // MARK: - The command line

    @Test func wrongCallsEndWithTwo() throws {
        let gateway = try RunningGateway()
        for words in [
            [], ["fly"], ["serve", "--fly"], ["serve", "now"], ["serve", "--listen"], ["migrate", "--fly"],
            ["rebuild", "--check=yes"], ["simulate"], ["simulate", "a", "b", "c"], ["version", "1"],
        ] {
            let result = try gateway.run(words)
            #expect(result.status == .exited(2), "\(words): \(result.errors)")
            #expect(!result.errors.isEmpty && result.output.isEmpty, "\(words)")
        }
        #expect(!FileManager.default.fileExists(atPath: gateway.database))
    }

    @Test func helpIsEverywhere() throws {
        let gateway = try RunningGateway()
        let help = try gateway.run(["--help"])
        #expect(help.status == .exited(0))
        let commands = help.output.split(separator: "\n").drop { $0 != "commands:" }.dropFirst()
            .prefix { $0.hasPrefix("  ") }.compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(commands.contains("serve") && commands.contains("simulate") && commands.contains("rebuild"))
        for command in commands {
            for flag in ["--help", "-h"] {
                let result = try gateway.run([command, flag])
                #expect(result.status == .exited(0), "\(command)")
                #expect(result.output.contains("usage: entitlement-gateway \(command)"), "\(command)")
                #expect(result.errors.isEmpty, "\(command)")
            }
        }
        #expect(try gateway.run(["version"]).output == (try gateway.run(["--version"]).output))
    }

    /// A typing error behind `--` must not be taken for nothing.
    @Test func aSecondWordIsNoOption() throws {
        let gateway = try RunningGateway()
        #expect(try gateway.run(["serve", "-x"]).status == .exited(2))
        #expect(try gateway.run(["rebuild", "--", "--check"]).status == .exited(2))
    }

    // MARK: - Port and database

    @Test func aPortInUseEndsTheStart() throws {
        let first = try RunningGateway().start()
        let second = try RunningGateway()
        #expect(try Self.refusal(second, "--listen", first.listen).contains("in use"))
        #expect(try first.ask("GET", "/healthz").status == 200)
    }

    @Test(arguments: ["nowhere", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:-1", "localhost:80x", ""])
    func anAddressThatIsNoneEndsTheStart(address: String) throws {
        let gateway = try RunningGateway()
        #expect(try Self.refusal(gateway, "--listen", address).contains("listen"))
    }

    @Test func aDatabaseInAMissingFolderEndsTheStart() throws {
        let gateway = try RunningGateway()
        let path = gateway.folder.file("missing/gateway.db")
        let reason = try Self.refusal(gateway, "--database", path)
        #expect(reason.contains(path) && reason.contains("--database"), "\(reason)")
        #expect(!FileManager.default.fileExists(atPath: gateway.folder.file("missing")))
    }

    @Test func aFileThatIsNoDatabaseIsNotTouched() throws {
        let gateway = try RunningGateway()
        let text = String(repeating: "not a database\n", count: 300)
        try gateway.write(text, to: "gateway.db")
        #expect(try Self.refusal(gateway).contains("gateway.db"))
        #expect(gateway.text(of: "gateway.db") == text)
    }

    /// A database whose pages are not what was written there: nothing is guessed, and nothing is written over it.
    @Test(arguments: ["garbage", "cut off"])
    func aDamagedDatabaseIsRefused(_ kind: String) throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        try gateway.stop()
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: gateway.database)))
        // The head of the file stays: what is wrong is found by reading.
        if kind == "garbage" {
            for place in bytes.indices.dropFirst(100) { bytes[place] = 0xA5 }
        } else {
            bytes.removeSubrange(4096...)
        }
        try Data(bytes).write(to: URL(fileURLWithPath: gateway.database))
        let reason = try Self.refusal(gateway)
        #expect(reason.contains("damaged") && reason.contains("backup"), "\(reason)")
        #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: gateway.database))) == bytes)
    }

    @Test func aDatabaseFromANewerVersionIsRefused() throws {
        let gateway = try RunningGateway()
        #expect(try gateway.run(["migrate"]).status == .exited(0))
        try SQLDatabase(gateway.database)
            .execute("INSERT INTO migration (number, name, checksum) VALUES (9999, '9999_later.sql', 'x')")
        #expect(try Self.refusal(gateway).contains("newer version"))
        #expect(try gateway.run(["migrate"]).status == .exited(1))
    }

    @Test func aDatabaseOfAnotherProgramIsRefused() throws {
        let gateway = try RunningGateway()
        #expect(try gateway.run(["migrate"]).status == .exited(0))
        try SQLDatabase(gateway.database).execute("UPDATE migration SET checksum = 'other' WHERE number = 1")
        #expect(try Self.refusal(gateway).contains("0001_initial.sql"))
    }

    @Test func migrateTellsWhatItDid() throws {
        let gateway = try RunningGateway()
        #expect(try gateway.run(["migrate"]).output.contains("0001_initial.sql"))
        #expect(try gateway.run(["migrate"]).output.contains("up to date"))
    }

    // MARK: - A changed configuration

    /// Facts keep product ids, not conclusions (rule 10).
    @Test func aChangedProductMapElectsAnew() throws {
        let gateway = try RunningGateway(config: #"{"products": {"revenuecat": {"pro_monthly": ["pro"]}}}"#)
        try gateway.start()
        try gateway.deliver("revenuecat", RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1").body)
        var other = RevenueCatEvent("evt_2", user: "u2", purchase: "tx_2")
        other.product = "team_monthly"
        #expect(try gateway.deliver("revenuecat", other.body) == "unmapped")
        func rows() throws -> [String] {
            try gateway.stop()
            return try SQLDatabase(gateway.database).rows("SELECT user_id, body FROM subscription ORDER BY 1")
        }
        func facts() throws -> [String] {
            try SQLDatabase(gateway.database).rows("SELECT * FROM fact ORDER BY 1, 2, 3")
                + SQLDatabase(gateway.database).rows("SELECT * FROM external_id ORDER BY 1, 2, 3")
        }
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        #expect(try gateway.entitlement(of: "u2")["status"] == "none")
        let version = try #require(gateway.entitlement(of: "u1")["version"]?.integer)
        let (rowsBefore, factsBefore) = (try rows(), try facts())

        try gateway.write(#"{"products": {"revenuecat": {"team_monthly": ["team", "pro"]}}}"#, to: "gateway.json")
        try gateway.start()
        #expect(try gateway.entitlement(of: "u1")["entitled"] == false)
        #expect(try gateway.entitlement(of: "u1")["version"]?.integer ?? 0 > version)
        #expect(try gateway.entitlement(of: "u2")["entitled"] == true)
        #expect(try gateway.entitlement(of: "u2", "entitlement=team")["entitled"] == true)
        #expect(gateway.text(of: "gateway.log").contains("elected anew"))
        #expect(try rows() != rowsBefore)
        #expect(try facts() == factsBefore)
        #expect(try gateway.run(["rebuild", "--check"]).status == .exited(0))

        try gateway.write(#"{"products": {"revenuecat": {"pro_monthly": ["pro"]}}}"#, to: "gateway.json")
        try gateway.start()
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        #expect(try gateway.entitlement(of: "u2")["entitled"] == false)
        // u2 has a row now where there was none: an empty one.
        #expect(try rows().filter { $0.hasPrefix("u1|") } == rowsBefore.filter { $0.hasPrefix("u1|") })
        #expect(try facts() == factsBefore)
        #expect(try gateway.run(["rebuild", "--check"]).status == .exited(0))
    }

    @Test func sandboxUsersAndGraceElectAnew() throws {
        let gateway = try RunningGateway().start()
        var event = RevenueCatEvent("evt_1", user: "reviewer-1", purchase: "tx_1")
        event.environment = "SANDBOX"
        try gateway.deliver("revenuecat", event.body)
        #expect(try gateway.entitlement(of: "reviewer-1")["entitled"] == false)
        try gateway.stop()
        try gateway.write(#"{"sandbox_users": ["reviewer-1"]}"#, to: "gateway.json")
        try gateway.start()
        #expect(try gateway.entitlement(of: "reviewer-1")["entitled"] == true)
        try gateway.stop()
        try gateway.write("{}", to: "gateway.json")
        try gateway.start()
        #expect(try gateway.entitlement(of: "reviewer-1")["entitled"] == false)
        #expect(try gateway.entitlement(of: "reviewer-1", "environment=sandbox")["entitled"] == true)
    }

    /// The same configuration again changes nothing: no row is written, no version grows.
    @Test func anUnchangedConfigurationElectsNothing() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: Clock.text(secondsFromNow: 3600))
        let before = try gateway.entitlement(of: "u1")
        try gateway.stop()
        try gateway.start()
        #expect(try gateway.entitlement(of: "u1") == before)
        #expect(!gateway.text(of: "gateway.log").contains("elected anew"))
    }
}
