internal import Foundation
internal import Synchronization
internal import TestSupport

/// What threads bring back, for one that waits for all of them.
final class SharedResults<Value: Sendable>: Sendable {
    private let results = Mutex<[Result<Value, HTTPFault>]>([])

    var count: Int { results.withLock(\.count) }

    func add(_ result: Result<Value, HTTPFault>) {
        results.withLock { $0.append(result) }
    }

    /// The first `wanted` results; throws the first fault among them, or when they do not come in time.
    func all(_ wanted: Int, seconds: Double) throws -> [Value] {
        let end = ContinuousClock.now + .seconds(seconds)
        while count < wanted {
            guard ContinuousClock.now < end else { throw GatewayTestError("\(count) of \(wanted) came back") }
            Thread.sleep(forTimeInterval: 0.002)
        }
        return try results.withLock { $0 }.map { try $0.get() }
    }
}
