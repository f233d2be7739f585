internal import TestSupport

@testable internal import Entitlements

/// Random facts in a small space of days, ids and amounts, so that they meet.
enum RandomFacts {
    private static let providers = ["app_store", "manual", "paddle", "revenuecat", "stripe"].map { ProviderID($0) }

    static func purchase(_ generator: inout SplitMix64) -> [RecordedFact] {
        let provider = providers.randomElement(using: &generator) ?? providers[0]
        let mixes = Int.random(in: 0..<6, using: &generator) == 0
        let hasPeriods = Int.random(in: 0..<4, using: &generator) > 0
        return (0..<Int.random(in: 1...9, using: &generator)).map { index in
            let isSecondHand = mixes && Bool.random(using: &generator)
            let teller = Teller(
                provider: isSecondHand ? ProviderID("revenuecat") : provider,
                isSecondHand: isSecondHand
            )
            return teller.fact("e\(index)", fact(&generator, hasPeriods: hasPeriods))
        }
    }

    static func candidates(_ generator: inout SplitMix64) -> [Candidate] {
        (0..<Int.random(in: 1...6, using: &generator)).compactMap { index in
            MergeRule.outcome(of: purchase(&generator), pastDueDays: 14).map {
                Candidate(purchaseID: "p\(index)", outcome: $0)
            }
        }
    }

    private static func moment(_ generator: inout SplitMix64) -> UnixMillis {
        day(Double(Int.random(in: 0...24, using: &generator)) * 5)
    }

    private static func maybe(_ generator: inout SplitMix64) -> UnixMillis? {
        Bool.random(using: &generator) ? moment(&generator) : nil
    }

    private static func fact(_ generator: inout SplitMix64, hasPeriods: Bool) -> Fact {
        switch Int.random(in: 0..<14, using: &generator) {
        case 0..<8: return .state(state(&generator, hasPeriods: hasPeriods))
        case 8, 9:
            let start = moment(&generator)
            return .payment(
                Payment(
                    ids: ids(&generator),
                    paidAt: maybe(&generator),
                    periodStart: start,
                    periodEnd: start.adding(days: 30),
                    amount: Int64.random(in: 1...3, using: &generator) * 500,
                    products: Bool.random(using: &generator) ? ["price"] : []
                )
            )
        case 10, 11, 12: return .adjustment(adjustment(&generator))
        default: return .superseded(at: moment(&generator))
        }
    }

    private static func ids(_ generator: inout SplitMix64) -> [String] {
        (0..<Int.random(in: 1...2, using: &generator)).map { _ in "pay_\(Int.random(in: 0..<3, using: &generator))" }
    }

    private static func adjustment(_ generator: inout SplitMix64) -> Adjustment {
        let at = moment(&generator)
        let amount = Int64.random(in: 1...3, using: &generator) * 500
        let sizes: [Adjustment.Size] = [.full, .part(amount), .soFar(amount)]
        let standings: [Adjustment.Standing] = [.pending, .effective, .effective, .withdrawn]
        return Adjustment(
            id: "adj_\(Int.random(in: 0..<3, using: &generator))",
            kind: Bool.random(using: &generator) ? .refund : .dispute,
            standing: standings.randomElement(using: &generator) ?? .effective,
            size: sizes.randomElement(using: &generator) ?? .full,
            version: at,
            at: at,
            payments: Bool.random(using: &generator) ? ids(&generator) : [],
            periodStart: maybe(&generator),
            total: Bool.random(using: &generator) ? 1000 : nil
        )
    }

    private static func state(_ generator: inout SplitMix64, hasPeriods: Bool) -> PurchaseState {
        let version = moment(&generator)
        let isOneTime = Int.random(in: 0..<8, using: &generator) == 0
        let start =
            hasPeriods && !isOneTime && Int.random(in: 0..<6, using: &generator) > 0
            ? day(Double(Int.random(in: 0...4, using: &generator)) * 30) : nil
        let failure = PurchaseState.Failure(
            since: maybe(&generator),
            grace: Bool.random(using: &generator) ? .configured : .store(until: maybe(&generator)),
            periodIsUnpaid: Bool.random(using: &generator)
        )
        let conditions: [PurchaseState.Condition] = [
            .incomplete, .trialing, .active, .active, .active, .collectionPaused, .failing(failure), .failing(failure),
            .unpaid(failure), .paused(at: version), .ended(at: version),
        ]
        let condition = conditions.randomElement(using: &generator) ?? .active
        let products = [["price"], ["other"], ["price", "product"]]
        var items = (0..<Int.random(in: 1...2, using: &generator)).map { _ in
            PurchaseState.Item(
                products: products.randomElement(using: &generator) ?? [],
                end: isOneTime ? nil : (start ?? version).adding(days: Int.random(in: 1...60, using: &generator)),
                start: Int.random(in: 0..<4, using: &generator) == 0 ? moment(&generator) : nil
            )
        }
        if condition.severity >= 5, Bool.random(using: &generator) { items = [] }
        var state = PurchaseState(
            periodStart: start,
            version: version,
            condition: condition,
            items: items,
            willRenew: [nil, true, false].randomElement(using: &generator) ?? nil,
            isOneTime: isOneTime,
            limit: Int.random(in: 0..<6, using: &generator) == 0 ? moment(&generator) : nil,
            purchasedAt: isOneTime ? version : nil,
            isFirstPeriod: Int.random(in: 0..<4, using: &generator) == 0,
            tellsOfPayment: Int.random(in: 0..<4, using: &generator) != 0,
            entitlements: Int.random(in: 0..<5, using: &generator) == 0 ? ["own"] : nil
        )
        if Int.random(in: 0..<8, using: &generator) == 0 {
            state.arrival = version.adding(days: -Int.random(in: 2...50, using: &generator))
        }
        return state
    }
}
