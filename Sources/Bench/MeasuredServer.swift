internal import Foundation
internal import Glibc

/// A server that is measured: started, asked whether it answers, and ended.
final class MeasuredServer {
    /// Every start has this long; a million users take far less.
    private static let startSeconds = 20.0

    let name: String
    let port: UInt16
    private let process: Process
    /// Milliseconds from the start of the program to its first answer.
    private(set) var startMillis = 0.0

    /// - Parameter probe: A path that answers with any status once the server runs.
    init(
        _ name: String,
        _ program: String,
        _ arguments: [String],
        environment: [String: String],
        folder: String,
        port: UInt16,
        probe: String
    ) throws(BenchError) {
        self.name = name
        self.port = port
        process = Process()
        process.executableURL = URL(fileURLWithPath: program.contains("/") ? program : "/usr/bin/env")
        process.arguments = program.contains("/") ? arguments : [program] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.standardInput = FileHandle.nullDevice
        let log = "\(folder)/\(name).log"
        do {
            guard FileManager.default.createFile(atPath: log, contents: nil) else {
                throw BenchError("\(log) cannot be written")
            }
            let output = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
            process.standardOutput = output
            process.standardError = output
            let began = DispatchTime.now().uptimeNanoseconds
            try process.run()
            while Double(DispatchTime.now().uptimeNanoseconds - began) / 1e9 < Self.startSeconds {
                if LoopbackExchange.get(probe, port: port) != nil {
                    startMillis = Double(DispatchTime.now().uptimeNanoseconds - began) / 1e6
                    return
                }
                guard process.isRunning else { break }
                usleep(1000)
            }
        } catch {
            throw BenchError("\(name) cannot be started: \(error)")
        }
        stop()
        let text = String(decoding: FileManager.default.contents(atPath: log) ?? Data(), as: UTF8.self)
        throw BenchError("\(name) did not answer: \(text.suffix(1000))")
    }

    deinit {
        stop()
    }

    /// The process, and its workers when it has some.
    var figures: ProcessFigures {
        let identifier = process.processIdentifier
        return ProcessFigures(of: [identifier] + ProcessFigures.children(of: identifier))
    }

    func stop() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }
}

/// One request over a connection of its own, for everything that is not measured.
enum LoopbackExchange {
    static func get(_ path: String, port: UInt16, key: String? = nil) -> [UInt8]? {
        send("GET", path, body: nil, port: port, key: key)
    }

    static func post(_ path: String, _ body: String, port: UInt16, key: String? = nil) -> [UInt8]? {
        send("POST", path, body: body, port: port, key: key)
    }

    /// The body of the answer; nil when nobody answers.
    private static func send(_ method: String, _ path: String, body: String?, port: UInt16, key: String?) -> [UInt8]? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { _ = close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        // The address lives for the length of the call, and its length is its own.
        let connected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { return nil }
        var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        if let body { head += "Content-Length: \(body.utf8.count)\r\n" }
        if let key { head += "Authorization: Bearer \(key)\r\n" }
        let request = Array((head + "\r\n" + (body ?? "")).utf8)
        guard unsafe Glibc.send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            return nil
        }
        var answer: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe recv(descriptor, &room, room.count, 0)
            if count <= 0 { break }
            answer += room[..<count]
        }
        let separator: [UInt8] = [13, 10, 13, 10]
        for start in answer.indices.dropLast(3) where Array(answer[start..<start + 4]) == separator {
            return Array(answer[(start + 4)...])
        }
        return nil
    }
}
