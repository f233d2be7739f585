internal import Foundation
internal import TestSupport
internal import Testing

/// The gate's questions are answered without asking the allocator (design of the way of a gate query).
@Suite("Allocations", .ownThread)
struct AllocationTests {
    private static let program = Bundle.main.bundleURL.appendingPathComponent("AllocationProbe").path

    /// Snapshots are made anew a few times a second and take what SQLite asks for then; a request takes nothing.
    @Test func theGateAllocatesNothingForARequest() throws {
        let folder = try TemporaryFolder(prefix: "allocations")
        let probe = try ChildProcess(
            ChildProcess.Launch(
                program: Self.program,
                arguments: [folder.path, "\(try FreePorts.claim())"],
                environment: [:],
                folder: folder.path,
                output: folder.file("out"),
                errors: folder.file("errors")
            )
        )
        #expect(probe.wait(seconds: 120) == .exited(0))
        let output = String(decoding: try Data(contentsOf: URL(fileURLWithPath: folder.file("out"))), as: UTF8.self)
        let lines = output.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(
            lines.map { $0[0] } == ["known", "uuid", "escaped", "byquery", "unknown", "unchanged", "gate", "erased"]
        )
        for line in lines {
            let (requests, allocations) = (try #require(Int(line[1])), try #require(Int(line[2])))
            #expect(allocations * 20 < requests, "\(line[0]): \(allocations) allocations in \(requests) requests")
        }
        folder.remove()
    }
}
