internal import Foundation
internal import TestSupport
internal import Testing

/// The clock of the machine is set forth and back while the gateway runs: answers follow the clock, nothing is lost, and no
/// version is given twice. The clock is another one for the gateway alone, by a library that is loaded before it.
@Suite("A clock that steps", .ownThread)
struct ClockStepTests {
    private static let library = [
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1", "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
        "/usr/lib/faketime/libfaketime.so.1",
    ].first { FileManager.default.fileExists(atPath: $0) }

    private static func gateway() throws -> RunningGateway {
        let gateway = try RunningGateway(["NOTIFY_SECRET": TestReceiver.secret])
        try gateway.write("+0", to: "clock")
        gateway.wrapper = [
            "LD_PRELOAD=\(library ?? "")", "FAKETIME_TIMESTAMP_FILE=\(gateway.folder.file("clock"))",
            "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
            // The library writes into the environment of the first program it is loaded into, and a Swift program would
            // not find its words then: the shell is that one, and becomes the gateway.
            "sh", "-c", "exec \"$0\" \"$@\"",
        ]
        return gateway
    }

    private static func step(_ gateway: RunningGateway, seconds: Int) throws {
        // Replaced whole: the library reads it at any moment.
        try gateway.write(seconds < 0 ? "\(seconds)" : "+\(seconds)", to: "clock.new")
        guard rename(gateway.folder.file("clock.new"), gateway.folder.file("clock")) == 0 else {
            throw GatewayTestError("the clock cannot be set")
        }
    }

    @Test(.enabled(if: library != nil, "libfaketime is not installed (apt-get install faketime)"))
    func answersFollowIt() throws {
        let receiver = try TestReceiver()
        let gateway = try Self.gateway()
        try gateway.write(receiver.config, to: "gateway.json")
        try gateway.start()
        let number = gateway.processNumber
        defer {
            for name in ["sem.faketime_sem_", "faketime_shm_"] { unlink("/dev/shm/\(name)\(number)") }
        }
        try gateway.grant("u1", until: Clock.text(secondsFromNow: 3600))
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        var versions = [try gateway.entitlement(of: "u1")["version"]?.integer ?? 0]
        for (hours, isEntitled) in [(2, false), (0, true), (48, false), (-24, true), (0, true)] {
            try Self.step(gateway, seconds: hours * 3600)
            #expect(try gateway.entitlement(of: "u1")["entitled"]?.bool == isEntitled, "\(hours) h")
            // Writing goes on, and what is written counts at once.
            let user = "step-\(versions.count)"
            try gateway.grant(user, until: nil, id: "g\(versions.count)")
            let row = try gateway.entitlement(of: user)
            #expect(row["entitled"] == true, "\(hours) h")
            versions.append(row["version"]?.integer ?? 0)
            #expect(try gateway.ask("GET", "/readyz").status == 200, "\(hours) h")
        }
        #expect(versions == versions.sorted() && Set(versions).count == versions.count)
        // Whoever was told of the end is told of it once, and every grant is told.
        try Stress.eventually("all is told", seconds: 30) {
            Set(try receiver.deliveries(receiver.count).compactMap { $0.data["user_id"]?.string }).count == 6
        }
        let ends = try receiver.deliveries(receiver.count).filter {
            $0.data["user_id"] == "u1" && $0.data["entitled"] == false
        }
        #expect(ends.count <= 1)
        try gateway.stop()
        let check = try gateway.run(["rebuild", "--check"])
        #expect(check.status == .exited(0), "\(check.output)")
    }
}
