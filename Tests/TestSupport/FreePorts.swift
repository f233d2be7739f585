import Glibc
import Synchronization

/// No port was free in a range of thousands: something on this machine is badly wrong.
public struct NoFreePort: Error, Sendable, Equatable {}

/// Loopback ports that nobody else has, although they are handed out before the child process binds them.
///
/// A server that binds with SO_REUSEPORT would share a port with another such server and both would seem to start. So a
/// run owns a block: who holds the block's first port owns the rest of it. Within the block the ports go round, so that one
/// just given up is not given out again at once.
public enum FreePorts {
    /// Below 32768, where Linux takes the ports of outgoing connections from.
    private static let range = 20_000..<32_000
    /// Enough for every server that one run may have at the same time, many times over.
    private static let blockSize = 400

    /// The block's first port, held until the process ends and never listened on. Nil when every block is taken.
    private static let base: Int? = stride(from: range.lowerBound, to: range.upperBound, by: blockSize).shuffled()
        .first { bound(to: UInt16($0), reuseAddress: false) != nil }

    private static let calls = Atomic<Int>(0)

    /// A port that no one listens on now, and that no other call gives out for the next hundreds of calls.
    public static func claim() throws(NoFreePort) -> UInt16 {
        guard let base else { throw NoFreePort() }
        for _ in 1..<blockSize {
            let call = calls.add(1, ordering: .relaxed).oldValue
            let port = UInt16(base + 1 + call % (blockSize - 1))
            // Connections of the past in TIME_WAIT do not count, a listener does.
            if let probe = bound(to: port, reuseAddress: true) {
                close(probe)
                return port
            }
        }
        throw NoFreePort()
    }

    /// A socket bound to the port, or nil when the port is taken.
    private static func bound(to port: UInt16, reuseAddress: Bool) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var yes: Int32 = 1
        if reuseAddress {
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        }
        guard withLoopbackAddress(port: port, { bind(descriptor, $0, $1) }) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}

/// Calls `body` with 127.0.0.1 and the port in the form the socket functions want.
func withLoopbackAddress<Value>(port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
}
