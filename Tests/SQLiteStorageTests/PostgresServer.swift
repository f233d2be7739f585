#if Postgres
    import Foundation
    import Glibc
    import TestSupport

    @testable internal import PostgresStorage

    /// A PostgreSQL server of this run alone: its cluster in a temporary folder, as a user that is not root, on loopback.
    final class PostgresServer: @unchecked Sendable {
        // Started and ended by one test at a time: the suite that uses it is serialized.
        /// Where Debian puts the programs of the newest version; nil where there is no server.
        private static let programs: String? = {
            let root = "/usr/lib/postgresql"
            let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
            return versions.compactMap { Int($0) }.max().map { "\(root)/\($0)/bin" }
        }()

        static var isInstalled: Bool { programs != nil }

        struct CannotRun: Error {
            var output: String
        }

        let folder: TemporaryFolder
        let port: UInt16
        private let bin: String
        private var process: ChildProcess?

        init() throws {
            guard let programs = Self.programs else { throw CannotRun(output: "no server is installed") }
            bin = programs
            folder = try TemporaryFolder(prefix: "postgres")
            port = try FreePorts.claim()
            // The server refuses to run as root.
            if getuid() == 0 {
                try FileManager.default.setAttributes([.ownerAccountName: "postgres"], ofItemAtPath: folder.path)
            }
            let making = try child(
                "initdb",
                ["-D", folder.file("data"), "-A", "trust", "-U", "gateway", "--no-sync", "-E", "UTF8", "--locale=C"]
            )
            guard making.wait(seconds: 120) == .exited(0) else { throw CannotRun(output: output) }
            try start()
        }

        deinit {
            process?.kill()
            folder.remove()
        }

        private var output: String { (try? String(contentsOfFile: folder.file("output"), encoding: .utf8)) ?? "" }

        private func child(_ program: String, _ arguments: [String]) throws -> ChildProcess {
            let user = getuid() == 0 ? ["--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
            return try ChildProcess(
                .init(
                    program: user.isEmpty ? "\(bin)/\(program)" : "/usr/bin/setpriv",
                    arguments: user.isEmpty ? arguments : user + ["\(bin)/\(program)"] + arguments,
                    environment: ["LC_ALL": "C", "PATH": "/usr/bin:/bin"],
                    folder: folder.path,
                    output: folder.file("output")
                )
            )
        }

        func start() throws {
            process = try child(
                "postgres",
                [
                    "-D", folder.file("data"), "-p", String(port), "-h", "127.0.0.1", "-k", folder.path, "-c",
                    "fsync=off",
                    "-c", "full_page_writes=off", "-c", "max_connections=200",
                ]
            )
            for _ in 0..<600 {
                if (try? PostgresDatabase(PostgresAddress(url("postgres")), .reading)) != nil { return }
                usleep(50_000)
            }
            throw CannotRun(output: output)
        }

        /// Ends it as a power cut would.
        func kill() {
            process?.kill()
            process = nil
            // What a killed server leaves behind keeps the next one waiting.
            try? FileManager.default.removeItem(atPath: folder.file("data/postmaster.pid"))
        }

        func url(_ database: String) -> String { "postgres://gateway@127.0.0.1:\(port)/\(database)" }

        /// A new database with the tables and nothing in them.
        func location(_ name: String) throws -> PostgresLocation {
            let location = PostgresLocation(try PostgresAddress(url(name)))
            _ = try location.migrate()
            return location
        }
    }
#endif
