internal import Testing

@testable internal import Entitlements

/// What a person who answers customers reads: which purchase decides, why, by which event, and what comes next.
struct ExplanationTests {
    private let policy = EntitlementPolicy(
        firstProviders: ["app_store", "google_play", "revenuecat"].map { ProviderID($0) },
        lastProviders: [ProviderID("manual")]
    )

    /// A purchase of what was told of it.
    private func history(
        _ id: String,
        _ provider: String = "stripe",
        _ environment: StoreEnvironment = .production,
        note: String? = nil,
        facts: (Teller) -> [RecordedFact]
    ) -> PurchaseHistory {
        let recorded = facts(Teller(provider: ProviderID(provider)))
        return PurchaseHistory(
            provider: ProviderID(provider),
            purchaseID: id,
            environment: environment,
            outcome: MergeRule.outcome(of: recorded, pastDueDays: policy.pastDueDays),
            facts: recorded.map { ToldFact(recorded: $0, eventType: "type of \($0.eventID)", at: day(1)) },
            note: note
        )
    }

    private func explain(
        _ purchases: [PurchaseHistory],
        at moment: Double,
        in environment: StoreEnvironment = .production,
        asked: String = "pro",
        policy: EntitlementPolicy? = nil
    ) -> [Explanation] {
        (policy ?? self.policy).explain(purchases, of: [user("u1")], in: environment, asked: asked, at: day(moment))
    }

    /// The only explanation there is.
    private func one(_ purchases: [PurchaseHistory], at moment: Double) throws -> Explanation {
        let found = explain(purchases, at: moment)
        try #require(found.count == 1)
        return found[0]
    }

    // MARK: - Each status in words

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var facts: @Sendable (Teller) -> [RecordedFact]
        var at: Double
        var status: Status
        var answer: String
        var standing: String
        /// The event that made it so.
        var event: String
        var next: String
        var nextDay: Double?
    }

    static let cases: [Case] = [
        Case(
            testDescription: "active, renews",
            facts: { [$0.state("e1", period: 0, at: 0, end: 30)] },
            at: 10,
            status: .active,
            answer: "pro: yes, until 2026-12-31 00:00:00 UTC (in 20 days).",
            standing: "runs until 2026-12-31 00:00:00 UTC and will renew",
            event: "e1",
            next: "At 2026-12-31 00:00:00 UTC (in 20 days) it renews; without word of the renewal access ends then.",
            nextDay: 30
        ),
        Case(
            testDescription: "cancelled, still runs",
            facts: {
                [
                    $0.state("e1", period: 0, at: 0, end: 30),
                    $0.state("e2", period: 0, at: 5, end: 30, renews: false),
                ]
            },
            at: 29.5,
            status: .active,
            answer: "pro: yes, until 2026-12-31 00:00:00 UTC (in 12 hours).",
            standing: "runs until 2026-12-31 00:00:00 UTC and will not renew",
            event: "e2",
            next: "At 2026-12-31 00:00:00 UTC (in 12 hours) access ends.",
            nextDay: 30
        ),
        Case(
            testDescription: "trial",
            facts: { [$0.state("e1", period: 0, at: 0, .trialing, end: 7)] },
            at: 6.999,
            status: .trialing,
            answer: "pro: yes, on a trial until 2026-12-08 00:00:00 UTC (in 86 seconds).",
            standing: "is a trial until 2026-12-08 00:00:00 UTC and will renew",
            event: "e1",
            next:
                "At 2026-12-08 00:00:00 UTC (in 86 seconds) the trial ends and the first payment is due; without word of it access ends then.",
            nextDay: 7
        ),
        Case(
            testDescription: "trial that was cancelled",
            facts: { [$0.state("e1", period: 0, at: 0, .trialing, end: 7, renews: false)] },
            at: 5,
            status: .trialing,
            answer: "pro: yes, on a trial until 2026-12-08 00:00:00 UTC (in 2 days).",
            standing: "is a trial until 2026-12-08 00:00:00 UTC and will not renew",
            event: "e1",
            next: "At 2026-12-08 00:00:00 UTC (in 2 days) the trial ends, and access with it.",
            nextDay: 7
        ),
        Case(
            testDescription: "grace",
            facts: {
                [
                    $0.state("e1", period: 0, at: 0, end: 30),
                    $0.state("e2", period: 0, at: 30, .failing(since: 30), end: 30),
                ]
            },
            at: 31,
            status: .grace,
            answer: "pro: yes, although a payment failed, until 2027-01-14 00:00:00 UTC (in 13 days).",
            standing:
                "failed to be paid first at 2026-12-31 00:00:00 UTC, was paid until 2026-12-31 00:00:00 UTC, and keeps its access until 2027-01-14 00:00:00 UTC",
            event: "e2",
            next:
                "At 2027-01-14 00:00:00 UTC (in 13 days) the grace ends, and access with it, unless the payment comes through before.",
            nextDay: 44
        ),
        Case(
            testDescription: "after the grace",
            facts: {
                [
                    $0.state("e1", period: 0, at: 0, end: 30),
                    $0.state("e2", period: 0, at: 30, .failing(since: 30), end: 30),
                ]
            },
            at: 44,
            status: .billingRetry,
            answer: "pro: no. A payment failed, and access ended at 2027-01-14 00:00:00 UTC (0 seconds ago).",
            standing:
                "failed to be paid first at 2026-12-31 00:00:00 UTC, and access ended at 2027-01-14 00:00:00 UTC",
            event: "e2",
            next: "If the payment comes through after all, access comes back with the provider's word.",
            nextDay: nil
        ),
        Case(
            testDescription: "the renewal never came",
            facts: { [$0.state("e1", period: 0, at: 0, end: 30)] },
            at: 33,
            status: .expired,
            answer: "pro: no. It ended at 2026-12-31 00:00:00 UTC (3 days ago).",
            standing: "ended at 2026-12-31 00:00:00 UTC",
            event: "e1",
            next: "It was to renew, and no word of that has come: see whether stripe delivers its events.",
            nextDay: nil
        ),
        Case(
            testDescription: "ended by an event",
            facts: {
                [
                    $0.state("e1", period: 0, at: 0, end: 30),
                    $0.state("e2", period: 0, at: 12, .ended(at: day(12)), end: 30),
                ]
            },
            at: 12.0001,
            status: .expired,
            answer: "pro: no. It ended at 2026-12-13 00:00:00 UTC (8 seconds ago).",
            standing: "ended at 2026-12-13 00:00:00 UTC",
            event: "e2",
            next: "Nothing comes by itself: a new purchase or a grant gives access again.",
            nextDay: nil
        ),
        Case(
            testDescription: "refunded, told twice",
            facts: {
                [
                    $0.state("e1", period: 0, at: 0, end: 30), $0.paid("e1", ids: ["p"], at: 0, from: 0, to: 30),
                    $0.refund("e3", id: "r", at: 10, of: ["p"]), $0.refund("e2", id: "r", at: 10, of: ["p"]),
                ]
            },
            at: 11,
            status: .refunded,
            answer: "pro: no. It was refunded, and access ended at 2026-12-11 00:00:00 UTC (24 hours ago).",
            standing: "was refunded, and ended at 2026-12-11 00:00:00 UTC",
            event: "e2",
            next: "Nothing comes by itself: a new purchase or a grant gives access again.",
            nextDay: nil
        ),
        Case(
            testDescription: "disputed",
            facts: { [$0.bought("e1", at: 0), $0.dispute("e2", id: "d", at: 10)] },
            at: 40,
            status: .revoked,
            answer: "pro: no. It was taken back at 2026-12-11 00:00:00 UTC (30 days ago).",
            standing: "was taken back at 2026-12-11 00:00:00 UTC, by a dispute or by hand",
            event: "e2",
            next: "Nothing comes by itself: a new purchase or a grant gives access again.",
            nextDay: nil
        ),
        Case(
            testDescription: "paused",
            facts: {
                [
                    $0.state("e1", period: 0, at: 0, end: 30),
                    $0.state("e2", period: 0, at: 10, .paused(at: day(10)), end: 30),
                ]
            },
            at: 20,
            status: .paused,
            answer: "pro: no. It is paused since 2026-12-11 00:00:00 UTC (10 days ago).",
            standing: "is paused since 2026-12-11 00:00:00 UTC",
            event: "e2",
            next: "When it is resumed, access comes back with the provider's word.",
            nextDay: nil
        ),
        Case(
            testDescription: "for life",
            facts: { [$0.bought("e1", at: 0)] },
            at: 4000,
            status: .active,
            answer: "pro: yes, without an end.",
            standing: "has no end",
            event: "e1",
            next: "Nothing ends it by the clock; a refund or a dispute would.",
            nextDay: nil
        ),
        Case(
            testDescription: "a payment reaches further than the newest state",
            facts: {
                [
                    $0.state("e1", period: 0, at: 0, end: 30),
                    $0.paid("e2", ids: ["p"], at: 30, from: 30, to: 60),
                ]
            },
            at: 58,
            status: .active,
            answer: "pro: yes, until 2027-01-30 00:00:00 UTC (in 2 days).",
            standing: "runs until 2027-01-30 00:00:00 UTC and will renew",
            event: "e2",
            next: "At 2027-01-30 00:00:00 UTC (in 2 days) it renews; without word of the renewal access ends then.",
            nextDay: 60
        ),
        Case(
            testDescription: "another purchase has taken its place",
            facts: {
                [
                    $0.state("e1", period: 0, at: 0, end: 30),
                    $0.fact("e2", .superseded(at: day(9))),
                ]
            },
            at: 11,
            status: .expired,
            answer: "pro: no. It ended at 2026-12-10 00:00:00 UTC (2 days ago).",
            standing: "ended at 2026-12-10 00:00:00 UTC",
            event: "e2",
            next: "Nothing comes by itself: a new purchase or a grant gives access again.",
            nextDay: nil
        ),
    ]

    @Test(arguments: cases)
    func oneStatus(_ test: Case) throws {
        let found = try one([history("sub_1", facts: test.facts)], at: test.at)
        #expect(found.status == test.status)
        #expect(found.isEntitled == found.answer.hasPrefix("pro: yes"))
        #expect(found.answer == test.answer)
        let winner = try #require(found.winner)
        #expect(winner.event?.eventID == test.event)
        #expect(
            winner.text.hasPrefix("stripe sub_1, product price, \(test.standing). So says event \(test.event) (type of")
        )
        #expect(winner.text.contains("2026-12-02 00:00:00 UTC"), "the event's own time")
        let verb = found.isEntitled ? "decides" : "decided last"
        #expect(winner.text.hasSuffix("It \(verb), because no other purchase that counts gives pro."))
        #expect(found.next.text == test.next)
        #expect(found.next.at == test.nextDay.map(day))
        #expect(found.lines == [found.answer, winner.text, found.next.text])
    }

    // MARK: - Several purchases

    @Test func theLaterEndDecidesAndTheOtherIsTold() throws {
        let found = try one(
            [
                history("sub_1") { [$0.state("e1", period: 0, at: 0, end: 30)] },
                history("sub_2", "creem") { [$0.state("e2", period: 0, at: 0, end: 60)] },
                history("sub_3", "paddle") { [$0.state("e3", period: 0, at: 0, .ended(at: day(2)), end: 30)] },
            ],
            at: 10
        )
        #expect(found.winner?.purchaseID == "sub_2")
        #expect(
            found.winner?.text.hasSuffix(
                "It decides, because it lasts longest (the next, stripe sub_1, until 2026-12-31 00:00:00 UTC)."
            ) == true
        )
        #expect(found.others.map(\.purchaseID) == ["sub_1", "sub_3"], "the latest end first")
        #expect(found.others[0].text.hasSuffix("It will renew, too: the person pays twice."))
        #expect(found.others[1].text.contains("ended at 2026-12-03 00:00:00 UTC. So says event e3"))
    }

    @Test(arguments: [
        (90, "it has no end"), (nil, "it has no end, and neither has stripe b, and its id comes first"),
    ])
    func noEndIsLaterThanAnyDate(other: Double?, why: String) throws {
        let found = try one(
            [
                history("b") { teller in
                    other.map { [teller.state("e1", period: 0, at: 0, end: $0)] } ?? [teller.bought("e1", at: 0)]
                },
                history("a") { [$0.bought("e2", at: 0)] },
            ],
            at: 10
        )
        #expect(found.winner?.purchaseID == "a")
        #expect(found.winner?.text.hasSuffix("It decides, because \(why).") == true, "\(found.lines)")
    }

    @Test func tiesAreExplained() throws {
        func end(_ id: String, _ provider: String) -> PurchaseHistory {
            history(id, provider) { [$0.state("e1", period: 0, at: 0, end: 30)] }
        }
        let providers = try one([end("a", "stripe"), end("b", "app_store")], at: 10)
        #expect(providers.winner?.purchaseID == "b")
        #expect(providers.winner?.text.contains("at the same moment as stripe a, and its provider comes first") == true)
        let refunded = history("a", "app_store") {
            [
                $0.state("e1", period: 0, at: 0, end: 60), $0.paid("e1", ids: ["p"], at: 0, from: 0, to: 60),
                $0.refund("e2", id: "r", at: 30, of: ["p"]),
            ]
        }
        let closed = try one([refunded, end("b", "stripe")], at: 40)
        #expect(closed.winner?.purchaseID == "b")
        #expect(closed.winner?.text.contains("which was refunded, taken back or paused") == true, "\(closed.lines)")
    }

    @Test func theReasonOfAGrantIsTold() throws {
        let found = try one(
            [history("g1", "manual", note: "given by hand: case 7") { [$0.bought("e1", at: 0)] }],
            at: 1
        )
        #expect(found.winner?.text.hasPrefix("manual g1, product price, (given by hand: case 7) has no end.") == true)
    }

    // MARK: - What does not count

    @Test func nothingIsKnown() throws {
        let found = try one([], at: 0)
        #expect(found.answer == "pro: no. Nothing was ever bought by this person or granted to them.")
        #expect(found.status == .none && !found.isEntitled && found.winner == nil && found.next.at == nil)
    }

    @Test func theSandboxDoesNotCount() throws {
        let purchase = history("sub_1", "stripe", .sandbox) { [$0.state("e1", period: 0, at: 0, end: 30)] }
        let found = try one([purchase], at: 10)
        #expect(!found.isEntitled && found.winner == nil)
        #expect(found.answer == "pro: no. No purchase of this person ever gave it in production.")
        #expect(
            found.others.first?.text.hasSuffix(
                "It does not count here: it was made in sandbox, and this is production."
            )
                == true
        )
        #expect(explain([purchase], at: 10, in: .sandbox).first?.isEntitled == true)
        var everyone = policy
        everyone.sandboxUsers = ["u1"]
        #expect(explain([purchase], at: 10, policy: everyone).first?.isEntitled == true)
    }

    @Test func aProductOutsideTheMap() throws {
        var mapped = policy
        mapped.products = [ProviderID("stripe"): ["other": .init(entitlements: ["pro"])]]
        let found = explain(
            [history("sub_1") { [$0.state("e1", period: 0, at: 0, end: 30)] }],
            at: 10,
            policy: mapped
        )
        #expect(found.count == 1 && found[0].winner == nil)
        #expect(
            found[0].others.map(\.text) == [
                "stripe sub_1 gives nothing: the product map does not have its product (price)."
            ]
        )
    }

    @Test func everyEntitlementIsExplainedTheAskedOneFirst() throws {
        var mapped = policy
        mapped.products = [ProviderID("stripe"): ["price": .init(entitlements: ["a", "th"])]]
        let purchases = [
            history("sub_1") { [$0.state("e1", period: 0, at: 0, end: 30)] },
            history("sub_2") { [$0.fact("e2", .owner(OwnerStatement(source: .own, at: day(0), users: [])))] },
        ]
        let found = explain(purchases, at: 10, policy: mapped)
        #expect(found.map(\.entitlement) == ["pro", "a", "th"])
        #expect(found.map(\.isEntitled) == [false, true, true])
        #expect(
            found[0].others.map(\.text) == [
                "stripe sub_1 gives a, th, not pro.", "stripe sub_2 says nothing of access yet.",
            ]
        )
        #expect(found[1].others.isEmpty)
        #expect(explain(purchases, at: 10, asked: "th", policy: mapped).map(\.entitlement) == ["th", "a"])
    }

    /// The explanation says what the election decides, whatever was told.
    @Test func theWinnerIsTheElections() {
        for seed in 0..<200 {
            let purchases = (0..<3).map { index in
                history("p\(index)", ["stripe", "app_store", "manual"][(seed + index) % 3]) { teller in
                    let end = Double((seed * 7 + index * 11) % 5 * 10 + 10)
                    let first = teller.state("s\(index)", period: 0, at: 0, end: end)
                    return seed % (index + 2) == 0
                        ? [first, teller.refund("r\(index)", id: "r", at: end)] : [first]
                }
            }
            let row = policy.elect(purchases.compactMap(\.candidate)).entitlements.first
            let found = explain(purchases, at: 20).first
            #expect(found?.winner?.purchaseID == row?.purchaseID)
            #expect(found?.isEntitled == row?.isEntitled(at: day(20)))
            #expect(found?.others.count == 2)
        }
    }
}
