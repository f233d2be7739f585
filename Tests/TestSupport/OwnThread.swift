import Dispatch
import Foundation

/// Runs blocking work on a thread of its own and waits for it without holding a thread of the pool that runs the tests.
///
/// The pool has as many threads as the machine has cores; two tests that block in it stop all the others.
public func onOwnThread<Value: Sendable, Fault: Error>(
    _ work: @escaping @Sendable () throws(Fault) -> Value
) async throws(Fault) -> Value {
    let result: Result<Value, Fault> = await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            continuation.resume(returning: Result(catching: work))
        }
    }
    return try result.get()
}

/// Runs `work` for 0, 1, … `count`-1 on threads of their own, at most `atMost` at a time, and blocks until all have ended.
///
/// After a fault no further work begins; the fault of the lowest number is thrown.
public func inParallel<Value: Sendable, Fault: Error>(
    count: Int,
    atMost: Int,
    _ work: @escaping @Sendable (Int) throws(Fault) -> Value
) throws(Fault) -> [Value] {
    let board = WorkBoard<Value, Fault>(count: count)
    let threads = DispatchGroup()
    for _ in 0..<min(count, atMost) {
        threads.enter()
        Thread.detachNewThread {
            while let number = board.takeNext() {
                board.put(Result { () throws(Fault) in try work(number) }, at: number)
            }
            threads.leave()
        }
    }
    threads.wait()
    return try board.values()
}

/// Which work has been given out and what has come back.
private final class WorkBoard<Value: Sendable, Fault: Error>: Sendable {
    private struct State: Sendable {
        var next = 0
        var failed = false
        var results: [Result<Value, Fault>?]
    }

    private let state: Locked<State>

    init(count: Int) {
        state = Locked(State(results: Array(repeating: nil, count: count)))
    }

    func takeNext() -> Int? {
        state.with { state in
            guard !state.failed, state.next < state.results.count else { return nil }
            state.next += 1
            return state.next - 1
        }
    }

    func put(_ result: Result<Value, Fault>, at number: Int) {
        state.with { state in
            state.results[number] = result
            if case .failure = result { state.failed = true }
        }
    }

    func values() throws(Fault) -> [Value] {
        let results = state.with { $0.results }
        var values: [Value] = []
        for case let result? in results {
            values.append(try result.get())
        }
        return values
    }
}
