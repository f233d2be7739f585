internal import Testing

@testable internal import Entitlements

/// Rules 2 to 4: which of a person's purchases wins.
struct ElectionTests {
    private func candidate(
        _ id: String,
        _ provider: String,
        end: Double?,
        ended: Status = .expired,
        products: [String] = ["price"],
        isOneTime: Bool = false,
        purchasedAt: Double? = nil
    ) -> Candidate {
        Candidate(
            purchaseID: id,
            outcome: PurchaseOutcome(
                provider: ProviderID(provider),
                lines: [
                    .init(
                        products: products,
                        entitlements: nil,
                        isOneTime: isOneTime,
                        end: end.map(day),
                        periodEnd: end.map(day),
                        purchasedAt: purchasedAt.map(day),
                        live: .active,
                        ended: ended
                    )
                ],
                willRenew: false,
                store: provider,
                managementURL: nil,
                newest: nil
            )
        )
    }

    private let policy = EntitlementPolicy(
        firstProviders: ["app_store", "google_play", "revenuecat"].map { ProviderID($0) },
        lastProviders: [ProviderID("manual")]
    )

    private func winner(_ candidates: [Candidate]) -> String? {
        let winners = Set(permutations(of: candidates).map { policy.elect($0).entitlements.first?.purchaseID })
        #expect(winners.count == 1, "the order decides: \(winners)")
        return winners.first ?? nil
    }

    // EVIDENCE MERGE-2
    @Test("the later end wins, and no end is later than any date")
    func laterEnd() {
        #expect(winner([candidate("a", "stripe", end: 30), candidate("b", "creem", end: 31)]) == "b")
        #expect(winner([candidate("a", "manual", end: nil), candidate("b", "app_store", end: 3_000_000)]) == "a")
    }

    // EVIDENCE MERGE-2
    @Test("each entitlement by itself")
    func eachEntitlement() {
        let policy = EntitlementPolicy(products: [
            ProviderID("stripe"): ["a": .init(entitlements: ["pro"]), "b": .init(entitlements: ["pro", "th"])]
        ])
        let row = policy.elect([
            candidate("long", "stripe", end: 90, products: ["a"]),
            candidate("short", "stripe", end: 30, products: ["b"]),
        ])
        #expect(row.entitlements.map(\.name) == ["pro", "th"])
        #expect(row.entitlements.map(\.purchaseID) == ["long", "short"])
    }

    // EVIDENCE MERGE-3
    @Test("when the winner ends the row goes to the purchase that is then the latest")
    func nextInLine() {
        let others = [candidate("b", "creem", end: 40), candidate("c", "paddle", end: 50)]
        #expect(winner([candidate("a", "stripe", end: 90)] + others) == "a")
        #expect(winner([candidate("a", "stripe", end: 10, ended: .refunded)] + others) == "c")
    }

    // EVIDENCE MERGE-4
    @Test("ties: without a closing event before with")
    func tieClosing() {
        for closed in [Status.refunded, .revoked, .paused] {
            #expect(
                winner([candidate("a", "app_store", end: 30, ended: closed), candidate("b", "stripe", end: 30)]) == "b"
            )
        }
        #expect(
            winner([candidate("a", "app_store", end: 30, ended: .billingRetry), candidate("b", "stripe", end: 30)])
                == "a"
        )
    }

    // EVIDENCE MERGE-4
    @Test("ties: app_store, google_play, revenuecat, web billing by name, manual, then the purchase id")
    func tieProvider() {
        let order = ["app_store", "google_play", "revenuecat", "creem", "stripe", "zuora", "manual"]
        for index in order.indices.dropLast() {
            #expect(winner([candidate("z", order[index], end: 30), candidate("a", order[index + 1], end: 30)]) == "z")
        }
        #expect(winner([candidate("b", "stripe", end: 30), candidate("a", "stripe", end: 30)]) == "a")
    }

    // EVIDENCE MERGE-4
    @Test("ties: two purchases of one provider that even share their number are told apart by what they say")
    func tieSameNumber() {
        let order = candidate("7", "lemonsqueezy", end: 30, products: ["a"])
        var other = order
        other.outcome.willRenew = true
        #expect(policy.elect([order, other]) == policy.elect([other, order]))
    }

    @Test("products: a map decides, the price first, * for the rest, none gives nothing")
    func products() {
        let policy = EntitlementPolicy(products: [
            ProviderID("stripe"): ["price_1": .init(entitlements: ["pro"]), "prod_1": .init(entitlements: ["basic"])],
            ProviderID("paddle"): ["*": .init(entitlements: ["any"])],
        ])
        func names(_ provider: String, _ products: [String]) -> [String] {
            policy.elect([candidate("a", provider, end: 1, products: products)]).entitlements.map(\.name)
        }
        #expect(names("stripe", ["price_1", "prod_1"]) == ["pro"])
        #expect(names("stripe", ["price_2", "prod_1"]) == ["basic"])
        #expect(names("stripe", ["price_2"]) == [])
        #expect(names("paddle", ["whatever"]) == ["any"])
        #expect(names("creem", ["whatever"]) == ["pro"])
    }

    @Test("a product with days ends by itself, counted from the purchase's own time; an earlier end stays")
    func days() {
        let policy = EntitlementPolicy(products: [
            ProviderID("stripe"): ["price": .init(entitlements: ["pro"], days: 365)]
        ])
        let plain = policy.elect([candidate("a", "stripe", end: nil, isOneTime: true, purchasedAt: 5)]).entitlements
            .first
        #expect(plain?.end == day(370))
        #expect(plain?.ended == .expired)
        #expect(plain?.periodEnd == day(370))
        let refunded = policy.elect([
            candidate("a", "stripe", end: 9, ended: .refunded, isOneTime: true, purchasedAt: 5)
        ]).entitlements.first
        #expect(refunded?.end == day(9))
        #expect(refunded?.ended == .refunded)
        let subscription = policy.elect([candidate("a", "stripe", end: 30)]).entitlements.first
        #expect(subscription?.end == day(30))
    }

    // EVIDENCE MERGE-9
    @Test("sandbox purchases count in production for the listed people only, or for everyone")
    func sandboxUsers() {
        let some = EntitlementPolicy(sandboxUsers: ["reviewer-1"])
        #expect(some.countsInProduction(sandboxPurchasesOf: [user("reviewer-1")]))
        #expect(some.countsInProduction(sandboxPurchasesOf: [user("other"), user("reviewer-1")]))
        #expect(!some.countsInProduction(sandboxPurchasesOf: [user("other")]))
        #expect(EntitlementPolicy(sandboxUsers: ["*"]).countsInProduction(sandboxPurchasesOf: [user("other")]))
        #expect(!EntitlementPolicy().countsInProduction(sandboxPurchasesOf: [user("*")]))
    }
}
