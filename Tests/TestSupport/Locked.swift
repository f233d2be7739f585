import Foundation

/// A value that several threads of a test share.
///
/// Not the standard library's Mutex: the thread sanitizer does not see it when threads wait for one another, and reports
/// races that are none.
public final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    /// Touched in `with` only, with the lock held: that is what makes this class Sendable.
    private var value: Value

    public init(_ value: Value) {
        self.value = value
    }

    public func with<Result>(_ body: (inout Value) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&value)
    }
}
