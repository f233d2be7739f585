internal import Entitlements
internal import TestSupport
internal import Testing

@testable internal import SQLStorage
@testable internal import SQLiteStorage
@testable internal import Storage

extension Ledger {
    /// Takes recorded events in again, each as it is read now.
    @discardableResult
    func replay(_ events: [IncomingEvent], at moment: UnixMillis = day(400)) throws -> [EventOutcome] {
        try database.execute("BEGIN IMMEDIATE")
        var outcomes: [EventOutcome] = []
        for event in events {
            let query = try database.prepare("SELECT seq, outcome FROM event WHERE provider = ? AND event_id = ?")
            query.bind(1, event.provider.name)
            query.bind(2, event.event.eventID)
            let isKnown = try query.step()
            try #require(isKnown, "\(event.event.eventID) was never taken in")
            let (sequence, outcome) = (query.integer(0), EventOutcome(rawValue: UInt8(query.integer(1))))
            query.reset()
            var ingestion = Ingestion(policy: policy, transaction: transaction)
            outcomes.append(try ingestion.replay(sequence, event, before: outcome ?? .observed, at: moment))
        }
        try transaction.saveCounters()
        try database.execute("COMMIT")
        return outcomes
    }

    /// What is recorded of an event: outcome, type, occurrence, whether its payload is kept, and its reason.
    func recorded(_ id: String) throws -> String {
        let query = try database.prepare(
            "SELECT outcome, type, occurred_at, payload IS NOT NULL, reason FROM event WHERE event_id = ?"
        )
        query.bind(1, id)
        defer { query.reset() }
        let isKnown = try query.step()
        try #require(isKnown)
        let outcome = EventOutcome(rawValue: UInt8(query.integer(0)))?.name ?? "?"
        let time = query.optionalInteger(2).map { "\($0)" } ?? "-"
        return "\(outcome) \(query.text(1)) \(time) \(query.integer(3)) \(query.optionalText(4) ?? "-")"
    }
}

extension IncomingEvent {
    /// The same delivery as a program that cannot read it takes it in.
    var notUnderstood: IncomingEvent { reading([], .quarantined("a field is missing"), type: "") }

    var withoutMeaning: IncomingEvent { reading([], .observed("no rule for this type"), type: event.type) }

    func reading(_ effects: [Effect], _ verdict: NormalizedEvent.Verdict? = nil, type: String) -> IncomingEvent {
        var other = self
        other.event.effects = effects
        other.event.verdict = verdict
        other.event.type = type
        if verdict != nil { other.event.occurredAt = nil }
        return other
    }
}

/// A recorded event is read again: it counts as if it had been understood when it came.
struct ReplayTests {
    // EVIDENCE REPLAY-1
    @Test(
        "whatever was not understood at first, after its replay the rows are those of a program that understood all",
        arguments: HistoryTests.seeds
    )
    func anyHistory(_ seed: UInt64) throws {
        var history = RandomHistory(seed: seed)
        for round in 0..<3 {
            let events = history.events()
            let name = Comment(rawValue: "seed \(seed), round \(round): \(events.map(\.event.eventID))")
            let straight = try Ledger(policy: history.policy)
            try straight.take(events)
            let expected = try straight.picture()

            let ledger = try Ledger(policy: history.policy)
            let order = events.shuffled(using: &history.generator)
            let unread = Set(order.indices.filter { _ in Int.random(in: 0..<3, using: &history.generator) == 0 })
            for (index, event) in order.enumerated() {
                let outcome = try ledger.take([unread.contains(index) ? event.notUnderstood : event])
                if unread.contains(index) { #expect(outcome == [.quarantined]) }
            }
            let again = unread.map { order[$0] }.shuffled(using: &history.generator)
            let outcomes = try ledger.replay(again)
            #expect(!outcomes.contains(.quarantined) && !outcomes.contains(.duplicate), name)
            let found = try ledger.picture()
            #expect(found.rows == expected.rows, name)
            #expect(found.purchases == expected.purchases, name)
            #expect(try ledger.differences() == [], name)
            // All of them once more, those that were understood at once among them: nothing moves.
            try ledger.replay(order.shuffled(using: &history.generator))
            #expect(try ledger.picture() == found, "replayed twice; \(name)")
            #expect(try ledger.differences() == [], name)
            try ledger.take(order)
            #expect(try ledger.picture() == found, "told again after the replay; \(name)")
        }
    }

    @Test("an event that counts at last is recorded as what it is, without its body")
    func recordedAnew() throws {
        let ledger = try Ledger()
        let event = Happening.state("creem", "e1", of: "sub_1", at: 0, period: 0, end: 30, user: "u1")
        #expect(try ledger.take([event.notUnderstood]) == [.quarantined])
        #expect(try ledger.recorded("e1") == "quarantined  - 1 a field is missing")
        #expect(try ledger.row("u1").entitlements.isEmpty)
        #expect(try ledger.replay([event]) == [.applied])
        #expect(try ledger.recorded("e1") == "applied test \(day(0).value) 0 -")
        #expect(try ledger.row("u1").entitlements.first?.end == day(30))
    }

    @Test("the row changes when it is replayed; the event keeps its own time")
    func times() throws {
        let ledger = try Ledger()
        let old = Happening.state("creem", "e1", of: "sub_1", at: 0, period: 0, end: 30, user: "u1")
        let new = Happening.state("creem", "e2", of: "sub_1", at: 30, period: 30, end: 60, user: "u1")
        try ledger.take([old.notUnderstood, new])
        let before = try ledger.version("u1")
        // The end of the newer period stands, and nobody is told of a change.
        #expect(try ledger.replay([old]) == [.stale])
        #expect(try ledger.row("u1").entitlements.first?.end == day(60))
        #expect(try ledger.version("u1") == before)

        let other = try Ledger()
        try other.take([old, new.notUnderstood])
        #expect(try other.replay([new], at: day(77)) == [.applied])
        #expect(try other.transaction.row(of: person("u1"), in: .production)?.updatedAt == day(77))
        #expect(try other.picture() == (try ledger.picture()))
    }

    @Test("what an event is read as now replaces what it was read as, also when that is another purchase")
    func replaced() throws {
        let ledger = try Ledger()
        let wrong = Happening.state("creem", "e1", of: "sub_wrong", at: 0, period: 0, end: 90, user: "u1")
        let right = Happening.state("creem", "e1", of: "sub_1", at: 0, period: 0, end: 30, user: "u2")
        try ledger.take([wrong])
        #expect(try ledger.row("u1").entitlements.first?.end == day(90))
        try ledger.replay([right])
        #expect(try ledger.row("u1").entitlements.isEmpty)
        #expect(try ledger.row("u2").entitlements.first?.end == day(30))
        #expect(try ledger.differences() == [])
        // An event that means nothing any more gives nothing.
        #expect(try ledger.replay([right.withoutMeaning]) == [.observed])
        #expect(try ledger.row("u2").entitlements.isEmpty)
        #expect(try ledger.differences() == [])
    }

    @Test("an event that was understood and is not any more keeps what it gave")
    func understoodBefore() throws {
        let ledger = try Ledger()
        let event = Happening.state("creem", "e1", of: "sub_1", at: 0, period: 0, end: 30, user: "u1")
        try ledger.take([event])
        let before = (try ledger.picture(), try ledger.recorded("e1"))
        #expect(try ledger.replay([event.notUnderstood]) == [.applied])
        #expect(try ledger.picture() == before.0)
        #expect(try ledger.recorded("e1") == before.1)
    }

    @Test("a parked event that found its user is applied; one that did not stays parked with its body")
    func parked() throws {
        let ledger = try Ledger()
        let event = Happening.state("creem", "e1", of: "sub_1", at: 0, period: 0, end: 30, customer: "c1")
        #expect(try ledger.take([event]) == [.parked])
        #expect(try ledger.replay([event]) == [.parked])
        #expect(try ledger.recorded("e1").contains("parked test") && ledger.recorded("e1").hasSuffix("1 -"))
        let customer = CustomerID(provider: ProviderID("creem"), value: "c1")
        try ledger.take([Happening.event("creem", "e2", at: 1, [.link(customer, person("u1"))])])
        let row = try ledger.row("u1")
        #expect(row.entitlements.first?.end == day(30))
        #expect(try ledger.replay([event]) == [.applied])
        #expect(try ledger.row("u1") == row)
        #expect(try ledger.replay([event]) == [.unchanged])
    }

    @Test("an unmapped event is applied when its product has come into the map")
    func unmapped() throws {
        var policy = Ledger.plainPolicy
        policy.products[ProviderID("creem")] = ["other": .init(entitlements: ["pro"])]
        let event = Happening.state("creem", "e1", of: "sub_1", at: 0, period: 0, end: 30, user: "u1")
        let ledger = try Ledger(policy: policy)
        #expect(try ledger.take([event]) == [.unmapped])
        #expect(try ledger.replay([event]) == [.unmapped])
        #expect(try ledger.row("u1").entitlements.isEmpty)
        policy.products[ProviderID("creem")]?["price"] = .init(entitlements: ["pro"])
        try ledger.adopt(policy)
        #expect(try ledger.replay([event]) == [.applied])
        #expect(try ledger.recorded("e1") == "applied test \(day(0).value) 0 -")
        #expect(try ledger.row("u1").entitlements.first?.end == day(30))
        #expect(try ledger.differences() == [])
    }

    // EVIDENCE COUNTS-1
    @Test("the counts are what a look at every row would give", arguments: HistoryTests.seeds.prefix(8))
    func counts(_ seed: UInt64) throws {
        var history = RandomHistory(seed: seed)
        let ledger = try Ledger(policy: history.policy)
        let events = history.events()
        for event in events {
            let isUnread = Int.random(in: 0..<4, using: &history.generator) == 0
            try ledger.take([isUnread ? event.notUnderstood : event])
            if Int.random(in: 0..<6, using: &history.generator) == 0 { try ledger.erase(person("u1"), at: day(50)) }
            let moment = day(Double(Int.random(in: 0..<130, using: &history.generator)))
            let reader = try SQLiteReader(path: ledger.path, commits: CommitCounter())
            let counts = try reader.counts()
            let name = "seed \(seed) after \(event.event.eventID) at \(moment)"
            for environment in StoreEnvironment.allCases {
                let rows = try ledger.number(
                    "SELECT count(*) FROM subscription WHERE environment = \(environment.rawValue)"
                )
                #expect(counts.rows[environment] == rows, "\(name)")
            }
            #expect(
                try counts.quarantinedEvents == ledger.number("SELECT count(*) FROM event WHERE outcome = 7"),
                "\(name)"
            )
            #expect(
                try counts.unmappedEvents == ledger.number("SELECT count(*) FROM event WHERE outcome = 6"),
                "\(name)"
            )
            for (provider, moment) in counts.lastArrivals {
                let newest = try ledger.number("SELECT max(received_at) FROM event WHERE provider = '\(provider.name)'")
                #expect(moment.value == Int64(newest), "\(name)")
            }
            #expect(
                try counts.lastArrivals.count == ledger.number("SELECT count(DISTINCT provider) FROM event"),
                "\(name)"
            )
            var overlapping: Set<[UserID]> = []
            for user in (0..<4).map({ person("u\($0)") }) {
                let view = try reader.user(user, eventsMax: 1)
                if !history.policy.overlapping(view.candidates, at: moment).isEmpty {
                    overlapping.insert(view.ids.sorted())
                }
            }
            #expect(try reader.overlappingPeople(history.policy, at: moment).count == overlapping.count, "\(name)")
        }
    }

    @Test("a parked purchase is counted until it has an owner, and not when its owner was erased")
    func parkedPurchases() throws {
        let ledger = try Ledger()
        let customer = CustomerID(provider: ProviderID("creem"), value: "c1")
        func parked() throws -> Int {
            try SQLiteReader(path: ledger.path, commits: CommitCounter()).counts()
                .parkedPurchases
        }
        #expect(try parked() == 0)
        try ledger.take([Happening.state("creem", "e1", of: "sub_1", at: 0, period: 0, end: 30, customer: "c1")])
        #expect(try parked() == 1)
        try ledger.take([Happening.event("creem", "e2", at: 1, [.link(customer, person("u1"))])])
        #expect(try parked() == 0)
        try ledger.take([Happening.state("stripe", "e3", of: "sub_2", at: 0, period: 0, end: 30, user: "u2")])
        try ledger.erase(person("u2"), at: day(2))
        #expect(try ledger.number("SELECT count(*) FROM purchase WHERE owner IS NULL") == 1)
        #expect(try parked() == 0)
    }
}

extension Ledger {
    fileprivate func number(_ sql: String) throws -> Int {
        let query = try database.prepare(sql)
        defer { query.reset() }
        return try query.step() ? Int(query.integer(0)) : -1
    }
}
