/// Lets at most a fixed number of tasks through at a time; the others wait in line without holding a thread.
public actor Turnstile {
    private var free: Int
    private var line: [CheckedContinuation<Void, Never>] = []

    public init(width: Int) {
        free = width
    }

    /// Waits for a place, does the work, gives the place back.
    public func pass<Value: Sendable, Fault: Error>(
        _ work: @Sendable () async throws(Fault) -> Value
    ) async throws(Fault) -> Value {
        await enter()
        defer { leave() }
        return try await work()
    }

    private func enter() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { line.append($0) }
        }
    }

    private func leave() {
        if line.isEmpty {
            free += 1
        } else {
            line.removeFirst().resume()
        }
    }
}
