internal import Foundation
internal import Glibc
internal import TestSupport

/// A stream of bytes to a loopback port: what is sent is what stands on the wire, and nothing is made of what comes.
final class WireStream: Sendable {
    private let descriptor: Int32

    /// For a connection that is open already.
    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var noDelay: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
    }

    convenience init(port: UInt16) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        self.init(descriptor)
        let result = Self.withLoopback(port) { connect(descriptor, $0, $1) }
        guard result == 0 else { throw GatewayTestError("cannot connect: \(errno)") }
    }

    deinit { close(descriptor) }

    /// False when the other side takes no more.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// The next bytes; empty at the end, however it came. Nil when nothing came for half a minute.
    func receive() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        if count < 0, errno == EAGAIN { return nil }
        return Array(buffer[..<max(0, count)])
    }

    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Sends these bytes on a connection of their own, and gives everything that comes until its end. Who says that they
    /// close is told that nothing more is sent, so that they do not wait for it.
    static func exchange(port: UInt16, _ bytes: [UInt8]) throws -> String {
        let stream = try WireStream(port: port)
        stream.send(bytes)
        var received: [UInt8] = []
        while true {
            guard let more = stream.receive() else {
                throw GatewayTestError("no end came: \(String(decoding: received, as: UTF8.self))")
            }
            if more.isEmpty { return String(decoding: received, as: UTF8.self) }
            received += more
            if String(decoding: received, as: UTF8.self).lowercased().contains("\r\nconnection: close\r\n") {
                stream.endSending()
            }
        }
    }

    static func withLoopback<Value>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

/// A port in front of another one: passes every byte on, both ways, and keeps what the server behind it says.
final class WireTap: Sendable {
    let port: UInt16
    private let listener: Int32
    private let answers = Locked<[UInt8]>([])

    init(to server: UInt16) throws {
        let (port, answers) = (try FreePorts.claim(), answers)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard WireStream.withLoopback(port, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
            close(listener)
            throw GatewayTestError("no port to listen on: \(errno)")
        }
        (self.port, self.listener) = (port, listener)
        Thread.detachNewThread {
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { break }
                let client = WireStream(descriptor)
                guard let server = try? WireStream(port: server) else { continue }
                Self.pass(from: client, to: server, keeping: nil)
                Self.pass(from: server, to: client, keeping: answers)
            }
            close(listener)
        }
    }

    /// Wakes the thread in `accept`, which then ends.
    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func pass(from source: WireStream, to target: WireStream, keeping kept: Locked<[UInt8]>?) {
        Thread.detachNewThread {
            while true {
                guard let bytes = source.receive() else { continue }
                if bytes.isEmpty { break }
                kept?.with { $0 += bytes }
                if !target.send(bytes) { break }
            }
            target.endSending()
        }
    }

    /// Everything that the server has said since the last time this was asked for.
    func takeAnswers() -> String {
        let bytes = answers.with { bytes in
            defer { bytes = [] }
            return bytes
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
