internal import Foundation
internal import TestSupport
internal import Testing

/// The gate's questions are answered without asking the allocator (design of the way of a gate query).
@Suite("Allocations", .ownThread)
struct AllocationTests {
    private static let program = Bundle.main.bundleURL.appendingPathComponent("AllocationProbe").path

    /// What the optimizer takes away is still there in a build for debugging: then only what is far off is a find. An optimized
    /// build (`scripts/bench --only allocations`) allocates nothing but what SQLite takes for a new snapshot, a few times
    /// a second.
    #if DEBUG
        private static let (requests, perHundredMax) = (300, 20_000)
    #else
        private static let (requests, perHundredMax) = (10_000, 500)
    #endif

    @Test func theGateAllocatesNothingForARequest() throws {
        let folder = try TemporaryFolder(prefix: "allocations")
        let probe = try ChildProcess(
            ChildProcess.Launch(
                program: Self.program,
                arguments: [folder.path, "\(try FreePorts.claim())", "\(Self.requests)"],
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
            #expect(
                allocations * 100 <= requests * Self.perHundredMax,
                "\(line[0]): \(allocations) allocations in \(requests) requests"
            )
        }
        folder.remove()
    }
}
