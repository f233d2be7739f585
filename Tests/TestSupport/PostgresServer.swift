import Foundation
import Glibc

/// A PostgreSQL server of this run alone: its cluster in a temporary folder, as a user that is not root, on loopback.
public final class PostgresServer: @unchecked Sendable {
    // Started and ended by one test at a time: the suites that use it are serialized, or have one each.
    /// Where Debian puts the programs of the newest version; nil where there is no server.
    private static let programs: String? = {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return versions.compactMap { Int($0) }.max().map { "\(root)/\($0)/bin" }
    }()

    public static var isInstalled: Bool { programs != nil }

    public struct CannotRun: Error {
        public var output: String
    }

    public let folder: TemporaryFolder
    public let port: UInt16
    private let bin: String
    private var settings: [String] = []
    private var process: ChildProcess?
    private var programsRun = 0

    /// A server with a cluster of its own.
    ///
    /// - Parameter settings: `name=value`, besides those that make it fast.
    public convenience init(settings: [String] = []) throws {
        try self.init(folder: TemporaryFolder(prefix: "postgres"), settings)
        try run("initdb", ["-D", data, "-A", "trust", "-U", "gateway", "--no-sync", "-E", "UTF8", "--locale=C"])
        try start()
    }

    /// A standby of another server, by which it is known as `name`.
    public convenience init(copying primary: PostgresServer, name: String, settings: [String] = []) throws {
        try self.init(folder: TemporaryFolder(prefix: "standby"), settings)
        let connection = "host=127.0.0.1 port=\(primary.port) user=gateway application_name=\(name)"
        try run("pg_basebackup", ["-D", data, "-d", connection, "-R", "-X", "stream", "-c", "fast", "--no-sync"])
        try start()
    }

    private init(folder: TemporaryFolder, _ settings: [String]) throws {
        guard let programs = Self.programs else { throw CannotRun(output: "no server is installed") }
        bin = programs
        self.folder = folder
        self.settings = settings
        port = try FreePorts.claim()
        // The server refuses to run as root.
        if getuid() == 0 {
            try FileManager.default.setAttributes([.ownerAccountName: "postgres"], ofItemAtPath: folder.path)
        }
    }

    deinit {
        kill()
        folder.remove()
    }

    private var data: String { folder.file("data") }
    public var output: String { (try? String(contentsOfFile: folder.file("output"), encoding: .utf8)) ?? "" }

    private func child(_ program: String, _ arguments: [String], output: String = "output") throws -> ChildProcess {
        let user = getuid() == 0 ? ["--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
        return try ChildProcess(
            .init(
                program: user.isEmpty ? "\(bin)/\(program)" : "/usr/bin/setpriv",
                arguments: user.isEmpty ? arguments : user + ["\(bin)/\(program)"] + arguments,
                environment: ["LC_ALL": "C", "PATH": "/usr/bin:/bin"],
                folder: folder.path,
                output: folder.file(output),
                errors: folder.file("output")
            )
        )
    }

    @discardableResult
    private func run(_ program: String, _ arguments: [String], seconds: Double = 120) throws -> String {
        programsRun += 1
        let name = "output-\(programsRun)"
        let process = try child(program, arguments, output: name)
        guard process.wait(seconds: seconds) == .exited(0) else { throw CannotRun(output: output) }
        return (try? String(contentsOfFile: folder.file(name), encoding: .utf8)) ?? ""
    }

    public func start() throws {
        let own = settings.flatMap { ["-c", $0] }
        process = try child(
            "postgres",
            [
                "-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", folder.path, "-c", "fsync=off",
                "-c", "full_page_writes=off", "-c", "max_connections=200",
            ] + own
        )
        for _ in 0..<600 {
            if (try? run("pg_isready", ["-q", "-h", "127.0.0.1", "-p", String(port)])) != nil { return }
            usleep(50_000)
        }
        throw CannotRun(output: output)
    }

    /// Ends it as a power cut would: the server and all that it has started.
    public func kill() {
        guard let server = process else { return }
        // They leave the group of the server, and would live on for a moment and answer.
        let children = Self.children(of: server.identifier)
        server.kill()
        for child in children where Self.parent(of: child) != nil { _ = Glibc.kill(child, SIGKILL) }
        process = nil
        // What a killed server leaves behind keeps the next one waiting.
        try? FileManager.default.removeItem(atPath: data + "/postmaster.pid")
    }

    private static func children(of server: Int32) -> [Int32] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return all.compactMap { Int32($0) }.filter { parent(of: $0) == server }
    }

    private static func parent(of process: Int32) -> Int32? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return nil }
        // After the name, which may hold anything, and the state.
        return text.split(separator: ")").last?.split(separator: " ").dropFirst().first.flatMap { Int32($0) }
    }

    /// Makes a standby the primary.
    public func promote() throws {
        try run("pg_ctl", ["promote", "-D", data, "-w", "-t", "60"])
    }

    /// What a statement gives, as psql writes it.
    @discardableResult
    public func sql(_ statement: String, in database: String = "postgres") throws -> String {
        let words = ["-h", "127.0.0.1", "-p", String(port), "-U", "gateway", "-qAtX", "-v", "ON_ERROR_STOP=1"]
        let text = try run("psql", words + ["-c", statement, database])
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    public func url(_ database: String) -> String { "postgres://gateway@127.0.0.1:\(port)/\(database)" }
}
