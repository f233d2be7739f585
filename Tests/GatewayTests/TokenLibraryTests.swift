internal import Foundation
internal import TestSupport
internal import Testing

/// Offline tokens read by a library that everybody uses (PyJWT), from the keys that the gateway publishes.
@Suite("Offline tokens, read by others", .ownThread)
struct TokenLibraryTests {
    /// Prints the claims of a token, or the name of what was wrong with it.
    private static let script = """
        import json, sys, jwt
        keys = {k["kid"]: jwt.algorithms.OKPAlgorithm.from_jwk(json.dumps(k)) for k in json.load(open("keys.json"))["keys"]}
        for line in open("tokens.txt"):
            token, audience = line.split()
            try:
                kid = jwt.get_unverified_header(token)["kid"]
                claims = jwt.decode(token, keys[kid], algorithms=["EdDSA"], audience=audience,
                                    issuer="https://entitlements.example.com",
                                    options={"require": ["exp", "iat", "nbf", "sub", "aud", "iss"]})
                print(claims["sub"], claims["dev"], json.dumps(claims["ent"]))
            except Exception as error:
                print(type(error).__name__)
        """

    private static let python: String? = {
        guard let folder = try? TemporaryFolder(prefix: "python") else { return nil }
        defer { folder.remove() }
        // The system's own first: that is where the system's packages are.
        return ["/usr/bin/python3", InstalledProgram.path(of: "python3")].compactMap(\.self).first { program in
            FileManager.default.isExecutableFile(atPath: program)
                && (try? InstalledProgram.run(program, ["-c", "import jwt, cryptography"], in: folder))?.status
                    == .exited(0)
        }
    }()

    @Test(
        .enabled(
            if: python != nil,
            "python3-jwt and python3-cryptography are not installed: scripts/test installs them"
        )
    )
    func aTokenIsReadFromThePublishedKeys() throws {
        let config = #"{"public_url":"https://entitlements.example.com"}"#
        let gateway = try RunningGateway(config: config).start()
        try gateway.grant("u1", until: nil)
        let key = try gateway.ask("POST", "/v1/licenses", body: #"{"user_id":"u1"}"#).json()["license_key"]
        let body = LicenseTests.body([("license_key", key ?? .null), ("device_id", "d1")])
        func token() throws -> String {
            try gateway.ask("POST", "/v1/licenses/activate", key: nil, body: body).json()["token"]?.string ?? ""
        }
        let first = try token()
        Thread.sleep(forTimeInterval: 0.02)
        #expect(try gateway.run(["keys", "rotate-signing"]).status == .exited(0))
        Thread.sleep(forTimeInterval: 1.2)
        let second = try token()
        let forged =
            first.split(separator: ".").prefix(2).joined(separator: ".") + "."
            + (second.split(separator: ".").last ?? "")
        // Signed by somebody else under the published name.
        let parts = first.split(separator: ".").map(String.init)
        let stranger = SigningKey(.ed25519)
        let other =
            parts[0] + "." + parts[1] + "."
            + SigningKey.base64URL(stranger.rawSignature(of: Array((parts[0] + "." + parts[1]).utf8)))
        let lines = ["\(first) device", "\(second) device", "\(first) browser", "\(forged) device", "\(other) device"]
        try gateway.write(lines.joined(separator: "\n") + "\n", to: "tokens.txt")
        try gateway.write(gateway.ask("GET", "/.well-known/jwks.json", key: nil).text, to: "keys.json")
        try gateway.write(Self.script, to: "read.py")
        let result = try InstalledProgram.run(try #require(Self.python), ["read.py"], in: gateway.folder)
        let good = "u1 d1 {\"pro\": null}"
        #expect(
            result.output.split(separator: "\n").map(String.init) == [
                good, good, "InvalidAudienceError", "InvalidSignatureError", "InvalidSignatureError",
            ],
            "\(result.output)\(result.errors)"
        )
    }
}
