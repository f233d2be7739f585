internal import Entitlements
internal import Foundation
internal import Platform
internal import TestSupport
internal import Testing

@testable internal import SQLStorage
@testable internal import SQLiteStorage
@testable internal import Storage

/// The log of writes begins anew although somebody reads all the time.
@Suite(.serialized) struct LogCheckpointTests {
    /// The length at which it is begun anew, and what comes in meanwhile.
    private static let logBytesMax = 32 << 20

    private static func logBytes(_ path: String) -> Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path + "-wal")
        return (attributes?[.size] as? NSNumber)?.intValue ?? 0
    }

    private static func store(_ path: String) throws -> SQLiteStore {
        try SQLiteStore.open(path: path, policy: Ledger.plainPolicy, onChange: { _ in })
    }

    /// Grants of which each writes a quarter of a MiB or more, four at a time; the longest the log was.
    private static func write(_ count: Int, _ name: String, to store: SQLiteStore) throws -> Int {
        let answers = try Mailbox<Bool>()
        var batch: ContiguousArray<Bool> = []
        var longest = 0
        let reason = String(repeating: "r", count: 256 << 10)
        for start in stride(from: 0, to: count, by: 4) {
            for number in start..<start + 4 {
                let grant = GrantRequest(
                    user: person("\(name)-\(number)"),
                    grantID: "g",
                    until: nil,
                    reason: reason,
                    entitlement: "pro",
                    by: Actor(keyID: "k", at: day(1))
                )
                let isTaken = store.submit(.grant(grant)) { result in
                    if case .success = result { _ = answers.post(true) } else { _ = answers.post(false) }
                }
                #expect(isTaken)
            }
            var answered = 0
            while answered < 4, answers.wait(milliseconds: 20_000) {
                answers.drain(into: &batch)
                #expect(batch.allSatisfy { $0 })
                answered += batch.count
            }
            #expect(answered == 4)
            longest = max(longest, logBytes(store.path))
        }
        return longest
    }

    @Test("readers that are never idle do not keep the log from beginning anew")
    func busyReaders() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder(prefix: "log")
            defer { folder.remove() }
            let store = try Self.store(folder.file("gateway.db"))
            let isOver = try Mailbox<Bool>(capacity: 1)
            let readers = try (0..<3).map { _ in
                try WorkerThread.start(name: "reader") {
                    guard let reader = try? store.makeReader(keepsRows: false) else { return }
                    let user = Array("busy-0".utf8)
                    while !isOver.isClosed {
                        _ = user.withUnsafeBytes { user in
                            try? reader.withRow(of: user, in: .production, now: UnixMillis(wallClockMillis())) {
                                _ in
                            }
                        }
                    }
                    reader.letGo()
                }
            }
            let longest = try Self.write(400, "busy", to: store)
            isOver.close()
            for reader in readers { reader.join() }
            #expect(longest < Self.logBytesMax, "\(longest >> 20) MiB")
            store.close()
            #expect(Self.logBytes(store.path) == 0)
        }
    }

    @Test("a reader of another process holds nobody up, and the log is short again when it has ended")
    func longReader() async throws {
        try await onOwnThread {
            let folder = try TemporaryFolder(prefix: "log")
            defer { folder.remove() }
            let store = try Self.store(folder.file("gateway.db"))
            let other = try SQLiteDatabase(path: store.path, mode: .readOnly, busyMillis: 1000)
            try other.execute("BEGIN; SELECT count(*) FROM event")
            let start = MonotonicNanos.now()
            let held = try Self.write(160, "held", to: store)
            // Forty batches that each waited for the reader would take twice as long for that alone.
            let waitsMax = Int(LogCheckpoints.patienceMillis) * 40
            #expect(held > 32 << 20)
            #expect(MonotonicNanos.now() < start.adding(milliseconds: 20_000 + waitsMax / 2))
            try other.execute("COMMIT")
            Thread.sleep(forTimeInterval: Double(LogCheckpoints.pauseMillis) / 1000 + 0.1)
            _ = try Self.write(8, "free", to: store)
            #expect(Self.logBytes(store.path) <= 33 << 20)
            store.close()
        }
    }
}
