internal import CSystem
internal import Synchronization

/// A thread of the operating system, for work that owns its state and lives as long as the process.
///
/// Asynchronous signals are blocked in it (`Signals` is for the main thread), and it has a stack of 2 MiB.
public struct WorkerThread: Sendable {
    /// Deep recursion has no place here; a quarter of the usual 8 MiB leaves room for SQLite and for certificate
    /// chains.
    private static let stackBytes = 2 << 20

    private let handle: Handle

    /// Starts a thread that runs `body` and ends with it. What `body` captures belongs to the new thread.
    ///
    /// - Parameter name: shown by debuggers and `ps -L`; the kernel keeps the first 15 bytes.
    /// - Throws: `SystemError` when the system has no room for another thread.
    public static func start(
        name: StaticString,
        _ body: sending @escaping () -> Void
    ) throws(SystemError) -> WorkerThread {
        let context = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
        var thread: UInt64 = 0
        let result = unsafe name.utf8Start.withMemoryRebound(to: CChar.self, capacity: name.utf8CodeUnitCount) { name in
            unsafe csystem_thread_start(
                &thread,
                name,
                stackBytes,
                { context in
                    guard let context = unsafe context else { return nil }
                    unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                    return nil
                },
                context
            )
        }
        if result < 0 {
            unsafe Unmanaged<Body>.fromOpaque(context).release()
            throw systemError(errno: -result, "pthread_create")
        }
        return WorkerThread(handle: Handle(thread))
    }

    /// Blocks until the thread has ended. Traps when called a second time, or by the thread itself.
    public func join() {
        handle.join()
    }

    private final class Body {
        private let body: () -> Void

        init(_ body: sending @escaping () -> Void) {
            self.body = body
        }

        func run() {
            body()
        }
    }

    private final class Handle: Sendable {
        private let thread: UInt64
        private let isJoined = Atomic(false)

        init(_ thread: UInt64) {
            self.thread = thread
        }

        func join() {
            let wasJoined = isJoined.exchange(true, ordering: .relaxed)
            precondition(!wasJoined, "a thread can be joined once")
            let result = csystem_thread_join(thread)
            precondition(result == 0, "a thread cannot join itself")
        }
    }
}
