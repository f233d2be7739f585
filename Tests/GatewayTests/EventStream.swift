internal import Foundation
internal import Glibc
internal import TestSupport

/// A client of `GET /v1/changes`, for one thread: what stands on the wire, chunks undone.
final class EventStream {
    struct Event {
        var id: Int64?
        var type: String
        var json: JSONValue
    }

    private let descriptor: Int32
    private(set) var head = ""
    private var wire: [UInt8] = []
    private var text: [UInt8] = []
    private(set) var hasEnded = false
    private(set) var comments = 0

    /// Asks, and waits for the head of the answer.
    init(
        _ port: UInt16,
        _ query: String = "",
        after: Int64? = nil,
        key: String = RunningGateway.readKey,
        version: String = "1.1"
    ) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw GatewayTestError("no connection") }
        var request = "GET /v1/changes\(query) HTTP/\(version)\r\nHost: x\r\nAuthorization: Bearer \(key)\r\n"
        if let after { request += "Last-Event-ID: \(after)\r\n" }
        request += "\r\n"
        _ = request.withCString { send(descriptor, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
        let end = ContinuousClock.now + .seconds(20)
        while head.isEmpty {
            guard ContinuousClock.now < end, !hasEnded else { throw GatewayTestError("no head: \(wire.count) bytes") }
            receive(seconds: 1)
            if let range = wire.firstRange(of: Array("\r\n\r\n".utf8)) {
                head = String(decoding: wire[..<range.upperBound], as: UTF8.self)
                wire.removeSubrange(..<range.upperBound)
                unchunk()
            }
        }
    }

    deinit { close(descriptor) }

    var status: Int { Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0 }

    /// The next event; nil when the stream ends or nothing comes in time.
    func next(seconds: Double = 20) -> Event? {
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            if let range = text.firstRange(of: Array("\n\n".utf8)) {
                let block = String(decoding: text[..<range.lowerBound], as: UTF8.self)
                text.removeSubrange(..<range.upperBound)
                if let event = parse(block) { return event }
                continue
            }
            let left = ContinuousClock.now.duration(to: end) / .seconds(1)
            guard left > 0, !hasEnded else { return nil }
            receive(seconds: left)
            unchunk()
        }
    }

    private func parse(_ block: String) -> Event? {
        var event = Event(id: nil, type: "", json: .null)
        for line in block.split(separator: "\n") {
            if line.hasPrefix(":") { comments += 1 }
            if line.hasPrefix("id: ") { event.id = Int64(line.dropFirst(4)) }
            if line.hasPrefix("event: ") { event.type = String(line.dropFirst(7)) }
            if line.hasPrefix("data: ") {
                event.json = (try? JSONValue(parsing: Array(line.dropFirst(6).utf8))) ?? .null
            }
        }
        return event.type.isEmpty ? nil : event
    }

    private func receive(seconds: Double) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, Int32(max(1, seconds * 1000))) > 0 else { return }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        if count > 0 { wire += buffer[..<count] } else { hasEnded = true }
    }

    private func unchunk() {
        guard head.lowercased().contains("transfer-encoding: chunked") else {
            text += wire
            wire = []
            return
        }
        while let line = wire.firstRange(of: Array("\r\n".utf8)),
            let size = Int(String(decoding: wire[..<line.lowerBound], as: UTF8.self), radix: 16),
            wire.count >= line.upperBound + size + 2
        {
            text += wire[line.upperBound..<line.upperBound + size]
            wire.removeSubrange(..<(line.upperBound + size + 2))
            if size == 0 { hasEnded = true }
        }
    }
}
