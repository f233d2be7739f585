import Dispatch
import Foundation
import Glibc

/// How a process ended.
public enum ProcessEnd: Sendable, Equatable, CustomStringConvertible {
    case exited(Int32)
    case signalled(Int32)

    public var description: String {
        switch self {
        case .exited(let code): "exit status \(code)"
        case .signalled(let signal): "signal \(signal)"
        }
    }
}

/// A program could not be started.
public struct CannotStart: Error, Sendable, Equatable {
    public let program: String
    public let reason: String
}

/// A program started by a test, in a process group of its own, its output in files, and dead when the test has ended.
///
/// For one thread. `wait` blocks: call it on a thread of your own (``onOwnThread(_:)``).
public final class ChildProcess {
    /// What to start and with what. The environment is exactly this one; standard input is empty.
    public struct Launch: Sendable {
        public var program: String
        public var arguments: [String]
        public var environment: [String: String]
        public var folder: String
        /// Output is added at the end of this file.
        public var output: String
        /// Nil: the errors go where the output goes.
        public var errors: String?

        public init(
            program: String,
            arguments: [String],
            environment: [String: String],
            folder: String,
            output: String,
            errors: String? = nil
        ) {
            self.program = program
            self.arguments = arguments
            self.environment = environment
            self.folder = folder
            self.output = output
            self.errors = errors
        }
    }

    private let process: Process
    private let end = EndOfProcess()

    /// The number of the process and of its group.
    public let identifier: Int32

    public init(_ launch: Launch) throws(CannotStart) {
        let process = Process()
        do {
            let output = try Self.openForAppending(launch.output)
            process.executableURL = URL(fileURLWithPath: launch.program)
            process.arguments = launch.arguments
            process.environment = launch.environment
            process.currentDirectoryURL = URL(fileURLWithPath: launch.folder, isDirectory: true)
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = output
            process.standardError = try launch.errors.map(Self.openForAppending) ?? output
            process.terminationHandler = { [end] in end.reached($0) }
            try withoutBlockedSignals { try process.run() }
        } catch {
            throw CannotStart(program: launch.program, reason: String(describing: error))
        }
        self.process = process
        // Not set before: `deinit` also runs after a failed start, and the group 0 would be that of the tests themselves.
        identifier = process.processIdentifier
        ChildWatchdog.shared.watch(identifier)
    }

    deinit {
        kill()
    }

    /// How it ended, or nil while it runs.
    public var status: ProcessEnd? { end.status }

    public func send(signal: Int32) {
        if status == nil { _ = Glibc.kill(identifier, signal) }
    }

    /// Waits for the end; nil when it still runs after `seconds`.
    public func wait(seconds: Double) -> ProcessEnd? {
        let status = end.wait(seconds: seconds)
        if status != nil { ChildWatchdog.shared.forget(identifier) }
        return status
    }

    /// Ends the process and every process of its group, and waits until it is gone.
    public func kill() {
        guard status == nil else {
            ChildWatchdog.shared.forget(identifier)
            return
        }
        _ = Glibc.kill(-identifier, SIGKILL)
        // SIGKILL cannot be refused; the bound only keeps a stuck kernel from stopping the whole run.
        _ = wait(seconds: 10)
    }

    private static func openForAppending(_ path: String) throws -> FileHandle {
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.seekToEnd()
        return handle
    }
}

/// Runs `work` with no signal blocked on this thread: a child inherits what is blocked, the threads of Dispatch block
/// everything, and a server would never hear of its SIGTERM.
func withoutBlockedSignals<Value>(_ work: () throws -> Value) rethrows -> Value {
    var none = sigset_t()
    var before = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    return try work()
}

/// The end of a process, told by Foundation on a thread of its own.
private final class EndOfProcess: Sendable {
    private let known = Locked<ProcessEnd?>(nil)
    private let group = DispatchGroup()

    init() {
        group.enter()
    }

    var status: ProcessEnd? { known.with { $0 } }

    func reached(_ process: Process) {
        let code = process.terminationStatus
        let status = process.terminationReason == .exit ? ProcessEnd.exited(code) : .signalled(code)
        known.with { $0 = status }
        group.leave()
    }

    func wait(seconds: Double) -> ProcessEnd? {
        _ = group.wait(timeout: .now() + seconds)
        return status
    }
}
