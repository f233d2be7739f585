internal import Dispatch
internal import Entitlements
internal import Platform
internal import TestSupport
internal import Testing

@testable internal import SQLStorage
@testable internal import SQLiteStorage
@testable internal import Storage

/// Many deliveries in one transaction: what one of them cannot do is its own affair.
struct BatchTests {
    private typealias Say = Happening

    @Test("a delivery that cannot be taken in takes no other with it, and can be taken in later")
    func oneFails() throws {
        let folder = try TemporaryFolder(prefix: "batch")
        defer { folder.remove() }
        let path = folder.file("gateway.db")
        let (entered, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let held = Locked(true)
        let store = try SQLiteStore.open(path: path, policy: Ledger.plainPolicy) { _ in
            let mustWait = held.with { held in
                defer { held = false }
                return held
            }
            if mustWait {
                entered.signal()
                gate.wait()
            }
        }
        defer { store.close() }
        let outcomes = Locked<[String: Result<EventOutcome?, StorageError>]>([:])
        let done = DispatchSemaphore(value: 0)
        func submit(_ event: IncomingEvent) {
            let name = event.event.eventID
            #expect(
                store.submit(.ingest(event), bytes: 1) { result in
                    outcomes.with { $0[name] = result.map(\.value.outcome) }
                    done.signal()
                }
            )
        }
        // While this one's commit is held up, the others come together.
        submit(Say.state("stripe", "e1", of: "sub_1", at: 0, period: 0, end: 30, user: "u1"))
        entered.wait()
        let other = try SQLiteDatabase(path: path, mode: .readWrite, busyMillis: 1000)
        let body = try other.prepare("SELECT body FROM fact")
        #expect(try body.step())
        let kept = body.blob(0)
        body.reset()
        try other.execute("UPDATE fact SET body = x'63'")
        let good = Say.state("stripe", "e2", of: "sub_2", at: 1, period: 1, end: 31, user: "u2")
        let bad = Say.state("stripe", "e3", of: "sub_1", at: 30, period: 30, end: 60, user: "u1")
        let late = Say.state("creem", "e4", of: "sub_4", at: 2, period: 2, end: 32, user: "u4")
        for event in [good, bad, late] { submit(event) }
        gate.signal()
        for _ in 0..<4 { done.wait() }
        #expect(outcomes.with { $0 }["e2"] == .success(.applied))
        #expect(outcomes.with { $0 }["e4"] == .success(.applied))
        guard case .failure(.damaged) = outcomes.with({ $0 })["e3"] else {
            Issue.record("\(String(describing: outcomes.with { $0 }["e3"]))")
            return
        }
        func counts() throws -> (events: Int64, rows: Int64) {
            (
                try other.integer("SELECT count(*) FROM event"),
                try other.integer("SELECT count FROM row_count WHERE environment = 0")
            )
        }
        #expect(try counts() == (3, 3))
        #expect(try other.integer("SELECT received_at FROM last_arrival WHERE provider = 'stripe'") == day(1).value)
        #expect(try other.integer("SELECT received_at FROM last_arrival WHERE provider = 'creem'") == day(2).value)

        let mend = try other.prepare("UPDATE fact SET body = ? WHERE body = x'63'")
        mend.bind(1, kept)
        try mend.run()
        submit(bad)
        done.wait()
        #expect(outcomes.with { $0 }["e3"] == .success(.applied))
        #expect(try counts() == (4, 3))
        #expect(try other.integer("SELECT received_at FROM last_arrival WHERE provider = 'stripe'") == day(30).value)
    }

    @Test("an event that concludes otherwise than expected is written as it concluded")
    func conclusions() throws {
        let ledger = try Ledger()
        let parked = Say.state("stripe", "e1", of: "sub_1", at: 0, period: 0, end: 30)
        let outcomes = try ledger.take([
            parked, Say.state("stripe", "e2", of: "sub_2", at: 1, period: 1, end: 31, user: "u2"),
            Say.state("stripe", "e2", of: "sub_2", at: 1, period: 1, end: 31, user: "u2"),
            Say.state("stripe", "e3", of: "sub_2", at: 0.5, period: 0, end: 20, user: "u2"),
        ])
        #expect(outcomes.prefix(3) == [.parked, .applied, .duplicate])
        let kept = try ledger.database.prepare("SELECT outcome, user_id, payload FROM event ORDER BY seq")
        #expect(try kept.step())
        #expect(kept.integer(0) == Int64(EventOutcome.parked.rawValue) && kept.isNull(1))
        #expect(kept.optionalBlob(2) == parked.redactedPayload())
        #expect(try kept.step())
        #expect(kept.integer(0) == Int64(EventOutcome.applied.rawValue) && kept.text(1) == "u2" && kept.isNull(2))
        #expect(try kept.step())
        #expect(kept.integer(0) == Int64(outcomes[3].rawValue) && kept.text(1) == "u2")
        #expect(try !kept.step())
        // Each purchase stands once, with its owner.
        #expect(try ledger.database.integer("SELECT count(*) FROM purchase") == 2)
        #expect(try ledger.database.integer("SELECT count(*) FROM purchase WHERE owner = 'u2'") == 1)
    }

    @Test("what several places of an event say of one purchase is one record")
    func together() throws {
        let reference = Say.named("stripe", "sub_1")
        let customer = CustomerID(provider: ProviderID("stripe"), value: "cus_1")
        let (early, late) = (Fact.superseded(at: day(1)), Fact.superseded(at: day(2)))
        let event = Say.event(
            "stripe",
            "e1",
            at: 0,
            [
                .facts(reference, [early]), .link(customer, person("u1")),
                .facts(Say.named("stripe", "sub_2"), [early]), .facts(reference, [early, late]),
                .link(customer, person("u1")), .link(customer, person("u2")),
            ]
        )
        #expect(
            event.event.effectsTogether == [
                .facts(reference, [early, late]), .link(customer, person("u1")),
                .facts(Say.named("stripe", "sub_2"), [early]), .link(customer, person("u2")),
            ]
        )
        // Thousands of parts about one purchase: what took a comparison of each with each would not come to an end here.
        let parts = (0..<20_000).map { Fact.superseded(at: UnixMillis(Int64($0 % 15_000))) }
        let large = Say.event("stripe", "e2", at: 0, parts.map { .facts(reference, [$0]) })
        #expect(large.event.effects == [.facts(reference, Array(parts.prefix(15_000)))])
        let ledger = try Ledger()
        try ledger.take([event])
        #expect(try ledger.database.integer("SELECT count(*) FROM fact") == 2)
        let keys = try ledger.transaction.purchases(carrying: "sub_1")
        #expect(try keys.map { try ledger.transaction.facts(of: $0).map(\.fact) } == [[early, late]])
    }
}
