internal import Foundation
internal import TestSupport
internal import Testing

/// Requests made up from the API's description by a tool that is not ours (schemathesis): no fault of the gateway's, no
/// status and no answer that is not described.
@Suite("The API, as its description says", .ownThread)
struct APIFuzzTests {
    private static let tree = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Where `scripts/test` puts it.
    private static let program: String? = {
        let path = tree.appendingPathComponent(".build/schemathesis/bin/schemathesis").path
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }()

    /// A wait is as long as it says; nobody has that time here.
    private static let hooks = """
        import schemathesis

        @schemathesis.hook
        def map_query(ctx, query):
            if query and "wait" in query:
                query["wait"] = "0"
            return query
        """

    @Test(
        .enabled(
            if: program != nil,
            "schemathesis is not installed: scripts/test installs it where there is a network"
        ),
        arguments: [
            ("a key", "^/v1/(me/|gate$)", true), ("a user token", "^/v1/(me/|gate$)", false),
        ]
    )
    func nothingUndescribed(credential: String, paths: String, isExcluded: Bool) throws {
        let issuer = try TestIssuer()
        let gateway = try RunningGateway(config: issuer.config()).start()
        try gateway.grant("u1", until: nil)
        try gateway.write(Self.hooks, to: "hooks.py")
        let token = isExcluded ? RunningGateway.adminKey : issuer.token()
        // The stream of changes never ends.
        let chosen = isExcluded ? ["--exclude-path-regex", paths + "|^/v1/changes$"] : ["--include-path-regex", paths]
        let result = try InstalledProgram.run(
            "/usr/bin/env",
            [
                "SCHEMATHESIS_HOOKS=hooks", "PYTHONPATH=.", try #require(Self.program), "run",
                "http://\(gateway.listen)/openapi.json", "--header", "Authorization: Bearer \(token)", "--checks",
                "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
                "--phases", "examples,coverage,fuzzing", "--max-examples", "12", "--generation-deterministic",
                "--suppress-health-check", "all", "--request-timeout", "20", "--no-color",
            ] + chosen,
            in: gateway.folder,
            seconds: 240
        )
        #expect(result.status == .exited(0), "\(result.output.suffix(6000))\(result.errors.suffix(1000))")
        // Everybody's data are still there, and the gateway still answers.
        #expect(try gateway.ask("GET", "/readyz", key: nil).status == 200)
    }
}
