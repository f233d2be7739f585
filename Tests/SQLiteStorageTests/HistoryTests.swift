internal import Entitlements
internal import TestSupport
internal import Testing

@testable internal import SQLStorage
@testable internal import SQLiteStorage
@testable internal import Storage

/// Random histories of several people: whatever the order in which their events come, the rows are the same.
struct HistoryTests {
    /// Fixed seeds keep a failure that was once found; the last one is new in each run.
    static let seeds: [UInt64] = Array(1...16) + [UInt64.random(in: .min ... .max)]

    // EVIDENCE MERGE-3
    @Test(
        "any order of any history gives the same rows, and telling any part of it again changes nothing",
        arguments: seeds
    )
    func anyOrder(_ seed: UInt64) throws {
        var history = RandomHistory(seed: seed)
        for round in 0..<3 {
            let events = history.events()
            let name = Comment(rawValue: "seed \(seed), round \(round): \(events.map(\.event.eventID))")
            let straight = try Ledger(policy: history.policy)
            try straight.take(events)
            let expected = try straight.picture()
            let report = try straight.differences()
            #expect(report == [], name)
            for _ in 0..<4 {
                let ledger = try Ledger(policy: history.policy)
                let order = events.shuffled(using: &history.generator)
                let half = order.count / 2
                try ledger.take(Array(order.prefix(half)))
                let before = try ledger.picture()
                try ledger.take(Array(order.prefix(half).shuffled(using: &history.generator).prefix(5)))
                let after = try ledger.picture()
                #expect(before == after, "a part told again; \(name)")
                try ledger.take(Array(order.suffix(from: half)))
                let found = try ledger.picture()
                #expect(found.rows == expected.rows, name)
                #expect(found.purchases == expected.purchases, name)
                let differences = try ledger.differences()
                #expect(differences == [], name)
                try ledger.take(order.shuffled(using: &history.generator))
                let again = try ledger.picture()
                #expect(again == found, "all told again; \(name)")
            }
        }
    }

    // EVIDENCE MERGE-10
    @Test("a changed map, grace or sandbox list gives the rows a new start would give", arguments: seeds.prefix(6))
    func changedPolicy(_ seed: UInt64) throws {
        var history = RandomHistory(seed: seed)
        let events = history.events()
        let old = try Ledger(policy: Ledger.plainPolicy)
        try old.take(events)
        _ = try Rebuild(database: old.database, transaction: old.transaction, policy: history.policy).run(now: day(99))
        let new = try Ledger(policy: history.policy)
        try new.take(events)
        let (left, right) = (try old.picture(), try new.picture())
        #expect(left == right, "seed \(seed)")
    }
}

/// Histories of all kinds of facts, in a small space of people, purchases and days.
struct RandomHistory {
    var generator: SplitMix64
    let policy: EntitlementPolicy

    init(seed: UInt64) {
        generator = SplitMix64(seed: seed)
        var policy = Ledger.plainPolicy
        policy.pastDueDays = Int.random(in: 0...20, using: &generator)
        if Bool.random(using: &generator) { policy.sandboxUsers = ["u1"] }
        if Bool.random(using: &generator) {
            policy.products[ProviderID("stripe")] = [
                "price": .init(entitlements: ["pro", "extra"], days: 40), "other": .init(entitlements: ["th"]),
            ]
        }
        self.policy = policy
    }

    private mutating func pick(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
    private mutating func moment() -> Double { Double(pick(30)) * 4 }
    private mutating func user() -> String { "u\(pick(4))" }

    mutating func events() -> [IncomingEvent] {
        (0..<Int.random(in: 6...16, using: &generator)).map { event("e\($0)") }
    }

    private mutating func event(_ id: String) -> IncomingEvent {
        let at = moment()
        let purchase = "sub_\(pick(3))"
        switch pick(18) {
        case 0..<4: return subscription(id, of: purchase, at: at)
        case 4..<7: return cat(id, at: at)
        case 7:
            // An order that may turn out to have started a subscription.
            let isStart = Bool.random(using: &generator)
            return Happening.event(
                "stripe",
                id,
                at: at,
                [
                    .facts(
                        Happening.named(
                            "stripe",
                            isStart ? purchase : "ord_\(pick(2))",
                            isStart ? .subscription : .oneTime,
                            also: isStart ? ["cs_" + purchase] : []
                        ),
                        isStart
                            ? [Happening.owner(user(), at: at, source: .checkout)]
                            : [
                                .state(
                                    PurchaseState(
                                        version: day(at),
                                        condition: .active,
                                        items: [.init(products: ["price"], end: nil)],
                                        willRenew: false,
                                        isOneTime: true,
                                        purchasedAt: day(at)
                                    )
                                ),
                                Happening.owner(user(), at: at),
                            ]
                    )
                ]
            )
        case 8:
            let start = Double(pick(4)) * 30
            return Happening.paid(
                "stripe",
                id,
                of: purchase,
                at: at,
                ids: ["in_\(purchase)_\(Int(start))"],
                from: start,
                to: start + 30
            )
        case 9, 10:
            let invoice = "in_\(purchase)_\(pick(4) * 30)"
            let sizes: [Adjustment.Size] = [.full, .part(500), .part(1000), .soFar(1000)]
            let standings: [Adjustment.Standing] = [.pending, .effective, .effective, .withdrawn]
            return Happening.adjusted(
                "stripe",
                id,
                of: invoice,
                at: at,
                kind: Bool.random(using: &generator) ? .refund : .dispute,
                standings[pick(4)],
                sizes[pick(4)],
                adjustment: "adj_\(purchase)_\(pick(2))",
                payments: [invoice]
            )
        case 11, 12:
            let toNobody = pick(4) == 0
            return Happening.transfer(
                id,
                at: at,
                from: [user()],
                to: toNobody ? [] : [user()],
                fromAnonymous: Bool.random(using: &generator) ? ["a\(pick(2))"] : [],
                toAnonymous: toNobody ? ["a\(pick(2))"] : [],
                environment: pick(3) == 0 ? .production : nil
            )
        case 13:
            return pick(3) == 0
                ? Happening.event("revenuecat", id, at: at, [.samePerson([person(user()), person(user())])])
                : Happening.event("revenuecat", id, at: at, [.link(Happening.anonymous("a\(pick(2))"), person(user()))])
        case 16:
            // References that several chains have, or that are names elsewhere.
            let shared = ["tx_0", "tx_1", "sub_0", "sub_1", "ord_0", "in_sub_1_0"]
            return Happening.state(
                "stripe",
                id,
                of: purchase,
                at: at,
                period: 0,
                end: at + 30,
                user: user(),
                also: [shared[pick(6)]]
            )
        case 17:
            let shared = ["tx_0", "tx_1", "sub_1", "in_sub_0_0", "in_sub_2_30"]
            let (one, other) = (shared[pick(5)], shared[pick(5)])
            return Happening.adjusted("stripe", id, of: one, at: at, also: [other], payments: [one, other])
        case 14:
            return Happening.claim(id, at: at, "stripe", ["sub_0", "cus_1", "cus_2", "ord_1"][pick(4)], by: user())
        default:
            // The order and the subscription are one after all.
            return Happening.event(
                "stripe",
                id,
                at: at,
                [.facts(Happening.named("stripe", "sub_0", also: ["ord_0", "cus"]), [])]
            )
        }
    }

    private mutating func condition(_ at: Double) -> PurchaseState.Condition {
        let failure = PurchaseState.Failure(
            grace: Bool.random(using: &generator) ? .configured : .store(until: day(at + 9)),
            periodIsUnpaid: Bool.random(using: &generator)
        )
        return [
            .active, .active, .active, .trialing, .collectionPaused, .failing(failure), .failing(failure),
            .unpaid(failure),
            .paused(at: day(at)), .ended(at: day(at)), .incomplete,
        ][pick(11)]
    }

    private mutating func subscription(_ id: String, of purchase: String, at: Double) -> IncomingEvent {
        let start = Double(pick(4)) * 30
        let event = Happening.state(
            "stripe",
            id,
            of: purchase,
            at: at,
            period: pick(5) == 0 ? nil : start,
            end: start + 30,
            condition(at),
            user: pick(2) == 0 ? user() : nil,
            customer: pick(2) == 0 ? "cus_\(pick(3))" : nil,
            renews: [nil, true, false][pick(3)],
            product: pick(3) == 0 ? "other" : "price"
        )
        guard pick(6) == 0 else { return event }
        // From the future: told long before its own time.
        var early = event
        early.receivedAt = day(Double(pick(10)) - 30)
        return early
    }

    private mutating func cat(_ id: String, at: Double) -> IncomingEvent {
        let start = Double(pick(4)) * 30
        let users = pick(5) == 0 ? [] : pick(4) == 0 ? [user(), user()] : [user()]
        return Happening.cat(
            id,
            of: "t\(pick(2))",
            at: at,
            period: start,
            end: start + 30,
            users: users,
            anonymous: users.isEmpty || Bool.random(using: &generator) ? ["a\(pick(2))"] : [],
            condition(at),
            renews: [nil, true, false][pick(3)],
            environment: pick(4) == 0 ? .sandbox : .production
        )
    }
}
