internal import Foundation
internal import Glibc
internal import TestSupport
internal import Testing

/// A program of the system that a test asks for a second opinion; installed by `scripts/test`.
enum InstalledProgram {
    /// Where programs of the system are, besides the places of the search path.
    private static let places = ["/usr/sbin", "/usr/bin", "/usr/local/bin"]

    static func path(of name: String) -> String? {
        let search = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (search + places).map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs a program in a folder until it ends.
    static func run(
        _ program: String,
        _ arguments: [String],
        in folder: TemporaryFolder,
        seconds: Double = 60
    ) throws -> CommandResult {
        let (output, errors) = (folder.file("program.out"), folder.file("program.err"))
        let process = try ChildProcess(
            .init(
                program: program,
                arguments: arguments,
                environment: ProcessInfo.processInfo.environment,
                folder: folder.path,
                output: output,
                errors: errors
            )
        )
        let status = process.wait(seconds: seconds)
        process.kill()
        func text(_ path: String) -> String {
            String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
        }
        guard let status else { throw GatewayTestError("\(program) did not end") }
        return CommandResult(status: status, output: text(output), errors: text(errors))
    }
}
