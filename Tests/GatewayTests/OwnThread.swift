internal import Foundation
internal import TestSupport
internal import Testing

/// Runs every test of a suite on a thread of its own, a few at a time.
///
/// These tests wait for another process and would hold the pool's threads, of which there are as many as cores. The test
/// stays in its own task, so that what it expects is still told of it.
struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    /// Each test has a gateway; more of them at once only make the clocks of all of them worse.
    private static let turnstile = Turnstile(width: 3)

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await Self.turnstile.pass { () async throws in
            try await withTaskExecutorPreference(ThreadForEachJob(), operation: function)
        }
    }
}

extension Trait where Self == OwnThread {
    /// The test may block.
    static var ownThread: OwnThread { OwnThread() }
}

/// Gives every job of a task a new thread.
private final class ThreadForEachJob: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
