internal import Foundation
internal import Glibc
internal import TestSupport
internal import Testing

/// What `serve` tells systemd (`sd_notify(3)`), heard by a socket of the test.
@Suite("The service manager", .ownThread)
struct SupervisorTests {
    /// A datagram socket of the Unix family with a name in a folder.
    private final class Ear {
        private let descriptor: Int32

        init(_ path: String) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(path.utf8)
            guard descriptor >= 0, bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
                throw GatewayTestError("no socket at \(path)")
            }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            let size = socklen_t(MemoryLayout<sockaddr_un>.size)
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
            }
            guard bound == 0 else { throw GatewayTestError("no socket at \(path): \(errno)") }
        }

        deinit { close(descriptor) }

        /// The next message; nil when none comes in time.
        func hear(seconds: Double = 10) -> String? {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, Int32(seconds * 1000)) > 0 else { return nil }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    @Test func itHearsOfTheStartTheReloadAndTheEnd() throws {
        let gateway = try RunningGateway()
        let ear = try Ear(gateway.folder.file("notify"))
        gateway.environment["NOTIFY_SOCKET"] = gateway.folder.file("notify")
        try gateway.start()
        #expect(ear.hear() == "READY=1\n")
        try gateway.reload()
        let reloading = ear.hear()?.split(separator: "\n").map(String.init)
        #expect(reloading?.first == "RELOADING=1" && reloading?.count == 2)
        // On the clock that systemd compares it with, and not long ago.
        let moment = reloading?.last.flatMap { Int64($0.dropFirst("MONOTONIC_USEC=".count)) } ?? 0
        var clock = timespec()
        clock_gettime(CLOCK_MONOTONIC, &clock)
        let now = Int64(clock.tv_sec) * 1_000_000 + Int64(clock.tv_nsec) / 1000
        #expect(moment <= now && now - moment < 60_000_000)
        #expect(ear.hear() == "READY=1\n")
        try gateway.stop()
        #expect(ear.hear() == "STOPPING=1\n")
    }

    /// A manager that is gone is no reason not to serve.
    @Test func nobodyNeedsToListen() throws {
        let gateway = try RunningGateway()
        gateway.environment["NOTIFY_SOCKET"] = gateway.folder.file("nobody")
        try gateway.start()
        // The line is written after the gateway answers.
        try Stress.eventually("the log says that nobody was told") {
            gateway.text(of: "gateway.log").contains("the service manager was not told")
        }
        try gateway.stop()
        let other = try RunningGateway(["NOTIFY_SOCKET": "no path"]).start()
        #expect(!other.text(of: "gateway.log").contains("the service manager was not told"))
    }

    /// A start that fails is never told as ready.
    @Test func aStartThatFailsIsNotReady() throws {
        let gateway = try RunningGateway()
        let ear = try Ear(gateway.folder.file("notify"))
        gateway.environment["NOTIFY_SOCKET"] = gateway.folder.file("notify")
        #expect(try gateway.run(["serve", "--listen", "nowhere"]).status == .exited(1))
        #expect(ear.hear(seconds: 0.1) == nil)
    }
}
