internal import Foundation
internal import Glibc
internal import TestSupport

/// Why a test could not go on.
struct GatewayTestError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }
}

/// What came of a command that has ended.
struct CommandResult {
    var status: ProcessEnd
    var output: String
    var errors: String
}

/// One real gateway: its folder, its process, its port, and a client. For one thread.
final class RunningGateway {
    static let adminKey = "admin_key_of_the_tests"
    static let readKey = "read_key_of_the_tests"
    /// The program that was built beside the tests, or another one: `scripts/stress` names that of a release.
    static let program =
        ProcessInfo.processInfo.environment["GATEWAY_TEST_PROGRAM"]
        ?? Bundle.main.bundleURL.appendingPathComponent("entitlement-gateway").path
    /// Two busy cores and a debug build: many times what a start takes.
    private static let startSeconds = 20.0
    /// What a program needs of the surroundings.
    private static let inherited = [
        "PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH",
        // Where a sanitizer in the gateway writes what it finds (scripts/sanitize).
        "ASAN_OPTIONS", "TSAN_OPTIONS",
    ]

    let folder: TemporaryFolder
    /// Variables that the test sets.
    var environment: [String: String]
    /// Further words of `serve`.
    var arguments: [String] = []
    /// Words before the program: another program that becomes this one.
    var wrapper: [String] = []
    /// Its clients must speak TLS; this object's own do not.
    var isEncrypted: Bool { arguments.contains("--tls-key") || environment["GATEWAY_TLS_KEY"] != nil }
    /// The file mode mask of every process; nil is that of the tests.
    var mask: String?
    private(set) var port: UInt16 = 0
    private var process: ChildProcess?
    private var connection: HTTPConnection?

    var database: String { folder.file("gateway.db") }
    var listen: String { "127.0.0.1:\(port)" }

    /// - Parameter environment: Added to the two keys and every provider's secret.
    init(_ environment: [String: String] = [:], config: String? = nil) throws {
        folder = try TemporaryFolder(prefix: "gateway")
        self.environment = ["GATEWAY_ADMIN_KEY": Self.adminKey, "GATEWAY_READ_KEY": Self.readKey]
            .merging(WebhookSigner.environment) { $1 }.merging(environment) { $1 }
        port = try FreePorts.claim()
        if let config { try write(config, to: "gateway.json") }
    }

    deinit {
        process?.kill()
        folder.remove()
    }

    func write(_ text: String, to name: String, mode: Int = 0o600) throws {
        let path = folder.file(name)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    func text(of name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: folder.file(name)) ?? Data(), as: UTF8.self)
    }

    // MARK: - The process

    /// Starts it and waits until it is ready.
    @discardableResult
    func start() throws -> RunningGateway {
        connection = nil
        for _ in 0..<3 {
            guard let status = try tryToStart() else { return self }
            guard text(of: "gateway.log").contains("in use") else {
                throw GatewayTestError("the gateway ended at the start with \(status): \(logTail)")
            }
            port = try FreePorts.claim()
        }
        throw GatewayTestError("the port was in use three times")
    }

    /// Nil when it is ready; its status when it has ended instead.
    private func tryToStart() throws -> ProcessEnd? {
        let process = try launch(
            ["serve"] + arguments,
            through: wrapper,
            output: "gateway.out",
            errors: "gateway.log"
        )
        self.process = process
        let end = ContinuousClock.now + .seconds(Self.startSeconds)
        while ContinuousClock.now < end {
            if let status = process.status {
                self.process = nil
                return status
            }
            let answer = try? HTTPConnection(port: port).send(HTTPRequest(target: "/readyz"), seconds: 5)
            // Where TLS is spoken, being told so is an answer.
            if answer?.status == (isEncrypted ? 400 : 200) { return nil }
            Thread.sleep(forTimeInterval: 0.005)
        }
        process.kill()
        throw GatewayTestError("the gateway was not ready in time: \(logTail)")
    }

    /// SIGTERM, and the end it must have.
    func stop(within seconds: Double = 20) throws {
        connection = nil
        guard let running = process else { return }
        process = nil
        running.send(signal: SIGTERM)
        let status = running.wait(seconds: seconds)
        running.kill()
        guard status == .exited(0) else {
            throw GatewayTestError("after SIGTERM: \(status.map(\.description) ?? "still running"): \(logTail)")
        }
    }

    /// Asks it to read its files again.
    func hangUp() {
        process?.send(signal: SIGHUP)
    }

    /// SIGHUP; what was logged until the gateway had read its configuration again, or had refused it.
    @discardableResult
    func reload(within seconds: Double = 20) throws -> String {
        let known = text(of: "gateway.log").utf8.count
        process?.send(signal: SIGHUP)
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            let log = String(decoding: text(of: "gateway.log").utf8.dropFirst(known), as: UTF8.self)
            if log.hasSuffix("\n"), log.contains("configuration read again") || log.contains("the old one stays") {
                return log
            }
            Thread.sleep(forTimeInterval: 0.005)
        }
        throw GatewayTestError("SIGHUP was not answered in time: \(logTail)")
    }

    /// For whoever sends SIGKILL from another thread.
    var processNumber: Int32 { process?.identifier ?? -1 }

    /// Waits for the end of a process that was killed.
    func waitForKill() throws {
        connection = nil
        guard let process else { return }
        guard process.wait(seconds: 20) == .signalled(SIGKILL) else {
            throw GatewayTestError("expected the end by SIGKILL, got \(String(describing: process.status))")
        }
        self.process = nil
    }

    /// Runs the program with these words until it ends.
    ///
    /// - Parameter changes: Variables that are other than the gateway's; nil takes one away.
    func run(
        _ words: [String],
        changes: [String: String?] = [:],
        seconds: Double = 30
    ) throws -> CommandResult {
        let (output, errors) = ("command.out", "command.err")
        for name in [output, errors] { try? FileManager.default.removeItem(atPath: folder.file(name)) }
        let process = try launch(words, changes: changes, output: output, errors: errors)
        guard let status = process.wait(seconds: seconds) else {
            process.kill()
            throw GatewayTestError("\(words.joined(separator: " ")) did not end within \(seconds) s")
        }
        return CommandResult(status: status, output: text(of: output), errors: text(of: errors))
    }

    /// Runs the program with these words and kills it as soon as something is so.
    func killWhile(_ words: [String], seconds: Double = 30, _ condition: () throws -> Bool) throws {
        let process = try launch(words, output: "command.out", errors: "command.err")
        defer { process.kill() }
        let end = ContinuousClock.now + .seconds(seconds)
        while try !condition() {
            guard process.status == nil, ContinuousClock.now < end else {
                throw GatewayTestError("\(words.joined(separator: " ")) ended too early: \(text(of: "command.err"))")
            }
            Thread.sleep(forTimeInterval: 0.005)
        }
        process.send(signal: SIGKILL)
        guard process.wait(seconds: 20) == .signalled(SIGKILL) else { throw GatewayTestError("it was not killed") }
    }

    private func launch(
        _ words: [String],
        through wrapper: [String] = [],
        changes: [String: String?] = [:],
        output: String,
        errors: String
    ) throws -> ChildProcess {
        var variables = ProcessInfo.processInfo.environment.filter { Self.inherited.contains($0.key) }
        variables["GATEWAY_LISTEN"] = listen
        variables["GATEWAY_DATABASE"] = database
        variables.merge(environment) { $1 }
        for (name, value) in changes { variables[name] = value }
        // The shell becomes the program: signals and the status are the program's own.
        let before = (mask.map { ["sh", "-c", "umask \($0); exec \"$0\" \"$@\""] } ?? []) + wrapper
        return try ChildProcess(
            .init(
                program: before.isEmpty ? Self.program : "/usr/bin/env",
                arguments: before.isEmpty ? words : before + [Self.program] + words,
                environment: variables,
                folder: folder.path,
                output: folder.file(output),
                errors: folder.file(errors)
            )
        )
    }

    var logTail: String { text(of: "gateway.log").split(separator: "\n").suffix(8).joined(separator: "\n") }

    // MARK: - The client

    @discardableResult
    func send(_ request: HTTPRequest) throws -> HTTPAnswer {
        let kept = connection ?? HTTPConnection(port: port)
        connection = kept
        return try kept.send(request, seconds: 40)
    }

    static func request(
        _ method: String,
        _ target: String,
        key: String? = adminKey,
        body: String? = nil,
        headers: [HTTPHeader] = []
    ) -> HTTPRequest {
        let credential = key.map { [HTTPHeader("Authorization", "Bearer \($0)")] } ?? []
        return HTTPRequest(
            method: method,
            target: target,
            headers: credential + headers,
            body: body.map { Array($0.utf8) }
        )
    }

    @discardableResult
    func ask(
        _ method: String,
        _ target: String,
        key: String? = adminKey,
        body: String? = nil,
        headers: [HTTPHeader] = []
    ) throws -> HTTPAnswer {
        try send(Self.request(method, target, key: key, body: body, headers: headers))
    }

    /// The user's answer, by the read key.
    func entitlement(of user: String, _ query: String = "") throws -> JSONValue {
        let target = "/v1/users/\(user)/entitlement" + (query.isEmpty ? "" : "?" + query)
        let answer = try ask("GET", target, key: Self.readKey)
        guard answer.status == 200 else { throw GatewayTestError("\(target): \(answer.status) \(answer.text)") }
        return try answer.json()
    }

    /// Gives `user` an entitlement by hand; fails when it is refused.
    @discardableResult
    func grant(_ user: String, until: String?, id: String? = nil, entitlement: String? = nil) throws -> JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            (key: "until", value: until.map(JSONValue.string) ?? .null), (key: "reason", value: "a test"),
        ]
        if let id { members.append((key: "grant_id", value: .string(id))) }
        if let entitlement { members.append((key: "entitlement", value: .string(entitlement))) }
        let answer = try ask("POST", "/v1/users/\(user)/grants", body: JSONValue.object(JSONObject(members)).compact)
        guard answer.status == 201 else { throw GatewayTestError("grant: \(answer.status) \(answer.text)") }
        return try answer.json()
    }

    /// Delivers a body signed as the provider signs, and gives the outcome; fails when it is not answered 200.
    @discardableResult
    func deliver(_ provider: String, _ body: String, id: String = "msg_1") throws -> String {
        let answer = try send(WebhookSigner.request(provider, Array(body.utf8), id: id))
        guard answer.status == 200, let outcome = try answer.json()["outcome"]?.string else {
            throw GatewayTestError("\(provider): \(answer.status) \(answer.text)")
        }
        return outcome
    }

    /// Every file of the folder whose name begins so: `gateway.db`, its log of writes, and so on.
    func bytes(ofFilesNamed prefix: String) throws -> [(name: String, bytes: Data)] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix(prefix) }.sorted().map {
            (name: $0, bytes: try Data(contentsOf: URL(fileURLWithPath: folder.file($0))))
        }
    }
}

extension JSONValue {
    var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    var integer: Int64? {
        guard case .number(let value) = self else { return nil }
        return value.integer
    }

    var array: [JSONValue] {
        guard case .array(let elements) = self else { return [] }
        return elements
    }
}
