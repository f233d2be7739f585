internal import Foundation
internal import Glibc
internal import TestSupport

/// How large the tests under stress are: some seconds each as a part of `swift test`, full size with `GATEWAY_STRESS=full`
/// (`scripts/stress`), and then with what they measure.
enum Stress {
    static let isFull = ProcessInfo.processInfo.environment["GATEWAY_STRESS"] == "full"

    static func size<Value>(_ small: Value, full: Value) -> Value { isFull ? full : small }

    static func tell(_ line: String) {
        if isFull { print("stress: \(line)") }
    }

    static func eventually(
        _ what: String,
        seconds: Double = 20,
        _ condition: () throws -> Bool
    ) throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while try !condition() {
            if ContinuousClock.now > end { throw GatewayTestError("not within \(seconds) s: \(what)") }
            Thread.sleep(forTimeInterval: 0.01)
        }
    }

    /// Sets a limit of a running process with `prlimit`, such as `--nofile=40:` (the soft one only).
    static func limit(_ process: Int32, _ word: String) throws {
        let child = try ChildProcess(
            .init(
                program: "/usr/bin/env",
                arguments: ["prlimit", "--pid", String(process), word],
                environment: ProcessInfo.processInfo.environment,
                folder: NSTemporaryDirectory(),
                output: "/dev/null"
            )
        )
        guard child.wait(seconds: 10) == .exited(0) else { throw GatewayTestError("prlimit \(word) was refused") }
    }

    static let hasPrlimit = ["/usr/bin/prlimit", "/bin/prlimit"].contains {
        FileManager.default.isExecutableFile(atPath: $0)
    }
}

/// Asks the gate all the time while something else goes on, and looks at the process.
///
/// On four connections, so that every loop is asked.
final class GatewayWatch: Sendable {
    struct Lap: Sendable {
        var count = 0
        /// Milliseconds.
        var median = 0.0
        var worstOfHundred = 0.0
        var worst = 0.0
        /// MiB of memory that were resident, at most.
        var memory = 0.0
        var failures = 0
    }

    private struct State: Sendable {
        var micros: [Int] = []
        var failures = 0
        var memory = 0.0
        var isOver = false
    }

    private let process: Int32
    private let state = Locked(State())
    private let asker = DispatchGroup()

    init(_ gateway: RunningGateway) {
        process = gateway.processNumber
        let (port, state, process) = (gateway.port, state, process)
        let request = RunningGateway.request("GET", "/v1/users/u1/entitlement", key: RunningGateway.readKey)
        asker.enter()
        Thread.detachNewThread { [asker] in
            let connections = (0..<4).map { _ in HTTPConnection(port: port) }
            var turn = 0
            while !state.with({ $0.isOver }) {
                let start = ContinuousClock.now
                let answer = try? connections[turn % connections.count].send(request, seconds: 10)
                let micros = Int(start.duration(to: .now) / .microseconds(1))
                let memory = turn % 8 == 0 ? Self.memory(of: process) : 0
                state.with { state in
                    state.micros.append(micros)
                    state.memory = max(state.memory, memory)
                    if answer?.status != 200 { state.failures += 1 }
                }
                turn += 1
                usleep(2_000)
            }
            asker.leave()
        }
    }

    deinit {
        state.with { $0.isOver = true }
        asker.wait()
    }

    /// What was measured since the last lap, and begins the next.
    func lap(_ name: String) -> Lap {
        let (micros, failures, memory) = state.with { state in
            defer { (state.micros, state.failures, state.memory) = ([], 0, 0) }
            return (state.micros.sorted(), state.failures, state.memory)
        }
        var lap = Lap()
        lap.count = micros.count
        lap.failures = failures
        lap.memory = max(memory, Self.memory(of: process))
        if let last = micros.last {
            lap.median = Double(micros[micros.count / 2]) / 1000
            lap.worstOfHundred = Double(micros[micros.count * 99 / 100]) / 1000
            lap.worst = Double(last) / 1000
        }
        Stress.tell(
            "\(name): memory \(Int(lap.memory)) MiB, gate \(lap.median) ms median, \(lap.worstOfHundred) ms p99, "
                + "\(lap.worst) ms worst of \(lap.count), \(lap.failures) failed"
        )
        return lap
    }

    /// Resident memory in MiB.
    static func memory(of process: Int32) -> Double {
        let text = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        return (line.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0) / 1024
    }

    /// Seconds of processor time the process has used.
    static func processorSeconds(of process: Int32) -> Double {
        let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        // The name in parentheses may hold anything; 14 and 15 of all fields are user and system time in ticks.
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}

extension GatewayWatch.Lap {
    /// What a reader would call unharmed, on a busy machine with a debug build.
    var isUnharmed: Bool { failures == 0 && count > 10 && median < 25 && worstOfHundred < 1_000 }
}

/// Many plain connections of one thread.
final class Crowd {
    private var descriptors: [Int32] = []
    private let port: UInt16

    init(port: UInt16) {
        self.port = port
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    deinit {
        leave()
    }

    var count: Int { descriptors.count }

    func leave() {
        for descriptor in descriptors { close(descriptor) }
        descriptors = []
    }

    /// Opens `count` more; the kernel answers for the gateway as long as its queue has room.
    func join(_ count: Int) throws {
        for _ in 0..<count {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard descriptor >= 0 else { throw GatewayTestError("no socket: \(errno)") }
            var patience = timeval(tv_sec: 20, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard result == 0 else {
                close(descriptor)
                throw GatewayTestError("cannot connect: \(errno)")
            }
            descriptors.append(descriptor)
        }
    }

    /// Sends the same bytes on every connection from `first` on.
    func say(_ text: String, from first: Int = 0) {
        let bytes = Array(text.utf8)
        for descriptor in descriptors[first...] { send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
    }

    /// What the first piece of each connection's answer begins with; nil where there was none within twenty seconds.
    func hear(from first: Int = 0) -> [String?] {
        descriptors[first...].map { descriptor in
            var bytes = [UInt8](repeating: 0, count: 2_048)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
        }
    }
}
