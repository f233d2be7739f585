internal import Entitlements
internal import Testing

@testable internal import SQLStorage
@testable internal import SQLiteStorage
@testable internal import Storage

/// Rule 3: any permutation of the same events gives the same row.
struct OrderTests {
    typealias Say = Happening

    // EVIDENCE MERGE-3
    @Test(
        "two providers active, the later one wins the row, the later one is refunded, and the person is still Pro through the first"
    )
    func laterOneRefunded() throws {
        let ledger = try Ledger()
        try ledger.take([Say.state("creem", "c1", of: "sub_c", at: 0, period: 0, end: 30, user: "u1")])
        #expect(try ledger.row("u1").entitlements.first?.purchaseID == "sub_c")
        try ledger.take([Say.state("stripe", "s1", of: "sub_s", at: 1, period: 0, end: 365, user: "u1")])
        #expect(try ledger.row("u1").entitlements.first?.purchaseID == "sub_s")
        #expect(try ledger.row("u1").entitlements.first?.end == day(365))
        let outcome = try ledger.take([Say.adjusted("stripe", "s2", of: "sub_s", at: 10, rank: .subscription)])
        #expect(outcome == [.applied])
        let winner = try #require(try ledger.row("u1").entitlements.first)
        #expect(winner.provider == ProviderID("creem"))
        #expect(winner.purchaseID == "sub_c")
        #expect(winner.end == day(30))
        #expect(winner.status(at: day(11)) == .active)
        #expect(winner.isEntitled(at: day(29.9)))
        #expect(!winner.isEntitled(at: day(30)))
    }

    static let scenarios: [(name: String, events: [IncomingEvent])] = [
        (
            "two providers, one refunded",
            [
                Say.state("creem", "c1", of: "sub_c", at: 0, period: 0, end: 30, user: "u1"),
                Say.state("stripe", "s1", of: "sub_s", at: 1, period: 0, end: 365, user: "u1"),
                Say.adjusted("stripe", "s2", of: "sub_s", at: 10, rank: .subscription),
            ]
        ),
        (
            "a renewal, a late end of the old period, a cancellation",
            [
                Say.cat("e1", of: "t1", at: 0, period: 0, end: 30, users: ["u1"]),
                Say.cat("e2", of: "t1", at: 29, period: 30, end: 60, users: ["u1"], latest: "t2"),
                Say.cat(
                    "e3",
                    of: "t1",
                    at: 30.5,
                    period: 0,
                    end: 30,
                    users: ["u1"],
                    .ended(at: day(30.5)),
                    renews: false
                ),
                Say.cat("e4", of: "t1", at: 40, period: 30, end: 60, users: ["u1"], renews: false, latest: "t2"),
            ]
        ),
        (
            "a failure, a second attempt, a payment, the next failure",
            [
                Say.state("stripe", "e1", of: "sub", at: 0, period: 0, end: 30, user: "u1"),
                Say.state("stripe", "e2", of: "sub", at: 30, period: 30, end: 60, .failing(periodIsUnpaid: true)),
                Say.state("stripe", "e3", of: "sub", at: 33, period: 30, end: 60, .failing(periodIsUnpaid: true)),
                Say.paid("stripe", "e4", of: "sub", at: 35, ids: ["in_2"], from: 30, to: 60),
                Say.state("stripe", "e5", of: "sub", at: 60, period: 60, end: 90, .failing(periodIsUnpaid: true)),
            ]
        ),
        (
            "a checkout, its subscription, its invoice, the refund of its payment",
            [
                Say.event(
                    "stripe",
                    "e1",
                    at: 0,
                    [.facts(Say.named("stripe", "sub", also: ["cs"]), [Say.owner("u1", at: 0, source: .checkout)])]
                ),
                Say.state("stripe", "e2", of: "sub", at: 0, period: 0, end: 30),
                Say.paid("stripe", "e3", of: "sub", at: 0, ids: ["in"], from: 0, to: 30),
                Say.event(
                    "stripe",
                    "e4",
                    at: 0,
                    [
                        .facts(
                            Say.named("stripe", "in", .reference, also: ["pi"]),
                            [.payment(Payment(ids: ["in", "pi"]))]
                        )
                    ]
                ),
                Say.adjusted("stripe", "e5", of: "pi", at: 9, also: ["ch"], payments: ["pi", "ch"]),
            ]
        ),
        (
            "an order that starts a subscription",
            [
                Say.bought("creem", "e1", of: "ord", at: 0, user: "u1", also: ["tran"]),
                Say.state("creem", "e2", of: "sub", at: 0, period: 0, end: 30, also: ["ord"]),
                Say.adjusted("creem", "e3", of: "tran", at: 4, kind: .dispute),
            ]
        ),
        (
            "a transfer around a purchase, a renewal and an end",
            [
                Say.cat("e1", of: "t1", at: 0, period: 0, end: 30, users: ["u1"]),
                Say.transfer("e2", at: 5, from: ["u1"], to: ["u2"]),
                Say.cat("e3", of: "t2", at: 6, period: 6, end: 36, users: ["u1"]),
                Say.transfer("e4", at: 8, from: ["u2"], to: ["u3"]),
                Say.cat("e5", of: "t1", at: 10, period: 0, end: 12, users: ["u3"], .ended(at: day(10))),
            ]
        ),
        (
            "an anonymous purchase, an alias, a transfer away",
            [
                Say.cat("e1", of: "t1", at: 0, period: 0, end: 30, users: [], anonymous: ["a"]),
                Say.cat("e2", of: "t2", at: 2, period: 2, end: 32, users: ["u1"], anonymous: ["a"]),
                Say.transfer("e3", at: 5, from: ["u1"], to: ["u2"], fromAnonymous: ["a"]),
            ]
        ),
        (
            "claims against facts, links and a later claim",
            [
                Say.state("stripe", "e1", of: "sub", at: 0, period: 0, end: 30, user: "u1", customer: "cus"),
                Say.claim("e2", at: 3, "stripe", "sub", by: "u2"), Say.claim("e3", at: 4, "stripe", "sub", by: "u3"),
                Say.state("stripe", "e4", of: "sub2", at: 1, period: 1, end: 40, customer: "cus"),
                Say.claim("e5", at: 5, "stripe", "cus", by: "u4"),
            ]
        ),
        (
            "people merged before and after their rows",
            [
                Say.state("stripe", "e1", of: "s1", at: 0, period: 0, end: 30, user: "u1"),
                Say.state("creem", "e2", of: "s2", at: 0, period: 0, end: 40, user: "u2"),
                Say.event("revenuecat", "e3", at: 3, [.samePerson([person("u1"), person("u2")])]),
                Say.event("revenuecat", "e4", at: 4, [.samePerson([person("u2"), person("u3")])]),
                Say.adjusted("creem", "e5", of: "s2", at: 6, rank: .subscription),
            ]
        ),
        (
            "partial refunds, a running total and a refund that failed",
            [
                Say.state("stripe", "e1", of: "sub", at: 0, period: 0, end: 30, user: "u1"),
                Say.paid("stripe", "e2", of: "sub", at: 0, ids: ["pi"], from: 0, to: 30),
                Say.adjusted(
                    "stripe",
                    "e3",
                    of: "pi",
                    at: 8,
                    .effective,
                    .soFar(1000),
                    adjustment: "ch",
                    payments: ["pi"]
                ),
                Say.adjusted(
                    "stripe",
                    "e4",
                    of: "pi",
                    at: 8,
                    .effective,
                    .part(1000),
                    adjustment: "re",
                    payments: ["pi"]
                ),
                Say.adjusted(
                    "stripe",
                    "e5",
                    of: "pi",
                    at: 9,
                    .withdrawn,
                    .part(1000),
                    adjustment: "re",
                    payments: ["pi"]
                ),
            ]
        ),
        (
            "a store purchase seen by two",
            [
                Say.cat("e1", of: "t1", at: 0, period: 0, end: 30, users: ["u1"]),
                Say.event(
                    "app_store",
                    "e2",
                    at: 1,
                    [
                        .facts(
                            Say.named("app_store", "t1"),
                            [
                                .state(
                                    PurchaseState(
                                        periodStart: day(0),
                                        version: day(1),
                                        condition: .active,
                                        items: [.init(products: ["monthly"], end: day(33))],
                                        willRenew: true
                                    )
                                )
                            ]
                        )
                    ]
                ),
                Say.cat("e3", of: "t1", at: 9, period: 0, end: 9, users: ["u1"], .ended(at: day(9))),
                Say.transfer("e4", at: 10, from: ["u1"], to: ["u2"]),
            ]
        ),
        (
            "events from the future",
            [
                Say.event(
                    "stripe",
                    "e1",
                    at: 9000,
                    [
                        .facts(
                            Say.named("stripe", "sub"),
                            [
                                .state(
                                    PurchaseState(
                                        periodStart: day(0),
                                        version: day(9000),
                                        condition: .active,
                                        items: [.init(products: ["price"], end: day(20))]
                                    )
                                ), Say.owner("u1", at: 9000),
                            ]
                        )
                    ],
                    receivedAt: 2
                ),
                Say.state("stripe", "e2", of: "sub", at: 5, period: 0, end: 30, user: "u2"),
                Say.state("stripe", "e3", of: "sub", at: 1, period: 0, end: 25, user: "u3"),
            ]
        ),
        (
            "unlucky references: an invoice known before and after its subscription",
            [
                Say.adjusted("stripe", "e1", of: "ch", at: 9, also: ["pi"], payments: ["ch", "pi"]),
                Say.event(
                    "stripe",
                    "e2",
                    at: 0,
                    [
                        .facts(
                            Say.named("stripe", "in", .reference, also: ["pi"]),
                            [.payment(Payment(ids: ["in", "pi"]))]
                        )
                    ]
                ),
                Say.paid("stripe", "e3", of: "sub", at: 0, ids: ["in"], from: 0, to: 30),
                Say.state("stripe", "e4", of: "sub", at: 0, period: 0, end: 30, user: "u1"),
            ]
        ),
        (
            "grants beside a subscription",
            [
                ManualProvider.event(
                    granting: GrantRequest(
                        user: person("u1"),
                        grantID: "g",
                        until: day(90),
                        reason: "r",
                        entitlement: "pro",
                        by: Actor(keyID: "k", at: day(1))
                    ),
                    eventID: "g1"
                ),
                ManualProvider.event(ending: "g", of: person("u1"), eventID: "g2", at: day(3)),
                Say.state("stripe", "e1", of: "sub", at: 0, period: 0, end: 30, user: "u1"),
                ManualProvider.event(
                    granting: GrantRequest(
                        user: person("u1"),
                        grantID: "life",
                        until: nil,
                        reason: "r",
                        entitlement: "extra",
                        by: Actor(keyID: "k", at: day(1))
                    ),
                    eventID: "g3"
                ),
            ]
        ),
    ]

    // EVIDENCE MERGE-3
    @Test("every order of a scenario's events gives one result", arguments: scenarios.indices)
    func everyOrder(_ index: Int) throws {
        try expectOneResult(Self.scenarios[index].events, Self.scenarios[index].name)
    }

    // EVIDENCE MERGE-9
    @Test("every order, with a sandbox buyer who is let into production")
    func sandboxUser() throws {
        var policy = Ledger.plainPolicy
        policy.sandboxUsers = ["u1"]
        let events = [
            Say.cat("e1", of: "t1", at: 0, period: 0, end: 30, users: ["u1"], environment: .sandbox),
            Say.cat("e2", of: "t2", at: 1, period: 1, end: 20, users: ["u2"]),
            Say.transfer("e3", at: 3, from: ["u1"], to: ["u2"]),
            Say.cat("e4", of: "t3", at: 4, period: 4, end: 50, users: ["u1"], environment: .sandbox),
            Say.event("revenuecat", "e5", at: 9, [.samePerson([person("u2"), person("u4")])]),
        ]
        try expectOneResult(events, policy: policy, "sandbox users")
        let ledger = try Ledger(policy: policy)
        try ledger.take([events[0], events[1]])
        #expect(try ledger.row("u1").entitlements.first?.end == day(30))
        #expect(try ledger.row("u2", in: .sandbox).entitlements.isEmpty)
        try ledger.take([events[2]])
        // The sandbox purchase is u2's now, and u2 is nobody's reviewer.
        #expect(try ledger.row("u1").entitlements.isEmpty)
        #expect(try ledger.row("u2").entitlements.first?.end == day(20))
        #expect(try ledger.row("u2", in: .sandbox).entitlements.first?.end == day(30))
    }

    // EVIDENCE MERGE-7
    @Test("an event that refers to two chains does not make one of them")
    func twoChainsStayTwo() throws {
        let events = [
            Say.state("stripe", "e1", of: "sub_a", at: 0, period: 0, end: 30, user: "u1", also: ["in_a"]),
            Say.state("stripe", "e2", of: "sub_b", at: 0, period: 0, end: 60, user: "u2", also: ["in_b"]),
            Say.event(
                "stripe",
                "e3",
                at: 1,
                [
                    .facts(
                        Say.named("stripe", "in_a", .reference, also: ["in_b"]),
                        [.payment(Payment(ids: ["in_a", "in_b"]))]
                    )
                ]
            ),
        ]
        let ledger = try Ledger()
        try ledger.take(events)
        let first = try ledger.row("u1")
        #expect(first.entitlements.first?.end == day(30))
        let second = try ledger.row("u2")
        #expect(second.entitlements.first?.end == day(60))
        try expectOneResult(events, "two chains and a common reference")
    }

    // EVIDENCE MERGE-7
    @Test("two chains that share a reference: what only names the reference goes the same way in every order")
    func sharedReference() throws {
        let events = [
            Say.state("stripe", "e1", of: "sub_a", at: 0, period: 0, end: 30, user: "u1", also: ["tx"]),
            Say.state("stripe", "e2", of: "sub_b", at: 0, period: 0, end: 60, user: "u2", also: ["tx"]),
            Say.adjusted("stripe", "e3", of: "tx", at: 5, payments: ["tx"]),
        ]
        try expectOneResult(events, "a shared reference")
        let ledger = try Ledger()
        try ledger.take(events)
        // Of two chains that are meant alike, the one with the smaller name is.
        let first = try ledger.row("u1")
        #expect(first.entitlements.first?.end == day(5))
        let second = try ledger.row("u2")
        #expect(second.entitlements.first?.end == day(60))
    }

    // EVIDENCE MERGE-7
    @Test("an id that turns out to be a name takes with it what only referred to it")
    func referenceBecomesName() throws {
        let events = [
            Say.state("stripe", "e1", of: "sub_a", at: 0, period: 0, end: 30, user: "u1", also: ["sub_b"]),
            Say.adjusted("stripe", "e2", of: "sub_b", at: 5),
            Say.state("stripe", "e3", of: "sub_b", at: 0, period: 0, end: 60, user: "u2"),
        ]
        try expectOneResult(events, "a reference that becomes a name")
        let ledger = try Ledger()
        try ledger.take(events)
        let first = try ledger.row("u1")
        #expect(first.entitlements.first?.end == day(30))
        let second = try ledger.row("u2")
        #expect(second.entitlements.first?.end == day(5))
    }

    // EVIDENCE MERGE-3
    @Test("ids that differ only in how their letters are composed are two people")
    func composedLetters() throws {
        let ledger = try Ledger()
        try ledger.take([
            Say.state("stripe", "e1", of: "sub", at: 0, period: 0, end: 30, user: "caf\u{E9}"),
            Say.state("stripe", "e2", of: "sub", at: 1, period: 0, end: 30, user: "cafe\u{301}"),
        ])
        let first = try ledger.row("cafe\u{301}")
        #expect(first.entitlements.first?.end == day(30))
        let second = try ledger.row("caf\u{E9}")
        #expect(second.entitlements.isEmpty)
    }

    // EVIDENCE MERGE-1
    @Test("events from the future keep their order across the bound of what is believed")
    func futureAcrossTheBound() throws {
        // One is less than a day ahead and keeps its time, the other is weeks ahead and counts as its arrival.
        let events = [
            Say.event(
                "stripe",
                "e1",
                at: 0.9,
                [
                    .facts(
                        Say.named("stripe", "sub"),
                        [
                            .state(
                                PurchaseState(
                                    periodStart: day(0),
                                    version: day(0.9),
                                    condition: .active,
                                    items: [.init(products: ["price"], end: day(20))],
                                    willRenew: true
                                )
                            ), Say.owner("u1", at: 0),
                        ]
                    )
                ],
                receivedAt: 0
            ),
            Say.event(
                "stripe",
                "e2",
                at: 14,
                [
                    .facts(
                        Say.named("stripe", "sub"),
                        [
                            .state(
                                PurchaseState(
                                    periodStart: day(0),
                                    version: day(14),
                                    condition: .active,
                                    items: [.init(products: ["price"], end: day(20))],
                                    willRenew: false
                                )
                            )
                        ]
                    )
                ],
                receivedAt: 0
            ),
        ]
        try expectOneResult(events, "two from the future")
        let ledger = try Ledger()
        try ledger.take(events)
        let entry = try #require(try ledger.row("u1").entitlements.first)
        #expect(!entry.willRenew)
        // What is true when it arrives still ends what lay too far ahead.
        try ledger.take([Say.state("stripe", "e3", of: "sub", at: 2, period: 0, end: 25, user: "u1")])
        let later = try #require(try ledger.row("u1").entitlements.first)
        #expect(later.willRenew)
        #expect(later.end == day(25))
    }

    // EVIDENCE MERGE-1
    @Test("a refund from the future ends at its arrival")
    func refundFromTheFuture() throws {
        let ledger = try Ledger()
        try ledger.take([
            Say.bought("stripe", "e1", of: "pi", at: 0, user: "u1"),
            Say.adjusted("stripe", "e2", of: "pi", at: 90_000, rank: .oneTime, receivedAt: 5),
        ])
        let entry = try ledger.row("u1").entitlements.first
        #expect(entry?.end == day(5))
    }

    // EVIDENCE MERGE-6
    @Test("a link that is told again does not undo a transfer")
    func linkToldAgain() throws {
        let ledger = try Ledger()
        try ledger.take([
            Say.cat("e1", of: "t1", at: 0, period: 0, end: 90, users: [], anonymous: ["a"]),
            Say.cat("e2", of: "t2", at: 2, period: 2, end: 10, users: ["u1"], anonymous: ["a"]),
            Say.transfer("e3", at: 5, from: ["u1"], to: ["u2"], fromAnonymous: ["a"]),
        ])
        #expect(try ledger.row("u2").entitlements.first?.end == day(90))
        // u1 buys something else: nothing that was u2's may come back.
        try ledger.take([Say.cat("e4", of: "t9", at: 8, period: 8, end: 20, users: ["u1"], anonymous: ["a"])])
        let first = try ledger.row("u2")
        #expect(first.entitlements.first?.end == day(90))
        let second = try ledger.row("u1")
        #expect(second.entitlements.first?.end == day(20))
    }

    // EVIDENCE MERGE-10
    @Test("a product that was unmapped counts when the map names it, and the other way round")
    func changedMap() throws {
        var policy = Ledger.plainPolicy
        policy.products = [ProviderID("stripe"): ["other": .init(entitlements: ["pro"])]]
        let ledger = try Ledger(policy: policy)
        let outcome = try ledger.take([
            Say.state("stripe", "e1", of: "sub", at: 0, period: 0, end: 30, user: "u1"),
            Say.state("stripe", "e2", of: "sub2", at: 0, period: 0, end: 90, user: "u2", product: "other"),
        ])
        #expect(outcome == [.unmapped, .applied])
        #expect(try ledger.row("u1").entitlements.isEmpty)
        policy.products = [ProviderID("stripe"): ["price": .init(entitlements: ["pro", "extra"])]]
        let report = try Rebuild(database: ledger.database, transaction: ledger.transaction, policy: policy).run(
            now: day(1)
        )
        #expect(report.changed == 2)
        #expect(try ledger.row("u1").entitlements.map(\.name) == ["extra", "pro"])
        #expect(try ledger.row("u2").entitlements.isEmpty)
    }

    @Test("outcomes of events")
    func outcomes() throws {
        let ledger = try Ledger()
        let renewal = Say.state("stripe", "e2", of: "sub", at: 30, period: 30, end: 60, user: "u1")
        #expect(try ledger.take([Say.state("stripe", "e1", of: "sub", at: 0, period: 0, end: 30)]) == [.parked])
        #expect(try ledger.take([renewal]) == [.applied])
        #expect(try ledger.take([renewal]) == [.duplicate])
        #expect(
            try ledger.take([Say.state("stripe", "e3", of: "sub", at: 31, period: 30, end: 60, user: "u1")]) == [
                .unchanged
            ]
        )
        #expect(
            try ledger.take([Say.state("stripe", "e4", of: "sub", at: 3, period: 0, end: 30, user: "u1")]) == [.stale]
        )
        #expect(try ledger.take([Say.event("stripe", "e5", at: 3, [])]).count == 1)
    }
}
