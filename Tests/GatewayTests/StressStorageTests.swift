internal import Foundation
internal import TestSupport
internal import Testing

/// A database that is slow, full, or read by others for long.
@Suite("Stress: storage", .ownThread)
struct StressStorageTests {
    /// Whether a file system of a test's own can be made for one process.
    private static let canMount: Bool = {
        let process = try? ChildProcess(
            .init(
                program: "/usr/bin/env",
                arguments: mounting + ["mount -t tmpfs -o size=1m tmpfs \"$TMPDIR\"", "x"],
                environment: ProcessInfo.processInfo.environment.merging(["TMPDIR": NSTemporaryDirectory()]) { $1 },
                folder: "/",
                output: "/dev/null"
            )
        )
        return process?.wait(seconds: 10) == .exited(0)
    }()

    private static var mounting: [String] {
        ["unshare", "--mount"] + (getuid() == 0 ? [] : ["--user", "--map-root-user"]) + ["sh", "-c"]
    }

    /// A delivery that is kept whole: authentic, and not understandable.
    private static func large(_ id: String, bytes: Int) -> [UInt8] {
        let filler = String(repeating: "word ", count: bytes / 5)
        return Array(#"{"event":{"id":"\#(id)","type":"RENEWAL","note":"\#(filler)"}}"#.utf8)
    }

    /// More deliveries than the disk takes: a bounded number waits, the rest is sent away at once, and nobody else notices.
    @Test func moreDeliveriesThanTheDiskTakes() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        let watch = GatewayWatch(gateway)
        Thread.sleep(forTimeInterval: 0.3)
        let before = watch.lap("disk at rest")
        let lock = try SQLDatabase(gateway.database)
        let rounds = Stress.size(1, full: 10)
        let port = gateway.port
        for round in 1...rounds {
            // Another process holds the lock of writes: COMMIT does not come.
            try lock.execute("BEGIN IMMEDIATE")
            let answers = try inParallel(count: 100, atMost: 100) { number throws(HTTPFault) in
                // No JSON, so that nothing but its size is work.
                let body = Array("\(round)-\(number) ".utf8) + [UInt8](repeating: 0x78, count: 900_000)
                return try HTTPConnection(port: port).send(WebhookSigner.request("revenuecat", body), seconds: 60)
            }
            try lock.execute("ROLLBACK")
            #expect(answers.allSatisfy { $0.status == 503 && $0.header("Retry-After") != nil })
            #expect(answers.contains { $0.text.contains("more writes are waiting") })
            #expect(answers.contains { $0.text.contains("nothing was recorded") })
            let during = watch.lap("overload \(round)")
            #expect(during.isUnharmed, "\(during)")
            // What waits, and the buffers that everything came in, each up to twice its bytes.
            #expect(during.memory - before.memory < 300, "\(during.memory) MiB")
        }
        #expect(
            try SQLDatabase(gateway.database).integer("SELECT count(*) FROM event WHERE provider = 'revenuecat'") == 0
        )
        // Once the disk is back, what was sent away is taken.
        let again = try gateway.send(WebhookSigner.request("revenuecat", Self.large("slow-1-0", bytes: 900_000)))
        #expect(again.status == 200 && again.text.contains("quarantined"))
        try gateway.stop()
    }

    /// A full disk: nothing is said to be recorded, everything can be read, and it goes on when there is room.
    @Test(.enabled(if: canMount)) func aFullDisk() throws {
        let gateway = try RunningGateway()
        let disk = gateway.folder.file("disk")
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: false)
        let megabytes = Stress.size(6, full: 64)
        gateway.wrapper =
            Self.mounting + ["mount -t tmpfs -o size=\(megabytes)m tmpfs '\(disk)'; exec \"$0\" \"$@\""]
        gateway.environment["GATEWAY_DATABASE"] = disk + "/gateway.db"
        try gateway.start()
        try gateway.grant("u1", until: nil)
        let watch = GatewayWatch(gateway)
        // The mount is seen by the gateway alone, and by us through its root.
        let filler = "/proc/\(gateway.processNumber)/root\(disk)/filler"
        _ = FileManager.default.createFile(atPath: filler, contents: nil)
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: filler))
        let piece = Data(repeating: 0, count: 4_096)
        while (try? file.write(contentsOf: piece)) != nil {}
        try file.close()
        var refused: [String] = []
        for number in 0..<40 where refused.count < 5 {
            let id = "full-\(number)"
            let answer = try gateway.send(WebhookSigner.request("revenuecat", Self.large(id, bytes: 100_000)))
            if answer.status == 200 { continue }
            #expect(answer.status == 503 && answer.header("Retry-After") != nil, "\(answer.text)")
            refused.append(id)
        }
        #expect(refused.count == 5)
        #expect(gateway.text(of: "gateway.log").contains("the disk is full"))
        // What is left in the log of writes takes some small writes still, the one of the readiness too.
        var small = 0
        var ready = 200
        while ready == 200, small < 400 {
            small += 1
            let event = RevenueCatEvent("small-\(small)", user: "u3", purchase: "tx-\(small)")
            _ = try gateway.send(WebhookSigner.request("revenuecat", Array(event.body.utf8)))
            ready = try gateway.ask("GET", "/readyz", key: nil).status
        }
        #expect(ready == 503)
        #expect(try gateway.ask("GET", "/healthz", key: nil).status == 200)
        #expect(try gateway.entitlement(of: "u1")["entitled"]?.bool == true)
        let during = watch.lap("disk full")
        #expect(during.isUnharmed, "\(during)")
        try FileManager.default.removeItem(atPath: filler)
        try Self.waitUntilReady(gateway)
        for id in refused {
            let answer = try gateway.send(WebhookSigner.request("revenuecat", Self.large(id, bytes: 100_000)))
            #expect(answer.status == 200 && answer.text.contains("quarantined"), "\(id): \(answer.text)")
        }
        try gateway.stop()
    }

    /// The database is asked at most once a second.
    private static func waitUntilReady(_ gateway: RunningGateway) throws {
        let end = ContinuousClock.now + .seconds(10)
        var status = 0
        while status != 200, ContinuousClock.now < end {
            status = try gateway.ask("GET", "/readyz", key: nil).status
            if status != 200 { Thread.sleep(forTimeInterval: 0.1) }
        }
        #expect(status == 200)
    }

    /// A disk that takes no writes at the start: a clear refusal, and nothing is served that could not be kept.
    @Test(.enabled(if: canMount)) func aReadOnlyDisk() throws {
        let gateway = try RunningGateway()
        let disk = gateway.folder.file("disk")
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: false)
        gateway.environment["GATEWAY_DATABASE"] = disk + "/gateway.db"
        try gateway.start()
        try gateway.grant("u1", until: nil)
        try gateway.stop()
        gateway.wrapper =
            Self.mounting + [
                "mount --bind '\(disk)' '\(disk)' && mount -o remount,bind,ro '\(disk)'; exec \"$0\" \"$@\""
            ]
        #expect(throws: GatewayTestError.self) { try gateway.start() }
        let log = gateway.text(of: "gateway.log")
        #expect(log.contains("gateway.db") && log.contains("--database"), "\(log)")
        gateway.wrapper = []
        try gateway.start()
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        try gateway.stop()
    }

    /// The same where no file may grow, which every system can do to a process.
    @Test(.enabled(if: Stress.hasPrlimit)) func aFileThatMayNotGrow() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        try Stress.limit(gateway.processNumber, "--fsize=1:")
        let request = WebhookSigner.request("revenuecat", Self.large("stuck", bytes: 100_000))
        let refused = try gateway.send(request)
        #expect(refused.status == 503 && refused.header("Retry-After") != nil, "\(refused.text)")
        Thread.sleep(forTimeInterval: 1.1)
        #expect(try gateway.ask("GET", "/readyz", key: nil).status == 503)
        #expect(try gateway.entitlement(of: "u1")["entitled"]?.bool == true)
        try Stress.limit(gateway.processNumber, "--fsize=unlimited:")
        try Self.waitUntilReady(gateway)
        #expect(try gateway.send(request).text.contains("quarantined"))
        try gateway.stop()
    }

    /// Loops that are never idle keep reading; the log of writes begins anew all the same.
    @Test(.enabled(if: Stress.isFull)) func theLogOfWritesStaysShort() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        let watch = GatewayWatch(gateway)
        let readers = BusyReaders(gateway, count: 6)
        let port = gateway.port
        let events = 300
        var longest = 0
        // Each event writes about 200 KB to the log, 600 MiB in all.
        for round in 0..<10 {
            _ = try inParallel(count: events, atMost: 8) { number throws(GatewayTestError) in
                let body = Self.large("wal-\(round)-\(number)", bytes: 200_000)
                let answer = try? HTTPConnection(port: port).send(
                    WebhookSigner.request("revenuecat", body),
                    seconds: 30
                )
                guard answer?.status == 200 else { throw GatewayTestError("\(answer?.text ?? "no answer")") }
            }
            longest = max(longest, Self.logBytes(gateway))
            _ = watch.lap("round \(round), log of \(Self.logBytes(gateway) >> 20) MiB")
        }
        #expect(longest < 64 << 20, "\(longest >> 20) MiB")
        readers.stop()
        try gateway.stop()
    }

    /// A reader of another process that takes its time: writes go on, and the log is short again when it has ended.
    @Test(.enabled(if: Stress.isFull)) func aLongReaderHoldsNobodyUp() throws {
        let gateway = try RunningGateway().start()
        try gateway.grant("u1", until: nil)
        let watch = GatewayWatch(gateway)
        let readers = BusyReaders(gateway, count: 4)
        let other = try SQLDatabase(gateway.database)
        try other.execute("BEGIN")
        _ = try other.integer("SELECT count(*) FROM event")
        let port = gateway.port
        let events = 500
        func write(_ name: String) throws -> Duration {
            let start = ContinuousClock.now
            _ = try inParallel(count: events, atMost: 8) { number throws(GatewayTestError) in
                let body = Self.large("\(name)-\(number)", bytes: 200_000)
                let answer = try? HTTPConnection(port: port).send(
                    WebhookSigner.request("revenuecat", body),
                    seconds: 30
                )
                guard answer?.status == 200 else { throw GatewayTestError("\(answer?.text ?? "no answer")") }
            }
            return start.duration(to: .now)
        }
        let held = try write("held")
        let during = watch.lap("a long reader, log of \(Self.logBytes(gateway) >> 20) MiB")
        #expect(during.isUnharmed, "\(during)")
        try other.execute("COMMIT")
        // The pause between two tries is over by then.
        Thread.sleep(forTimeInterval: 2.1)
        let free = try write("free")
        _ = watch.lap("no long reader, log of \(Self.logBytes(gateway) >> 20) MiB")
        #expect(Self.logBytes(gateway) < 64 << 20)
        Stress.tell("\(events) events took \(held) beside the reader and \(free) without")
        readers.stop()
        try gateway.stop()
    }

    private static func logBytes(_ gateway: RunningGateway) -> Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: gateway.database + "-wal")
        return (attributes?[.size] as? NSNumber)?.intValue ?? 0
    }
}

/// Clients that ask without a pause, so that the loops are never idle.
private final class BusyReaders: Sendable {
    private let isOver = Locked(false)
    private let threads = DispatchGroup()

    init(_ gateway: RunningGateway, count: Int) {
        let (port, isOver) = (gateway.port, isOver)
        let request = RunningGateway.request("GET", "/v1/users/u1/entitlement", key: RunningGateway.readKey)
        for _ in 0..<count {
            threads.enter()
            Thread.detachNewThread { [threads] in
                let connection = HTTPConnection(port: port)
                while !isOver.with({ $0 }) { _ = try? connection.send(request, seconds: 10) }
                threads.leave()
            }
        }
    }

    deinit {
        stop()
    }

    func stop() {
        isOver.with { $0 = true }
        threads.wait()
    }
}
