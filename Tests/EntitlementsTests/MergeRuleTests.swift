internal import Entitlements
internal import Testing

/// Rule 1: a purchase is a pure function of the set of its facts.
struct MergeRuleTests {
    private static let stripe = Teller()
    private static let store = Teller(provider: ProviderID("revenuecat"))

    // EVIDENCE MERGE-1
    @Test(arguments: [
        MergeCase(
            sentence: "the newest state applies, whatever it does to the end: a renewal",
            facts: [
                stripe.state("e1", period: 0, at: 0, end: 30, renews: true),
                stripe.state("e2", period: 30, at: 30, end: 60, renews: true),
            ],
            end: .day(60),
            ended: .expired,
            renews: true,
            statuses: [59.9: .active, 60: .expired]
        ),
        MergeCase(
            sentence: "the newest state applies, whatever it does to the end: an earlier end",
            facts: [
                stripe.state("e1", period: 0, at: 0, end: 365), stripe.state("e2", period: 0, at: 3, end: 10),
            ],
            end: .day(10)
        ),
        MergeCase(
            sentence: "a cancellation keeps the period and does not renew",
            facts: [
                stripe.state("e1", period: 0, at: 0, end: 30, renews: true),
                stripe.state("e2", period: 0, at: 3, end: 30, renews: false),
            ],
            end: .day(30),
            renews: false,
            statuses: [29: .active]
        ),
        MergeCase(
            sentence: "an expiration ends the purchase at its moment",
            facts: [
                stripe.state("e1", period: 0, at: 0, end: 30),
                stripe.state("e2", period: 0, at: 10, .ended(at: day(10)), end: 30, renews: false),
            ],
            end: .day(10),
            ended: .expired,
            renews: false
        ),
        MergeCase(
            sentence: "newest is the later period start before the later version",
            facts: [
                stripe.state("e1", period: 30, at: 30, end: 60),
                stripe.state("e2", period: 0, at: 31, .ended(at: day(31)), end: 30),
            ],
            end: .day(60)
        ),
        MergeCase(
            sentence: "in one period newest is the later version",
            facts: [
                stripe.state("e9", period: 0, at: 1, end: 30), stripe.state("e1", period: 0, at: 2, end: 31),
            ],
            end: .day(31)
        ),
        MergeCase(
            sentence: "at one version an end beats a failed payment beats access",
            facts: [
                stripe.state("e1", period: 0, at: 5, .ended(at: day(5)), end: 30),
                stripe.state("e2", period: 0, at: 5, .failing(), end: 30),
                stripe.state("e3", period: 0, at: 5, end: 30),
            ],
            end: .day(5)
        ),
        MergeCase(
            sentence: "at one version and severity the later event id counts",
            facts: [
                stripe.state("a", period: 0, at: 5, end: 20), stripe.state("b", period: 0, at: 5, end: 25),
            ],
            end: .day(25)
        ),
        MergeCase(
            sentence: "a fact without a period is an adjustment and never enters the order",
            facts: [
                stripe.state("e1", period: 0, at: 0, end: 30),
                stripe.refund("e2", id: "re", at: 40, .pending), stripe.state("e3", period: 0, at: 1, end: 31),
            ],
            end: .day(31)
        ),
        MergeCase(
            sentence: "a newer period replaces the rest of an older one from its own start",
            facts: [
                stripe.state("e1", period: 0, at: 0, end: 365), stripe.state("e2", period: 10, at: 10, end: 40),
            ],
            end: .day(40)
        ),
        MergeCase(
            sentence: "the late end of an old period never ends the one that followed",
            facts: [
                store.state("e1", period: 0, at: 0, end: 30), store.state("e2", period: 30, at: 29, end: 60),
                store.state("e3", period: 0, at: 30.1, .ended(at: day(30.1)), end: 30, renews: false),
            ],
            end: .day(60)
        ),
        MergeCase(
            sentence: "a renewal charged early and refunded leaves the period that was paid",
            facts: [
                store.state("e1", period: 0, at: 0, end: 31), store.state("e2", period: 31, at: 30.2, end: 61),
                store.refund("e3", id: "r", at: 30.5, from: 31), store.state("e3", period: 31, at: 30.5, end: 30.5),
            ],
            end: .day(31),
            ended: .refunded,
            renews: false,
            statuses: [30.9: .active, 31: .refunded]
        ),
        MergeCase(
            sentence: "a state without a period speaks of the newest period known at its version",
            facts: [
                stripe.state("e1", period: 0, at: 0, end: 30), stripe.state("e2", period: 30, at: 30, end: 60),
                stripe.state("e3", period: nil, at: 40, .ended(at: day(40)), end: nil),
            ],
            end: .day(40)
        ),
        MergeCase(
            sentence: "a state without a period that is older than a period leaves it alone",
            facts: [
                stripe.state("e1", period: 0, at: 0, end: 30), stripe.state("e2", period: 30, at: 30, end: 60),
                stripe.state("e3", period: nil, at: 20, .ended(at: day(20)), end: nil),
            ],
            end: .day(60)
        ),
        MergeCase(
            sentence: "states of a provider without periods are ordered by version alone",
            facts: [
                stripe.state("e1", period: nil, at: 0, end: 30), stripe.state("e2", period: nil, at: 30, end: 60),
                stripe.state("e3", period: nil, at: 33, end: 50),
            ],
            end: .day(50)
        ),
        MergeCase(
            sentence: "a payment for a later time extends",
            facts: [
                stripe.state("e1", period: 0, at: 0, end: 30),
                stripe.paid("e2", ids: ["in_2"], at: 30, from: 30, to: 60, products: ["price"]),
            ],
            end: .day(60)
        ),
        MergeCase(
            sentence: "a payment inside the running period adds nothing",
            facts: [
                stripe.state("e1", period: 0, at: 0, end: 30),
                stripe.paid("e2", ids: ["in_2"], at: 10, from: 10, to: 30, products: ["price"]),
            ],
            end: .day(30)
        ),
        MergeCase(
            sentence: "a payment alone gives its period",
            facts: [stripe.paid("e2", ids: ["in_1"], at: 0, from: 0, to: 30, products: ["price"])],
            end: .day(30)
        ),
        MergeCase(
            sentence: "a version more than a day after its arrival counts as the arrival",
            facts: [
                stripe.state("e1", period: 0, at: 90_000, end: 20, arrival: 1),
                stripe.state("e2", period: 0, at: 5, end: 30),
            ],
            end: .day(30)
        ),
        MergeCase(
            sentence: "versions from the future keep their own order",
            facts: [
                stripe.state("e1", period: 0, at: 90_000, end: 20, arrival: 3),
                stripe.state("e2", period: 0, at: 90_001, end: 30, arrival: 1),
            ],
            end: .day(30)
        ),
        MergeCase(
            sentence: "an end told from the future ends at its arrival",
            facts: [
                stripe.bought("e1", at: 0),
                RecordedFact(
                    provider: ProviderID("stripe"),
                    eventID: "e2",
                    isSecondHand: false,
                    fact: .state(
                        {
                            var state = PurchaseState(
                                version: day(90_000),
                                condition: .ended(at: day(90_000)),
                                items: [.init(products: ["price"], end: nil)],
                                isOneTime: true
                            )
                            state.arrival = day(5)
                            return state
                        }()
                    )
                ),
            ],
            end: .day(5)
        ),
        MergeCase(
            sentence: "a failure told from the future begins at its arrival",
            facts: [
                stripe.state("e1", period: 0, at: 0, end: 30),
                stripe.state("e2", period: 0, at: 90_000, .failing(), end: 30, arrival: 29),
            ],
            end: .day(43)
        ),
        MergeCase(
            sentence: "of two told ahead of their arrival the later stays the later, on both sides of a day",
            facts: [
                stripe.state("e1", period: 0, at: 5.9, end: 30, arrival: 5),
                stripe.state("e2", period: 0, at: 9, end: 20, arrival: 5),
            ],
            end: .day(20)
        ),
        MergeCase(
            sentence: "one told from the future does not outlive what a fast clock tells later",
            facts: [
                stripe.state("e1", period: 0, at: 90_000, end: 20, arrival: 5),
                stripe.state("e2", period: 0, at: 10.001, end: 30, arrival: 10),
            ],
            end: .day(30)
        ),
        MergeCase(
            sentence: "nothing was ever bought",
            facts: [stripe.fact("e1", .customer(CustomerID(provider: ProviderID("stripe"), value: "cus")))],
            end: .nothing
        ),
    ])
    func rule1(_ merge: MergeCase) { merge.check() }

    // EVIDENCE MERGE-1
    @Test(arguments: [
        MergeCase(
            sentence: "the store's own facts win over what another provider tells of it",
            facts: [
                Teller(provider: ProviderID("app_store")).state("e1", period: 0, at: 0, end: 30),
                Teller(provider: ProviderID("revenuecat"), isSecondHand: true).state("e2", period: 0, at: 9, end: 99),
            ],
            end: .day(30)
        ),
        MergeCase(
            sentence: "a refund told second-hand does not end what the store tells itself",
            facts: [
                Teller(provider: ProviderID("app_store")).state("e1", period: 0, at: 0, end: 30),
                Teller(provider: ProviderID("revenuecat"), isSecondHand: true).refund("e2", id: "r", at: 9),
            ],
            end: .day(30)
        ),
        MergeCase(
            sentence: "without the store's own facts the other provider's count",
            facts: [
                Teller(provider: ProviderID("revenuecat"), isSecondHand: true).state("e2", period: 0, at: 9, end: 99)
            ],
            end: .day(99)
        ),
        MergeCase(
            sentence: "an order that starts a subscription is not a purchase for life",
            facts: [stripe.bought("e1", at: 0), stripe.state("e2", period: 0, at: 0, end: 30)],
            end: .day(30)
        ),
        MergeCase(
            sentence: "an order that starts a subscription is not a purchase for life, when it is the newest word",
            facts: [stripe.bought("e1", at: 9), stripe.state("e2", period: 0, at: 0, end: 30)],
            end: .day(30)
        ),
        MergeCase(
            sentence: "a one-time purchase has no end",
            facts: [stripe.bought("e1", at: 0)],
            end: .never,
            renews: false
        ),
        MergeCase(
            sentence: "a one-time purchase that is not paid yet gives nothing",
            facts: [stripe.bought("e1", at: 0, .incomplete)],
            end: .nothing
        ),
        MergeCase(
            sentence: "a superseded purchase ends when the other took its place and does not renew",
            facts: [
                stripe.state("e1", period: 0, at: 0, end: 30, renews: true), stripe.fact("e2", .superseded(at: day(4))),
                stripe.fact("e3", .superseded(at: day(6))),
            ],
            end: .day(4),
            ended: .expired,
            renews: false
        ),
        MergeCase(
            sentence: "a superseded purchase keeps an end that came before",
            facts: [stripe.state("e1", period: 0, at: 0, end: 30), stripe.fact("e2", .superseded(at: day(40)))],
            end: .day(30)
        ),
    ])
    func severalTellers(_ merge: MergeCase) { merge.check() }

    // EVIDENCE MERGE-1
    @Test("several items: each entitlement ends with its own item")
    func severalItems() {
        let state = PurchaseState(
            periodStart: day(0),
            version: day(0),
            condition: .active,
            items: [.init(products: ["a"], end: day(30)), .init(products: ["b"], end: day(365))]
        )
        let outcome = MergeRule.outcome(of: [Self.stripe.fact("e1", .state(state))], pastDueDays: 14)
        #expect(outcome?.lines.map(\.products) == [["a"], ["b"]])
        #expect(outcome?.lines.map(\.end) == [day(30), day(365)])
    }

    // EVIDENCE MERGE-1
    @Test("a payment extends only the items it was for")
    func paymentOfOneItem() {
        let state = PurchaseState(
            periodStart: day(0),
            version: day(0),
            condition: .active,
            items: [.init(products: ["a", "pa"], end: day(30)), .init(products: ["b", "pb"], end: day(30))]
        )
        let facts = [
            Self.stripe.fact("e1", .state(state)),
            Self.stripe.paid("e2", ids: ["in_2"], at: 30, from: 30, to: 60, products: ["pa"]),
        ]
        let outcome = MergeRule.outcome(of: facts, pastDueDays: 14)
        let ends = Dictionary(uniqueKeysWithValues: (outcome?.lines ?? []).map { ($0.products, $0.end) })
        #expect(ends == [["a", "pa"]: day(60), ["b", "pb"]: day(30)])
    }
}
