internal import Foundation
internal import TestSupport
internal import Testing

/// The examples of the documentation work as they stand there.
@Suite("Examples", .ownThread)
struct ExampleTests {
    private static let node = InstalledProgram.path(of: "node")
    private static let python = InstalledProgram.path(of: "python3")
    private static let isPostgresHere =
        InstalledProgram.path(of: "initdb") != nil
        || FileManager.default.fileExists(atPath: "/usr/lib/postgresql")

    /// Puts the page's file of this name into a folder.
    private static func put(_ name: String, in folder: TemporaryFolder) throws {
        let page = Samples.tree.appendingPathComponent("Sources/Gateway/Documentation.docc/Examples.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let after = try #require(text.components(separatedBy: "`\(name)`\n\n```").dropFirst().first, "\(name)")
        let block = after.components(separatedBy: "```")[0]
        let body = block.drop { $0 != "\n" }.dropFirst()
        try Data(body.utf8).write(to: URL(fileURLWithPath: folder.file(name)))
    }

    private static func put(_ text: String, as name: String, in folder: TemporaryFolder) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file(name)))
    }

    private static func lines(_ result: CommandResult) -> [String] {
        #expect(result.status == .exited(0), "\(result.output)\(result.errors)")
        return result.output.split(separator: "\n").map(String.init)
    }

    @Test(.enabled(if: node != nil, "Node is not installed: scripts/test installs it"))
    func aNodeServerAsks() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u%201%2F%C3%BC", until: nil)
        let folder = gateway.folder
        try Self.put("gate.mjs", in: folder)
        let script = """
            import { requireEntitlement } from "./gate.mjs";
            async function ask(user, gateway, key) {
              const gate = requireEntitlement({ gateway, key, userOf: (request) => request.user });
              let said = "nothing";
              const response = { status(code) { said = code; return this; }, json() {} };
              const request = { user };
              await gate(request, response, () => { said = `next ${request.entitlement.status}`; });
              console.log(said);
            }
            const [gateway, key, nobody] = process.argv.slice(2);
            await ask("u 1/ü", gateway, key);
            await ask("u2", gateway, key);
            await ask(undefined, gateway, key);
            await ask("u 1/ü", gateway, "another key");
            await ask("u 1/ü", nobody, key);
            """
        try Self.put(script, as: "run.mjs", in: folder)
        let nobody = "http://127.0.0.1:\(try FreePorts.claim())"
        let arguments = ["run.mjs", "http://\(gateway.listen)", RunningGateway.readKey, nobody]
        let result = try InstalledProgram.run(try #require(Self.node), arguments, in: folder)
        #expect(Self.lines(result) == ["next active", "402", "401", "503", "503"])
    }

    @Test(.enabled(if: python != nil, "Python is not installed"))
    func aPythonServerAsks() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u%201%2F%C3%BC", until: nil)
        let folder = gateway.folder
        try Self.put("gate.py", in: folder)
        let script = """
            import sys
            from gate import Gate, NotEntitled
            def ask(user, gateway, key):
                try:
                    print("yes", Gate(gateway, key, lambda request: request)(user)["status"])
                except NotEntitled as error:
                    print(error.status)
            gateway, key, nobody = sys.argv[1:]
            ask("u 1/ü", gateway, key)
            ask("u2", gateway, key)
            ask(None, gateway, key)
            ask("u 1/ü", gateway, "another key")
            ask("u 1/ü", nobody, key)
            """
        try Self.put(script, as: "run.py", in: folder)
        let nobody = "http://127.0.0.1:\(try FreePorts.claim())"
        let arguments = ["run.py", "http://\(gateway.listen)", RunningGateway.readKey, nobody]
        let result = try InstalledProgram.run(try #require(Self.python), arguments, in: folder)
        #expect(Self.lines(result) == ["yes active", "402", "401", "503", "503"])
    }

    @Test(.enabled(if: node != nil, "Node is not installed: scripts/test installs it"))
    func aDesktopAppChecksItsLicence() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        let key = try gateway.ask("POST", "/v1/licenses", body: #"{"user_id":"u1"}"#).json()["license_key"]
        let body = LicenseTests.body([("license_key", key ?? .null), ("device_id", "d1")])
        let token = try gateway.ask("POST", "/v1/licenses/activate", key: nil, body: body).json()["token"]?.string ?? ""
        try gateway.write(gateway.ask("GET", "/.well-known/jwks.json", key: nil).text, to: "keys.json")
        let stranger = SigningKey(.ed25519)
        try gateway.write("{\"keys\":[\(stranger.jwk(kid: "other"))]}", to: "others.json")
        let parts = token.split(separator: ".").map(String.init)
        let forged = stranger.rawSignature(of: Array((parts[0] + "." + parts[1]).utf8))
        let folder = gateway.folder
        try Self.put("license.mjs", in: folder)
        let script = """
            import { readFileSync } from "node:fs";
            import { checkLicense } from "./license.mjs";
            const [token, forged] = process.argv.slice(2);
            const keys = JSON.parse(readFileSync("keys.json"));
            const now = Date.now() / 1000;
            function ask(token, how) {
              try {
                const said = checkLicense(token, { keys, device: "d1", ...how });
                console.log(said.sub, JSON.stringify(said.ent), said.askAgain, said.clockTurnedBack);
              } catch (error) {
                console.log(error.message);
              }
            }
            ask(token, {});
            ask(token, { clock: now + 8 * 86400 });
            ask(token, { clock: now + 15 * 86400 });
            ask(token, { clock: now, latest: now + 15 * 86400 });
            ask(token, { clock: now, latest: now + 2 * 86400 });
            ask(token, { clock: now - 3600 });
            ask(token, { device: "d2" });
            ask(token, { issuer: "https://other.example.com" });
            ask(token, { keys: JSON.parse(readFileSync("others.json")) });
            ask(forged, {});
            ask("nonsense", {});
            """
        try Self.put(script, as: "run.mjs", in: folder)
        let other = parts[0] + "." + parts[1] + "." + SigningKey.base64URL(forged)
        let result = try InstalledProgram.run(try #require(Self.node), ["run.mjs", token, other], in: folder)
        #expect(
            Self.lines(result) == [
                "u1 {\"pro\":null} false false", "u1 {\"pro\":null} true false", "expired", "expired",
                "u1 {\"pro\":null} false true", "not yet valid", "another device", "another gateway",
                "an unknown key", "a bad signature", "no token",
            ]
        )
    }

    // MARK: - Fed by notifications

    /// What the gateway told of a user who got access and lost it again.
    private static func notifications() throws -> (RunningGateway, [TestReceiver.Delivery]) {
        let receiver = try TestReceiver()
        let gateway = try RunningGateway(
            ["NOTIFY_SECRET": TestReceiver.secret],
            config: TestReceiver.config([receiver.url])
        ).start()
        try gateway.grant("u1", until: Clock.text(secondsFromNow: 3600), id: "g1")
        _ = try receiver.deliveries(1)
        try gateway.ask("DELETE", "/v1/users/u1/grants/g1")
        return (gateway, try receiver.deliveries(2))
    }

    @Test(.enabled(if: node != nil, "Node is not installed: scripts/test installs it"))
    func anEdgeFunctionTakesNotifications() throws {
        let (gateway, told) = try Self.notifications()
        let delivery = try #require(told.first)
        let folder = gateway.folder
        try Self.put("take-entitlement.js", in: folder)
        try FileManager.default.moveItem(
            atPath: folder.file("take-entitlement.js"),
            toPath: folder.file("take-entitlement.mjs")
        )
        let headers = LicenseTests.body(delivery.headers.map { ($0.key, .string($0.value)) })
        try gateway.write(headers, to: "headers.json")
        try gateway.write(String(decoding: delivery.body, as: UTF8.self), to: "message.json")
        let script = """
            import { createServer } from "node:http";
            import { readFileSync } from "node:fs";
            import { handle } from "./take-entitlement.mjs";
            let status = 204;
            const database = createServer(async (request, response) => {
              let body = "";
              for await (const part of request) body += part;
              const { message } = JSON.parse(body);
              console.log(request.url, request.headers.apikey, message.data.user_id, message.data.entitled);
              response.writeHead(status).end();
            });
            await new Promise((done) => database.listen(0, "127.0.0.1", done));
            const settings = {
              secret: process.argv[2], serviceKey: "service",
              restURL: `http://127.0.0.1:${database.address().port}/rest/v1`,
            };
            const all = JSON.parse(readFileSync("headers.json"));
            const headers = Object.fromEntries(Object.entries(all).filter(([name]) => name.startsWith("webhook-")));
            const body = readFileSync("message.json", "utf8");
            async function send(more, text = body) {
              const request = new Request("https://f.example.com", { method: "POST", body: text, headers: { ...headers, ...more } });
              console.log((await handle(request, settings)).status);
            }
            await send({});
            status = 500;
            await send({});
            await send({}, body.replace("true", "false"));
            await send({ "webhook-timestamp": "1" });
            await send({ "webhook-signature": "v1,AAAA" });
            database.close();
            database.closeAllConnections();
            """
        try Self.put(script, as: "run.mjs", in: folder)
        let result = try InstalledProgram.run(
            try #require(Self.node),
            ["run.mjs", TestReceiver.secret],
            in: folder
        )
        let call = "/rest/v1/rpc/take_entitlement service u1 true"
        #expect(Self.lines(result) == [call, "204", call, "503", "401", "401", "401"])
    }

    @Test(.enabled(if: isPostgresHere, "PostgreSQL is not installed: scripts/test installs it"))
    func rowsAreSecuredByNotifications() throws {
        let (gateway, told) = try Self.notifications()
        let folder = gateway.folder
        func take(_ delivery: TestReceiver.Delivery) -> String {
            "DO $do$ BEGIN PERFORM take_entitlement($json$"
                + String(decoding: delivery.body, as: UTF8.self) + "$json$); END $do$;"
        }
        let count = "SET ROLE app; SELECT count(*) FROM reports; RESET ROLE;"
        let use = [
            "CREATE ROLE app; GRANT SELECT ON reports TO app; INSERT INTO reports VALUES (1, 'for payers');",
            count, "SET app.user_id = 'u1';", count, take(told[0]), count,
            "SET app.user_id = 'u2';", count, "SET app.user_id = 'u1';",
            // The clock ends it when nobody tells.
            "UPDATE entitlements SET access_until = now();", count,
            take(told[1]), count,
            // The first one again, late.
            take(told[0]), count, "SELECT count(*) FROM entitlements;",
        ]
        try Self.put("entitlements.sql", in: folder)
        try Self.put(use.joined(separator: "\n"), as: "use.sql", in: folder)
        // PostgreSQL does not run for root.
        let script = """
            set -eu
            if [ "$(id -u)" = 0 ]; then
                mkdir pg
                cp entitlements.sql use.sql postgres.sh pg
                chown -R postgres pg .
                exec setpriv --reuid=postgres --regid=postgres --clear-groups sh -c 'cd pg && sh postgres.sh'
            fi
            for folder in /usr/lib/postgresql/*/bin; do PATH="$folder:$PATH"; done
            initdb -D data -A trust -U postgres --no-sync --locale=C -E UTF8 >init.log 2>&1
            pg_ctl -D data -o "-c listen_addresses='' -F -k $PWD" -l server.log -w start >start.log 2>&1
            trap 'pg_ctl -D data -m immediate stop >stop.log 2>&1' EXIT
            psql -h "$PWD" -U postgres -v ON_ERROR_STOP=1 -qAt -f entitlements.sql -f use.sql
            """
        try Self.put(script, as: "postgres.sh", in: folder)
        try gateway.stop()
        let result = try InstalledProgram.run("/bin/sh", ["postgres.sh"], in: folder)
        #expect(Self.lines(result) == ["0", "0", "1", "0", "0", "0", "0", "1"])
    }
}
