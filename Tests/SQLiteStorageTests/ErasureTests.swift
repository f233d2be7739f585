internal import Entitlements
internal import Platform
internal import TestSupport
internal import Testing

@testable internal import SQLiteStorage
@testable internal import Storage

/// Contract section 6: erasing a person.
struct ErasureTests {
    typealias Say = Happening

    /// Long enough to be found wherever it stands.
    private let name = "person-who-goes-4711"

    @Test("no trace of the id is left in any table, and the version goes on growing")
    func noTrace() throws {
        let ledger = try Ledger()
        try ledger.take([
            Say.state("stripe", "e1", of: "sub", at: 0, period: 0, end: 30, user: name, customer: "cus"),
            Say.cat("e2", of: "t1", at: 0, period: 0, end: 60, users: [name], anonymous: ["a"]),
            Say.transfer("e3", at: 4, from: [name], to: ["u2"]), Say.transfer("e4", at: 6, from: ["u2"], to: [name]),
            Say.claim("e5", at: 7, "stripe", "sub", by: name),
            ManualProvider.event(
                granting: GrantRequest(
                    user: person(name),
                    grantID: "g",
                    until: nil,
                    reason: "r",
                    entitlement: "pro",
                    by: Actor(keyID: "k", at: day(1))
                ),
                eventID: "g1"
            ),
        ])
        #expect(try ledger.row(name).entitlements.first?.end == .some(nil))
        let version = try ledger.version(name)
        try ledger.transaction.setMeta(StoreMemory.reconcilePlace.rawValue, "1 2 user \(name)")
        try ledger.erase(person(name), at: day(9))
        #expect(try ledger.traces(of: name) == [])
        #expect(try ledger.version(name) == 0)
        #expect(try ledger.differences() == [])
        try ledger.take([Say.state("stripe", "e9", of: "sub", at: 10, period: 0, end: 30, user: name)])
        #expect(try ledger.row(name).entitlements.first?.purchaseID == "sub")
        #expect(try ledger.version(name) > version)
        #expect(try ledger.differences() == [])
    }

    @Test("a purchase that is somebody else's now is left alone when the former owner is erased")
    func formerOwner() throws {
        let ledger = try Ledger()
        try ledger.take([
            Say.cat("e1", of: "t1", at: 0, period: 0, end: 60, users: [name]),
            Say.transfer("e2", at: 4, from: [name], to: ["u2"]),
        ])
        #expect(try ledger.row("u2").entitlements.first?.end == day(60))
        try ledger.erase(person(name), at: day(9))
        #expect(try ledger.traces(of: name) == [])
        #expect(try ledger.differences() == [])
        try ledger.take([Say.cat("e3", of: "t1", at: 12, period: 0, end: 61, users: [], anonymous: ["x"])])
        #expect(try ledger.row("u2").entitlements.first?.end == day(61))
    }

    @Test("a refund still reaches the present owner after the former one was erased")
    func refundAfterErasure() throws {
        let ledger = try Ledger()
        try ledger.take([
            Say.cat("e1", of: "t1", at: 0, period: 0, end: 3000, users: [name]),
            Say.transfer("e2", at: 4, from: [name], to: ["u2"]),
        ])
        try ledger.erase(person(name), at: day(9))
        try ledger.take([
            Say.event(
                "revenuecat",
                "e3",
                at: 12,
                [
                    .facts(
                        Say.named("app_store", "t1", isSecondHand: true),
                        [
                            .adjustment(
                                Adjustment(
                                    id: "r",
                                    kind: .refund,
                                    standing: .effective,
                                    size: .full,
                                    version: day(12),
                                    at: day(12)
                                )
                            )
                        ]
                    )
                ]
            )
        ])
        let entry = try ledger.row("u2").entitlements.first
        #expect(entry?.isEntitled(at: day(20)) != true)
    }

    @Test("a person named only by an older statement leaves no trace")
    func olderStatement() throws {
        let ledger = try Ledger()
        try ledger.take([
            Say.state("stripe", "e1", of: "sub", at: 0, period: 0, end: 30, user: name),
            Say.state("stripe", "e2", of: "sub", at: 1, period: 0, end: 30, user: "u2"),
        ])
        try ledger.erase(person(name), at: day(9))
        let traces = try ledger.traces(of: name)
        #expect(traces == [])
    }

    @Test("a payload that is kept for replay names the person no longer")
    func quarantinedPayload() throws {
        let ledger = try Ledger()
        var event = NormalizedEvent(eventID: "q", type: "t", occurredAt: day(1), environment: .production, effects: [])
        event.verdict = .quarantined("a field is missing")
        let payload = Array("{\"app_user_id\":\"\(name)\"}".utf8)
        try ledger.take([
            Say.state("stripe", "e1", of: "sub", at: 0, period: 0, end: 30, user: name),
            IncomingEvent(
                provider: ProviderID("revenuecat"),
                event: event,
                receivedAt: day(1),
                redactedPayload: { payload }
            ),
        ])
        try ledger.erase(person(name), at: day(9))
        let traces = try ledger.traces(of: name)
        #expect(traces == [])
    }

    @Test("other people's rows are as they were")
    func others() throws {
        let ledger = try Ledger()
        try ledger.take([
            Say.state("stripe", "e1", of: "s1", at: 0, period: 0, end: 30, user: name, customer: "cus"),
            Say.state("stripe", "e2", of: "s2", at: 0, period: 0, end: 40, user: "u2", customer: "cus2"),
        ])
        let before = try ledger.row("u2")
        try ledger.erase(person(name), at: day(9))
        #expect(try ledger.row("u2") == before)
    }

    @Test("a grant with the same id, given again after an erase, gives access")
    func grantAgain() throws {
        let folder = try TemporaryFolder(prefix: "erasure")
        defer { folder.remove() }
        let path = folder.file("gateway.db")
        let store = try SQLiteStore.open(path: path, policy: Ledger.plainPolicy, onChange: { _ in })
        let actor = Actor(keyID: "k", at: day(1))
        let grant = StoreCommand.grant(
            GrantRequest(user: person(name), grantID: "g", until: nil, reason: "r", entitlement: "pro", by: actor)
        )
        let answers = try Mailbox<String>(capacity: 8)
        for command in [grant, .erase(user: person(name), by: actor), grant] {
            _ = store.submit(command) { result in _ = answers.post("\(result)") }
        }
        store.close()
        let database = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 1000)
        let transaction = try SQLiteTransaction(database)
        let body = try transaction.row(of: person(name), in: .production)?.body
        let row = try SubscriptionRow.decode(try #require(body))
        #expect(row.entitlements.first?.isEntitled(at: day(2)) == true)
    }
}
