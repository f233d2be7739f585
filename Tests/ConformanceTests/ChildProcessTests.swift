import Foundation
import Glibc
import TestSupport
import Testing

@Suite struct ChildProcessTests {
    /// Runs a shell script and gives its status and its output.
    private func run(
        _ script: String,
        environment: [String: String] = ["PATH": "/usr/bin:/bin"]
    ) async throws -> (status: ProcessEnd?, output: String) {
        let folder = try TemporaryFolder(prefix: "child")
        defer { folder.remove() }
        return try await onOwnThread {
            let child = try ChildProcess(
                .init(
                    program: "/bin/sh",
                    arguments: ["-c", script],
                    environment: environment,
                    folder: folder.path,
                    output: folder.file("out")
                )
            )
            let status = child.wait(seconds: 5)
            return (
                status,
                String(decoding: FileManager.default.contents(atPath: folder.file("out")) ?? Data(), as: UTF8.self)
            )
        }
    }

    @Test func statusAndOutputOfBothKinds() async throws {
        let done = try await run("echo one; echo two >&2; exit 3")
        #expect(done.status == .exited(3))
        #expect(done.output == "one\ntwo\n")
    }

    @Test func aSignalIsNoExitStatus() async throws {
        #expect(try await run("kill -9 $$").status == .signalled(9))
    }

    @Test func theEnvironmentIsExactlyWhatWasGiven() async throws {
        let done = try await run("/usr/bin/env", environment: ["ONLY": "this"])
        // The shell adds PWD, and may add one of its own.
        let names = Set(done.output.split(separator: "\n").map { $0.prefix { $0 != "=" } })
        #expect(names.contains("ONLY"))
        #expect(names.isSubset(of: ["ONLY", "PWD", "SHLVL", "_", "OLDPWD"]))
    }

    @Test func noOpenFileOfTheTestsIsInherited() async throws {
        let server = try LoopbackServer { _ in }
        let done = try await run("ls -l /proc/$$/fd | grep -c socket:")
        withExtendedLifetime(server) {}
        // Foundation gives every child one socket, to learn of its end.
        #expect(done.output == "1\n")
    }

    @Test func killingEndsTheWholeGroup() async throws {
        let folder = try TemporaryFolder(prefix: "child")
        defer { folder.remove() }
        let grandchild: Int32 = try await onOwnThread {
            let child = try ChildProcess(
                .init(
                    program: "/bin/sh",
                    arguments: ["-c", "sleep 60 & echo $!; wait"],
                    environment: ["PATH": "/usr/bin:/bin"],
                    folder: folder.path,
                    output: folder.file("out")
                )
            )
            var text = ""
            for _ in 0..<500 where !text.hasSuffix("\n") {
                Thread.sleep(forTimeInterval: 0.01)
                text = String(
                    decoding: FileManager.default.contents(atPath: folder.file("out")) ?? Data(),
                    as: UTF8.self
                )
            }
            child.kill()
            #expect(child.status == .signalled(SIGKILL))
            return try #require(Int32(text.dropLast()))
        }
        // Its new parent has to take notice of its end.
        for _ in 0..<500 where isAlive(grandchild) { try await Task.sleep(for: .milliseconds(10)) }
        #expect(!isAlive(grandchild))
    }

    /// A zombie is dead already.
    private func isAlive(_ process: Int32) -> Bool {
        guard let status = FileManager.default.contents(atPath: "/proc/\(process)/status") else { return false }
        return !String(decoding: status, as: UTF8.self).contains("State:\tZ")
    }

    @Test func whatCannotBeStartedSaysSo() async {
        await #expect(throws: CannotStart.self) {
            try await onOwnThread {
                _ = try ChildProcess(
                    .init(program: "/no/such", arguments: [], environment: [:], folder: "/tmp", output: "/dev/null")
                )
            }
        }
    }
}
