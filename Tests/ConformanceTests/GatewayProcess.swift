import Foundation
import Glibc
import TestSupport

/// One gateway: its files, its process, its port. For one thread.
final class GatewayProcess {
    private static let startSeconds = 10.0
    private static let stopSeconds = 10.0
    /// What a program needs of the surroundings; everything else is the case's.
    private static let inherited = [
        "PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH",
        // Where a sanitizer in the gateway writes what it finds (scripts/sanitize).
        "ASAN_OPTIONS", "TSAN_OPTIONS",
    ]

    private let program: String
    private let folder: TemporaryFolder
    private let configPath: String?
    private var process: ChildProcess?

    /// The variables that the case and the runner set.
    var environment: [String: String]
    private(set) var port: UInt16 = 0

    var databasePath: String { folder.file("gateway.db") }

    /// Where a server is that every case gets a database of its own on, such as `postgres://gateway@127.0.0.1:5432`; nil for
    /// files.
    static var server: String? { ProcessInfo.processInfo.environment["CONFORMANCE_SERVER"] }

    private var database: String {
        guard let server = Self.server else { return databasePath }
        // Names on a server are short; the folder's own end is not found twice.
        return server + "/case_" + folder.path.suffix(32).filter { $0.isLetter || $0.isNumber }
    }
    var logPath: String { folder.file("gateway.log") }

    init(
        program: String,
        folder: TemporaryFolder,
        environment: [String: String],
        config: JSONValue?
    ) throws(ConformanceError) {
        self.program = program
        self.folder = folder
        self.environment = environment
        guard let config else {
            configPath = nil
            return
        }
        let path = folder.file("gateway.json")
        guard FileManager.default.createFile(atPath: path, contents: Data(config.indentedAndSorted.utf8)) else {
            throw .machine("cannot write \(path)")
        }
        configPath = path
    }

    /// Starts it on a free port and waits until it is ready.
    func start() throws(ConformanceError) {
        // Another program may take the port in the moment between the choice and the start.
        for _ in 0..<3 {
            port = try freePort()
            let process = try launch(
                ["serve", "--listen", "127.0.0.1:\(port)", "--database", database]
                    + (configPath.map { ["--config", $0] } ?? []),
                environment: fullEnvironment,
                output: logPath
            )
            self.process = process
            guard let status = try waitUntilReady(process) else { return }
            guard logTail().lowercased().contains("in use") else {
                throw .mismatch("the gateway ended at the start with \(status)")
            }
        }
        throw .machine("the gateway found its port in use three times")
    }

    /// SIGTERM; a gateway ends then with status 0.
    func terminate() throws(ConformanceError) {
        guard let process else { return }
        process.send(signal: SIGTERM)
        let status = process.wait(seconds: Self.stopSeconds)
        kill()
        guard let status else { throw .mismatch("the gateway did not stop within \(Self.stopSeconds) s of SIGTERM") }
        guard status == .exited(0) else { throw .mismatch("after SIGTERM: expected exit status 0, got \(status)") }
    }

    /// SIGKILL to everything it has started.
    func kill() {
        process?.kill()
        process = nil
    }

    /// Runs another command of the program on the same database until it ends.
    func command(
        _ arguments: [String],
        changes: JSONObject,
        seconds: Double
    ) throws(ConformanceError) -> (status: ProcessEnd, output: String, errors: String) {
        var environment = fullEnvironment
        environment["GATEWAY_DATABASE"] = database
        environment["GATEWAY_CONFIG"] = configPath
        environment["GATEWAY_LISTEN"] = "127.0.0.1:\(port)"
        Self.apply(changes, to: &environment)
        let output = folder.file("command.out")
        let errors = folder.file("command.err")
        for path in [output, errors] { try? FileManager.default.removeItem(atPath: path) }
        let process = try launch(arguments, environment: environment, output: output, errors: errors)
        guard let status = process.wait(seconds: seconds) else {
            process.kill()
            throw .mismatch("the command did not end within \(seconds) s")
        }
        return (status, text(of: output), text(of: errors))
    }

    /// The last lines of the log.
    func logTail(lines: Int = 15) -> String {
        text(of: logPath).split(separator: "\n").suffix(lines).joined(separator: "\n")
    }

    /// Sets variables; null takes one away.
    static func apply(_ changes: JSONObject, to environment: inout [String: String]) {
        for change in changes.members {
            switch change.value {
            case .null: environment[change.key] = nil
            case .string(let text): environment[change.key] = text
            default: environment[change.key] = change.value.compact
            }
        }
    }

    private var fullEnvironment: [String: String] {
        let outside = ProcessInfo.processInfo.environment.filter { Self.inherited.contains($0.key) }
        return outside.merging(environment) { $1 }
    }

    private func launch(
        _ arguments: [String],
        environment: [String: String],
        output: String,
        errors: String? = nil
    ) throws(ConformanceError) -> ChildProcess {
        do {
            return try ChildProcess(
                .init(
                    program: program,
                    arguments: arguments,
                    environment: environment,
                    folder: folder.path,
                    output: output,
                    errors: errors
                )
            )
        } catch {
            throw .machine("cannot start \(error.program): \(error.reason)")
        }
    }

    /// Nil when `/readyz` answers 200; the status when the process ended first.
    private func waitUntilReady(_ process: ChildProcess) throws(ConformanceError) -> ProcessEnd? {
        let end = ContinuousClock.now + .seconds(Self.startSeconds)
        var last = "no answer"
        while ContinuousClock.now < end {
            if let status = process.status {
                kill()
                return status
            }
            do {
                let answer = try HTTPConnection(port: port).send(HTTPRequest(target: "/readyz"), seconds: 2)
                if answer.status == 200 { return nil }
                last = "status \(answer.status)"
            } catch {
                last = "\(error)"
            }
            Thread.sleep(forTimeInterval: 0.005)
        }
        kill()
        throw .mismatch("/readyz did not answer 200 within \(Self.startSeconds) s: \(last)")
    }

    private func freePort() throws(ConformanceError) -> UInt16 {
        do {
            return try FreePorts.claim()
        } catch {
            throw .machine("no free port")
        }
    }

    private func text(of path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }
}
