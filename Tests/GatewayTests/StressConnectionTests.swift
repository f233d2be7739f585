internal import Foundation
internal import TestSupport
internal import Testing

/// More connections than usual, and fewer descriptors.
@Suite("Stress: connections", .ownThread)
struct StressConnectionTests {
    /// A connection that waits costs little, and those who ask are served as before.
    @Test func idleConnectionsCostLittle() throws {
        let gateway = try RunningGateway().start()
        let watch = GatewayWatch(gateway)
        Thread.sleep(forTimeInterval: 0.5)
        let before = watch.lap("no idle connections")
        let crowd = Crowd(port: gateway.port)
        let count = Stress.size(2_000, full: 10_000)
        for part in 1...4 {
            let first = crowd.count
            try crowd.join(count / 4)
            crowd.say("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", from: first)
            #expect(crowd.hear(from: first).allSatisfy { $0?.hasPrefix("HTTP/1.1 200") == true })
            _ = watch.lap("\(count / 4 * part) idle connections")
        }
        Thread.sleep(forTimeInterval: Stress.size(0.5, full: 5))
        let during = watch.lap("all of them")
        let bytesEach = (during.memory - before.memory) * 1_048_576 / Double(count)
        Stress.tell("\(Int(bytesEach)) bytes a connection")
        #expect(bytesEach < 4_096)
        #expect(during.isUnharmed, "\(during)")
        crowd.leave()
        try gateway.stop()
    }

    /// Without descriptors nobody new comes in; those who are in are served, the processor rests, and it goes on.
    @Test(.enabled(if: Stress.hasPrlimit)) func noDescriptorsLeft() throws {
        let gateway = try RunningGateway().start()
        let watch = GatewayWatch(gateway)
        Thread.sleep(forTimeInterval: 0.3)
        _ = watch.lap("descriptors free")
        let process = gateway.processNumber
        try Stress.limit(process, "--nofile=3:")
        let crowd = Crowd(port: gateway.port)
        try crowd.join(200)
        crowd.say("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        let start = GatewayWatch.processorSeconds(of: process)
        let seconds = Stress.size(1.5, full: 10.0)
        _ = watch.lap("descriptors exhausted")
        Thread.sleep(forTimeInterval: seconds)
        let during = watch.lap("descriptors exhausted for \(seconds) s")
        let used = GatewayWatch.processorSeconds(of: process) - start
        Stress.tell("\(used) s of processor time in \(seconds) s")
        #expect(used < seconds * 0.6, "the loops spin: \(used) s")
        #expect(during.isUnharmed, "\(during)")
        #expect(gateway.text(of: "gateway.log").contains("connections cannot be accepted"))
        try Stress.limit(process, "--nofile=1024:")
        // Who waited in the kernel is served now.
        #expect(crowd.hear().allSatisfy { $0?.hasPrefix("HTTP/1.1 200") == true })
        #expect(watch.lap("descriptors free again").failures == 0)
        try gateway.stop()
    }

    /// More than the process may open are told so, and descriptors stay for the database.
    @Test func connectionsAreFewerThanDescriptors() throws {
        let gateway = try RunningGateway()
        gateway.wrapper = ["sh", "-c", "ulimit -n 200; exec \"$0\" \"$@\""]
        try gateway.start()
        #expect(gateway.text(of: "gateway.log").contains("\"connections\":100"))
        let crowd = Crowd(port: gateway.port)
        try crowd.join(150)
        crowd.say("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        let answers = crowd.hear()
        #expect(answers.filter { $0?.hasPrefix("HTTP/1.1 200") == true }.count >= 98)
        #expect(answers.filter { $0?.hasPrefix("HTTP/1.1 503") == true }.count >= 40)
        #expect(!gateway.text(of: "gateway.log").contains("cannot be accepted"))
        crowd.leave()
        try Stress.eventually("room again") {
            (try? gateway.ask("POST", "/v1/users/u1/grants", body: #"{"until":null,"reason":"r"}"#).status) == 201
        }
        try gateway.stop()
    }
}
