internal import CSystem
internal import Glibc
internal import Platform

/// The listening sockets of a server: for each address one socket a loop, all on the same port.
struct Listeners {
    /// As large as the kernel permits by default (net.core.somaxconn); a burst of clients waits there, not in a retry.
    static let backlog: Int32 = 4_096

    /// What is really bound; port 0 is resolved.
    private(set) var addresses: [ListenAddress] = []
    /// For each loop, its sockets in the order of `addresses`.
    private(set) var sockets: [[Int32]]

    /// Binds and listens. When it throws, everything is closed again.
    init(_ wanted: [ListenAddress], loops: Int) throws(ServerError) {
        sockets = Array(repeating: [], count: loops)
        do throws(ServerError) {
            for address in wanted { try bind(address, loops: loops) }
        } catch {
            close()
            throw error
        }
    }

    /// Closes every socket. Only for a server that did not start: the loops close theirs.
    func close() {
        for descriptor in sockets.joined() { csystem_close(descriptor) }
    }

    /// The first socket is bound alone, so that an address another process listens on is found to be in use although
    /// that one shares it; from then on it lets its siblings in.
    private mutating func bind(_ wanted: ListenAddress, loops: Int) throws(ServerError) {
        var address = wanted
        for loop in 0..<loops {
            var system = address.system
            let descriptor = unsafe try check(csystem_tcp_bind(&system, loop == 0 ? 0 : 1), address, "bind")
            sockets[loop].append(descriptor)
            if loop == 0 {
                if loops > 1 { _ = try check(csystem_tcp_share_port(descriptor), address, "setsockopt") }
                _ = unsafe try check(csystem_tcp_local_address(descriptor, &system), address, "getsockname")
                address = ListenAddress(system)
                addresses.append(address)
            }
        }
        for loop in 0..<loops {
            guard let descriptor = sockets[loop].last else { continue }
            _ = try check(csystem_tcp_listen(descriptor, Self.backlog), address, "listen")
        }
    }

    private func check(
        _ result: Int32,
        _ address: ListenAddress,
        _ call: StaticString
    ) throws(ServerError) -> Int32 {
        if result >= 0 { return result }
        if result == -EADDRINUSE { throw .addressInUse(address) }
        throw .cannotListen(address, systemError(errno: -result, call))
    }
}
