internal import Dispatch
internal import Entitlements
internal import Platform
internal import TestSupport
internal import Testing

@testable internal import SQLStorage
@testable internal import SQLiteStorage
@testable internal import Storage

/// More writes than the disk takes: a bounded number waits, and the rest is refused at once.
struct WaitingWritesTests {
    private static func grant(_ number: Int) -> StoreCommand {
        .grant(
            GrantRequest(
                user: person("u\(number)"),
                grantID: "g",
                until: nil,
                reason: "r",
                entitlement: "pro",
                by: Actor(keyID: "k", at: day(1))
            )
        )
    }

    /// A store whose first commit takes until the semaphore is raised: its rows are told of before the replies go out.
    private static func slowStore(_ folder: TemporaryFolder, _ gate: DispatchSemaphore) throws -> SQLiteStore {
        let isFirst = Locked(true)
        return try SQLiteStore.open(path: folder.file("gateway.db"), policy: Ledger.plainPolicy) { _ in
            let mustWait = isFirst.with { first in
                defer { first = false }
                return first
            }
            if mustWait { gate.wait() }
        }
    }

    /// Submits until one is refused; gives how many were taken, and how many were answered after the disk woke up.
    private static func flood(_ count: Int, bytes: Int) throws -> (taken: Int, answered: Int, waiting: Int) {
        let folder = try TemporaryFolder(prefix: "waiting")
        defer { folder.remove() }
        let gate = DispatchSemaphore(value: 0)
        let store = try slowStore(folder, gate)
        let answered = Counter()
        var taken = 0
        for number in 0..<count where store.submit(grant(number), bytes: bytes, { _ in answered.add() }) { taken += 1 }
        let waiting = store.waiting
        gate.signal()
        // There is room again as soon as those before are written.
        while store.waiting > 0 { _ = waitAMoment() }
        #expect(store.submit(grant(count), bytes: bytes) { _ in answered.add() })
        store.close()
        return (taken, answered.value - 1, waiting)
    }

    private static func waitAMoment() -> DispatchTimeoutResult {
        DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(5))
    }

    @Test("by number")
    func number() async throws {
        let flood = try await onOwnThread { try Self.flood(3 * WriterThread.queueMax, bytes: 1_000) }
        #expect(flood.taken == WriterThread.queueMax)
        #expect(flood.waiting == flood.taken)
        #expect(flood.answered == flood.taken)
    }

    @Test("by what they hold in memory")
    func bytes() async throws {
        let flood = try await onOwnThread { try Self.flood(500, bytes: 1 << 20) }
        #expect(flood.taken == WriterThread.queueBytesMax >> 20)
        #expect(flood.answered == flood.taken)
    }

    @Test("one write may be larger than all may be together")
    func large() {
        let writes = WaitingWrites(writesMax: 2, bytesMax: 10)
        #expect(writes.enter(bytes: 100))
        #expect(!writes.enter(bytes: 1))
        writes.leave(bytes: 100)
        #expect(writes.enter(bytes: 4) && writes.enter(bytes: 4))
        #expect(!writes.enter(bytes: 1))
        writes.leave(bytes: 4)
        #expect(!writes.enter(bytes: 7) && writes.enter(bytes: 6))
        #expect(writes.count == 2)
    }
}
