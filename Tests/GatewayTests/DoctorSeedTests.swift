internal import Foundation
internal import TestSupport
internal import Testing

/// Mistakes that people make in the first hour and later: `doctor` finds each, says what it is, and what to do about it.
@Suite("Doctor: seeded mistakes", .ownThread)
struct DoctorSeedTests {
    /// One mistake, and what must be said of it.
    struct Seed: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var state: String
        var area: String
        var told: String
        var hint: String
        var changes: [String: String] = [:]
        var config: String?
        /// Puts files in place.
        var prepare: @Sendable (RunningGateway) throws -> Void = { _ in }
        var words: [String] = []
    }

    private static let certificate = ["--tls-certificate", "own.crt", "--tls-key", "own.key"]

    private static func makeCertificate(days: Int = 90) -> @Sendable (RunningGateway) throws -> Void {
        { gateway in _ = try TestCertificate("own", in: gateway.folder, days: days) }
    }

    private static let seeds: [Seed] = [
        Seed(
            testDescription: "a misspelt setting",
            state: "broken",
            area: "configuration",
            told: "/grase",
            hint: "",
            config: #"{"grase": {}}"#
        ),
        Seed(
            testDescription: "a file that is no JSON",
            state: "broken",
            area: "configuration",
            told: "gateway.json",
            hint: "",
            config: "{"
        ),
        Seed(
            testDescription: "a map of a provider that does not exist",
            state: "broken",
            area: "products",
            told: "/products/strpe",
            hint: "correct its name",
            config: #"{"products": {"strpe": {"*": ["pro"]}}}"#
        ),
        Seed(
            testDescription: "a secret of the wrong shape",
            state: "broken",
            area: "provider",
            told: "POLAR_WEBHOOK_SECRET",
            hint: "",
            changes: ["POLAR_WEBHOOK_SECRET": "a,,b"]
        ),
        Seed(
            testDescription: "no secret at all",
            state: "off",
            area: "provider",
            told: "creem is off",
            hint: "set CREEM_WEBHOOK_SECRET",
            changes: ["CREEM_WEBHOOK_SECRET": ""]
        ),
        Seed(
            testDescription: "a key that can be guessed",
            state: "warning",
            area: "keys",
            told: "GATEWAY_READ_KEY is shorter",
            hint: "keys create",
            changes: ["GATEWAY_READ_KEY": "secret"]
        ),
        Seed(
            testDescription: "one key for everything",
            state: "warning",
            area: "keys",
            told: "share a key",
            hint: "another key for each",
            changes: ["GATEWAY_READ_KEY": RunningGateway.adminKey]
        ),
        Seed(
            testDescription: "sandbox for everybody",
            state: "warning",
            area: "configuration",
            told: "sandbox purchases of everyone",
            hint: "single users",
            config: #"{"sandbox_users": ["*"]}"#
        ),
        Seed(
            testDescription: "plain HTTP for the world",
            state: "warning",
            area: "tls",
            told: "0.0.0.0:8080 speaks plain HTTP",
            hint: "GATEWAY_TLS_CERTIFICATE",
            changes: ["GATEWAY_LISTEN": "0.0.0.0:8080"]
        ),
        Seed(
            testDescription: "open metrics for the world",
            state: "warning",
            area: "configuration",
            told: "can read /metrics",
            hint: "GATEWAY_ADMIN_LISTEN",
            changes: ["GATEWAY_LISTEN": "0.0.0.0:8080"],
            config: #"{"metrics": "open"}"#
        ),
        Seed(
            testDescription: "one address twice",
            state: "broken",
            area: "configuration",
            told: "same address: 127.0.0.1:8080",
            hint: "another port",
            words: ["--listen", "127.0.0.1:8080", "--admin-listen", "127.0.0.1:8080"]
        ),
        Seed(
            testDescription: "a certificate that is not there",
            state: "broken",
            area: "tls",
            told: "own.crt: no such file",
            hint: "PEM file",
            words: certificate
        ),
        Seed(
            testDescription: "the key of another certificate",
            state: "broken",
            area: "tls",
            told: "not the key of the certificate",
            hint: "",
            prepare: { gateway in
                try makeCertificate()(gateway)
                _ = try TestCertificate("other", in: gateway.folder)
                try gateway.write(gateway.text(of: "other.key"), to: "own.key")
            },
            words: certificate
        ),
        Seed(
            testDescription: "a key that everybody can read",
            state: "broken",
            area: "tls",
            told: "everyone on this machine can read it",
            hint: "chmod 600",
            prepare: { gateway in
                try makeCertificate()(gateway)
                try gateway.write(gateway.text(of: "own.key"), to: "own.key", mode: 0o644)
            },
            words: certificate
        ),
        Seed(
            testDescription: "a certificate that is about to end",
            state: "warning",
            area: "tls",
            told: "own.crt ends in",
            hint: "renew it",
            prepare: makeCertificate(days: 3),
            words: certificate
        ),
        Seed(
            testDescription: "half a pair",
            state: "broken",
            area: "configuration",
            told: "--tls-key",
            hint: "name both",
            prepare: makeCertificate(),
            words: ["--tls-certificate", "own.crt"]
        ),
        Seed(
            testDescription: "a weak secret for notifications",
            state: "warning",
            area: "notify",
            told: "fewer than 24 bytes",
            hint: "whsec_",
            changes: ["NOTIFY_SECRET": "whsec_c2hvcnQ="],
            config: #"{"notify": [{"url": "https://app.example.com/hooks", "secret_env": "NOTIFY_SECRET"}]}"#
        ),
        Seed(
            testDescription: "no secret for notifications",
            state: "broken",
            area: "configuration",
            told: "NOTIFY_SECRET",
            hint: "",
            config: #"{"notify": [{"url": "https://app.example.com/hooks", "secret_env": "NOTIFY_SECRET"}]}"#
        ),
        Seed(
            testDescription: "settings with secrets that everybody can read",
            state: "broken",
            area: "configuration",
            told: "open.env",
            hint: "chmod 600",
            prepare: { try $0.write("GATEWAY_READ_KEY=abcdefghijklmnopqrst\n", to: "open.env", mode: 0o644) },
            words: ["--env-file", "open.env"]
        ),
        Seed(
            testDescription: "a folder that is not there",
            state: "broken",
            area: "disk",
            told: "no such folder",
            hint: "--database",
            words: ["--database", "nowhere/gateway.db"]
        ),
        Seed(
            testDescription: "a database that is none",
            state: "broken",
            area: "database",
            told: "gateway.db",
            hint: "",
            prepare: { try $0.write(String(repeating: "no database ", count: 100), to: "gateway.db") }
        ),
    ]

    @Test(arguments: seeds)
    func isFoundAndExplained(seed: Seed) throws {
        let gateway = try RunningGateway(config: seed.config)
        try seed.prepare(gateway)
        let changes = seed.changes.mapValues { $0.isEmpty ? nil : Optional($0) }
        let result = try gateway.run(["doctor", "--json"] + seed.words, changes: changes)
        let found = try Self.found(seed, in: result)
        let check = try #require(found.first, "\(result.output)")
        let hint = check["hint"]?.string ?? ""
        #expect(seed.hint.isEmpty || hint.contains(seed.hint), "\(check.compact)")
        #expect(result.status == .exited(seed.state == "broken" ? 1 : 0), "\(result.output)")
        // Without the mistake nothing of the kind is said.
        let sound = try RunningGateway()
        try Self.makeCertificate()(sound)
        let well = try sound.run(["doctor", "--json"] + Self.certificate)
        #expect(well.status == .exited(0), "\(well.output)")
        #expect(try Self.found(seed, in: well).isEmpty, "\(well.output)")
    }

    private static func found(_ seed: Seed, in result: CommandResult) throws -> [JSONValue] {
        (try CommandTests.json(result)["checks"]?.array ?? []).filter { check in
            check["area"] == .string(seed.area) && check["state"] == .string(seed.state)
                && (check["text"]?.string ?? "").contains(seed.told)
        }
    }
}
