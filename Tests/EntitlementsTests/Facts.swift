internal import Entitlements

/// The first moment of the tests' calendar, 2026-12-01T00:00:00Z; days count from here.
let calendarStart: Int64 = 1_796_083_200_000

func day(_ days: Double) -> UnixMillis {
    UnixMillis(calendarStart + Int64(days * Double(UnixMillis.millisPerDay)))
}

func user(_ text: String) -> UserID {
    UserID(unchecked: text)
}

/// Makes facts of one provider, each as an event of its own.
struct Teller {
    var provider = ProviderID("stripe")
    var isSecondHand = false

    func fact(_ event: String, _ fact: Fact) -> RecordedFact {
        RecordedFact(provider: provider, eventID: event, isSecondHand: isSecondHand, fact: fact)
    }

    /// A state of a subscription: the days of its period, the day of its version, and how it stands.
    func state(
        _ event: String,
        period: Double?,
        at version: Double,
        _ condition: PurchaseState.Condition = .active,
        end: Double?,
        products: [String] = ["price"],
        renews: Bool? = nil,
        limit: Double? = nil,
        isFirst: Bool = false,
        entitlements: [String]? = nil,
        arrival: Double? = nil
    ) -> RecordedFact {
        var state = PurchaseState(
            periodStart: period.map(day),
            version: day(version),
            condition: condition,
            items: [.init(products: products, end: end.map(day))],
            willRenew: renews,
            limit: limit.map(day),
            isFirstPeriod: isFirst,
            entitlements: entitlements
        )
        state.arrival = arrival.map(day)
        return fact(event, .state(state))
    }

    func bought(
        _ event: String,
        at version: Double,
        _ condition: PurchaseState.Condition = .active,
        products: [String] = ["price"]
    ) -> RecordedFact {
        fact(
            event,
            .state(
                PurchaseState(
                    version: day(version),
                    condition: condition,
                    items: [.init(products: products, end: nil)],
                    willRenew: false,
                    isOneTime: true,
                    purchasedAt: day(version)
                )
            )
        )
    }

    func paid(
        _ event: String,
        ids: [String],
        at paidAt: Double?,
        from start: Double? = nil,
        to end: Double? = nil,
        amount: Int64? = nil,
        products: [String] = []
    ) -> RecordedFact {
        fact(
            event,
            .payment(
                Payment(
                    ids: ids,
                    paidAt: paidAt.map(day),
                    periodStart: start.map(day),
                    periodEnd: end.map(day),
                    amount: amount,
                    products: products
                )
            )
        )
    }

    func refund(
        _ event: String,
        id: String,
        at: Double,
        _ standing: Adjustment.Standing = .effective,
        _ size: Adjustment.Size = .full,
        of payments: [String] = [],
        from start: Double? = nil,
        to end: Double? = nil,
        total: Int64? = nil,
        kind: Adjustment.Kind = .refund
    ) -> RecordedFact {
        fact(
            event,
            .adjustment(
                Adjustment(
                    id: id,
                    kind: kind,
                    standing: standing,
                    size: size,
                    version: day(at),
                    at: day(at),
                    payments: payments,
                    periodStart: start.map(day),
                    periodEnd: end.map(day),
                    total: total
                )
            )
        )
    }

    func dispute(
        _ event: String,
        id: String,
        at: Double,
        _ standing: Adjustment.Standing = .effective,
        of payments: [String] = []
    ) -> RecordedFact {
        refund(event, id: id, at: at, standing, of: payments, kind: .dispute)
    }
}

extension PurchaseState.Condition {
    /// A failed payment whose grace the seller decides.
    static func failing(since: Double? = nil, periodIsUnpaid: Bool = false) -> Self {
        .failing(.init(since: since.map(day), grace: .configured, periodIsUnpaid: periodIsUnpaid))
    }

    static func unpaid(since: Double? = nil, periodIsUnpaid: Bool = false) -> Self {
        .unpaid(.init(since: since.map(day), grace: .configured, periodIsUnpaid: periodIsUnpaid))
    }

    static func failing(graceUntil until: Double?) -> Self {
        .failing(.init(grace: .store(until: until.map(day)), periodIsUnpaid: false))
    }
}
