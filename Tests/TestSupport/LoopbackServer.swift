import Foundation
import Glibc

/// A server on a free loopback port whose every connection is played by a closure on a thread of its own. It speaks no
/// protocol: the closure says what is read and written, so it can misbehave in any way a test needs.
public final class LoopbackServer: Sendable {
    public let port: UInt16
    private let listener: Int32

    public init(_ serve: @escaping @Sendable (LoopbackPeer) -> Void) throws(NoFreePort) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard withLoopbackAddress(port: 0, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
            close(listener)
            throw NoFreePort()
        }
        self.listener = listener
        port = Self.port(of: listener)
        Thread.detachNewThread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { break }
                Thread.detachNewThread { serve(LoopbackPeer(connection)) }
            }
            close(listener)
        }
    }

    /// Wakes the thread in `accept`, which then ends.
    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private static func port(of listener: Int32) -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }
}

/// The server's end of one connection, for one thread. It is closed when it is let go.
public final class LoopbackPeer {
    private let descriptor: Int32
    private var unread: [UInt8] = []

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Everything up to and with the first empty line, or nil when the other side ended before.
    public func readHead() -> String? {
        while true {
            // CR LF CR LF; a head is short, so looking again from its beginning costs nothing.
            let text = String(decoding: unread, as: UTF8.self)
            if let end = text.utf8.firstRange(of: "\r\n\r\n".utf8) {
                let head = String(text.utf8[..<end.upperBound]) ?? ""
                unread.removeFirst(head.utf8.count)
                return head
            }
            guard receive() else { return nil }
        }
    }

    /// Exactly this many bytes, or nil when the other side ended before.
    public func read(count: Int) -> [UInt8]? {
        while unread.count < count {
            guard receive() else { return nil }
        }
        defer { unread.removeFirst(count) }
        return Array(unread[..<count])
    }

    public func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Ends the connection now.
    public func end() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    private func receive() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return false }
        unread.append(contentsOf: buffer[..<count])
        return true
    }
}
