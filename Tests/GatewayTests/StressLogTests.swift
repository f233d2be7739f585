internal import Foundation
internal import Glibc
internal import TestSupport
internal import Testing

/// A log that nobody reads.
@Suite("Stress: log", .ownThread)
struct StressLogTests {
    /// Lines that find no room are counted, not waited for.
    @Test(.enabled(if: Stress.hasPrlimit)) func aBlockedLogBlocksNobody() throws {
        let gateway = try RunningGateway()
        let path = gateway.folder.file("log.pipe")
        guard mkfifo(path, 0o600) == 0 else { throw GatewayTestError("no pipe") }
        // Both ends, so that neither side waits for the other.
        let pipe = open(path, O_RDWR | O_NONBLOCK)
        defer { close(pipe) }
        // Full after some twenty lines (F_SETPIPE_SZ of Linux).
        let setPipeSize: Int32 = 1_031
        _ = fcntl(pipe, setPipeSize, 4_096)
        gateway.wrapper = ["sh", "-c", "exec \"$0\" \"$@\" 2>'\(path)'"]
        try gateway.start()
        try gateway.grant("u1", until: nil)
        let watch = GatewayWatch(gateway)
        Thread.sleep(forTimeInterval: 0.3)
        let before = watch.lap("log read")
        // Each delivery that cannot be written is a line.
        try Stress.limit(gateway.processNumber, "--fsize=1:")
        let port = gateway.port
        let perClient = Stress.size(60, full: 2_000)
        for _ in 0..<2 {
            _ = try inParallel(count: 8, atMost: 8) { client throws(GatewayTestError) in
                let connection = HTTPConnection(port: port)
                for number in 0..<perClient / 2 {
                    let event = RevenueCatEvent("log-\(client)-\(number)", user: "u1", purchase: "tx-\(client)")
                    let request = WebhookSigner.request("revenuecat", Array(event.body.utf8))
                    let answer = try? connection.send(request, seconds: 30)
                    guard answer?.status == 503 else { throw GatewayTestError("\(answer?.text ?? "no answer")") }
                }
            }
            let during = watch.lap("log blocked")
            #expect(during.isUnharmed, "\(during)")
            #expect(during.memory - before.memory < 64, "\(during.memory) MiB")
        }
        try Stress.limit(gateway.processNumber, "--fsize=unlimited:")
        try gateway.grant("u2", until: nil)
        // Somebody reads again, and is told how many lines are missing.
        var (failed, dropped) = (0, 0)
        var text = ""
        try Stress.eventually("every line is read or counted") {
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            let count = read(pipe, &bytes, bytes.count)
            if count > 0 { text += String(decoding: bytes[..<count], as: UTF8.self) }
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            for line in lines.dropLast() {
                if line.contains("a write failed") { failed += 1 }
                if line.contains("log lines dropped") {
                    dropped += line.split(separator: ":").last.flatMap { Int($0.dropLast()) } ?? 0
                }
            }
            text = String(lines.last ?? "")
            return failed + dropped >= perClient / 2 * 16
        }
        Stress.tell("\(failed) lines read, \(dropped) counted as dropped")
        // Some thousands wait before the first is dropped.
        #expect(!Stress.isFull || dropped > 0)
        try gateway.stop()
    }

    @Test func aBlockedLogDoesNotHoldTheEndUp() throws {
        let gateway = try RunningGateway()
        let path = gateway.folder.file("log.pipe")
        guard mkfifo(path, 0o600) == 0 else { throw GatewayTestError("no pipe") }
        let pipe = open(path, O_RDWR | O_NONBLOCK)
        defer { close(pipe) }
        // Full before the first line.
        while write(pipe, "x", 1) == 1 {}
        gateway.wrapper = ["sh", "-c", "exec \"$0\" \"$@\" 2>'\(path)'"]
        try gateway.start()
        try gateway.grant("u1", until: nil)
        try gateway.stop(within: 10)
    }
}
