internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

/// `backup`, and that what the gateway makes is for its owner only.
@Suite("Backup", .ownThread)
struct BackupTests {
    private static func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
    }

    @Test func aBackupTakenWhileServingIsWholeAndCanBeServed() throws {
        let gateway = try RunningGateway().start()
        for number in 0..<20 {
            try gateway.deliver(
                "revenuecat",
                RevenueCatEvent("evt_\(number)", user: "u\(number)", purchase: "tx_\(number)").body
            )
        }
        let result = try gateway.run(["backup", "copy.db"])
        #expect(result.status == .exited(0), "\(result.errors)")
        #expect(result.output.contains("copy.db") && result.output.contains("people: 20"))
        let path = gateway.folder.file("copy.db")
        #expect(try Self.mode(path) == 0o600)
        let files = try gateway.bytes(ofFilesNamed: "copy.db").map(\.name)
        #expect(files == ["copy.db", "copy.db.signing-keys"], "the keys of licences, and nothing else beside it")
        #expect(try Self.mode(path + ".signing-keys") == 0o600)
        // What comes later is not in it.
        try gateway.grant("u1", until: nil)
        try gateway.stop()
        #expect(try SQLDatabase(path).text("PRAGMA integrity_check") == "ok")

        let restored = try RunningGateway()
        try FileManager.default.copyItem(atPath: path, toPath: restored.database)
        try restored.start()
        let answer = try restored.entitlement(of: "u7")
        #expect(answer["entitled"] == true && answer["purchase_id"] == "tx_7")
        #expect(try restored.entitlement(of: "u1")["lifetime"] == false)
        try restored.stop()
        #expect(try restored.run(["rebuild", "--check"]).status == .exited(0))
    }

    /// A copy begins and ends while others write, and is of one moment: every event of it has its facts.
    @Test func aBackupUnderLoadIsOfOneMoment() throws {
        let gateway = try RunningGateway().start()
        let writer = LoadWriter(port: gateway.port)
        defer { writer.stop() }
        for number in 0..<5 {
            let result = try gateway.run(["backup", "copy\(number).db", "--json"])
            #expect(result.status == .exited(0), "\(result.errors)")
            #expect(try CommandTests.json(result)["checked"] == true)
        }
        #expect(writer.stop() > 0, "nothing was written meanwhile")
        for number in 0..<5 {
            let copy = gateway.folder.file("copy\(number).db")
            let check = try gateway.run(["rebuild", "--check", "--database", copy])
            #expect(check.status == .exited(0), "\(check.output)")
        }
    }

    @Test func nothingIsOverwritten() throws {
        let gateway = try RunningGateway()
        #expect(try gateway.run(["migrate"]).status == .exited(0))
        try gateway.write("precious", to: "copy.db")
        let refused = try gateway.run(["backup", "copy.db"])
        #expect(refused.status == .exited(1) && refused.errors.contains("--force"), "\(refused.errors)")
        #expect(gateway.text(of: "copy.db") == "precious")
        let forced = try gateway.run(["backup", "--force", "copy.db", "--json"])
        #expect(forced.status == .exited(0), "\(forced.errors)")
        let json = try CommandTests.json(forced)
        let size = try FileManager.default.attributesOfItem(atPath: gateway.folder.file("copy.db"))[.size] as? NSNumber
        #expect(json["file"] == "copy.db" && json["bytes"]?.integer == size?.int64Value)
        for own in ["gateway.db", "./gateway.db"] {
            let result = try gateway.run(["backup", "--force", own])
            #expect(result.status == .exited(1) && result.errors.contains("the database itself"), "\(result.errors)")
        }
        #expect(try gateway.run(["rebuild", "--check"]).status == .exited(0))
    }

    @Test func mistakesLeaveNothingBehind() throws {
        let gateway = try RunningGateway()
        let missing = try gateway.run(["backup", "copy.db"])
        #expect(missing.status == .exited(1) && missing.errors.contains("there is no database"))
        #expect(try gateway.run(["rebuild", "--check"]).errors.contains("there is no database"))
        #expect(!FileManager.default.fileExists(atPath: gateway.database))
        #expect(try gateway.run(["migrate"]).status == .exited(0))
        let folder = try gateway.run(["backup", "nowhere/copy.db"])
        #expect(folder.status == .exited(1) && folder.errors.contains("nowhere/copy.db"))
        #expect(try gateway.bytes(ofFilesNamed: "copy").isEmpty)

        try gateway.write(String(repeating: "not a database\n", count: 300), to: "gateway.db")
        let damaged = try gateway.run(["backup", "copy.db", "--json"])
        #expect(damaged.status == .exited(1) && !damaged.errors.isEmpty)
        #expect(try gateway.bytes(ofFilesNamed: "copy").isEmpty, "nothing that could be taken for a backup")
    }

    /// A row that breaks its own table's rule: the copy has it too, and is not kept.
    @Test func aCopyThatIsNotSoundIsNotKept() throws {
        let gateway = try RunningGateway()
        #expect(try gateway.run(["keys", "create"]).status == .exited(0))
        try SQLDatabase(gateway.database).execute(
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, 'user_id TEXT,', 'user_id TEXT NOT NULL,') WHERE name = 'audit';
            PRAGMA writable_schema = OFF;
            """
        )
        try gateway.write("the last good one", to: "copy.db")
        let result = try gateway.run(["backup", "copy.db", "--force"])
        #expect(result.status == .exited(1) && result.errors.contains("not whole"), "\(result.errors)")
        #expect(gateway.text(of: "copy.db") == "the last good one")
        #expect(try gateway.bytes(ofFilesNamed: "copy").count == 1)
        let doctor = try gateway.run(["doctor"])
        #expect(doctor.status == .exited(1) && doctor.output.contains("is damaged"), "\(doctor.output)")
    }

    /// Whatever mask the process was started with.
    @Test(arguments: ["000", "022", "077", "277"])
    func filesAreForTheirOwnerOnly(mask: String) throws {
        let gateway = try RunningGateway()
        gateway.environment["GATEWAY_ADMIN_KEY"] = nil
        gateway.environment["GATEWAY_READ_KEY"] = nil
        gateway.mask = mask
        try gateway.start()
        try gateway.deliver("revenuecat", RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1").body)
        #expect(try gateway.run(["backup", "copy.db"]).status == .exited(0))
        for name in ["gateway.db", "gateway.db-wal", "gateway.db-shm", "gateway.keys", "copy.db"] {
            #expect(try Self.mode(gateway.folder.file(name)) == 0o600, "\(name)")
        }
    }
}

/// Delivers events one after the other until it is stopped, on a thread of its own.
private final class LoadWriter: Sendable {
    private let isStopped = Atomic(false)
    private let written = Atomic(0)
    private let done = DispatchGroup()

    init(port: UInt16) {
        done.enter()
        Thread.detachNewThread { [self] in
            defer { done.leave() }
            let connection = HTTPConnection(port: port)
            var number = 0
            while !isStopped.load(ordering: .relaxed) {
                number += 1
                let event = RevenueCatEvent(
                    "load_\(number)",
                    user: "load-\(number % 50)",
                    purchase: "load_tx_\(number)"
                )
                let request = WebhookSigner.request("revenuecat", Array(event.body.utf8), id: "msg_\(number)")
                guard let answer = try? connection.send(request, seconds: 20), answer.status == 200 else { return }
                written.wrappingAdd(1, ordering: .relaxed)
            }
        }
    }

    /// The number of events that were taken.
    @discardableResult
    func stop() -> Int {
        isStopped.store(true, ordering: .relaxed)
        done.wait()
        return written.load(ordering: .relaxed)
    }
}
