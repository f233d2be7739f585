internal import Entitlements
internal import TestSupport

/// Values of every shape, from one seed.
struct RandomValues {
    var generator: SplitMix64

    init(seed: UInt64) { generator = SplitMix64(seed: seed) }

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &generator)]
    }

    mutating func time() -> UnixMillis {
        UnixMillis(
            pick([Int64.min, .max, 0, Int64.random(in: .min ... .max, using: &generator)])
        )
    }

    mutating func maybe() -> UnixMillis? { Bool.random(using: &generator) ? time() : nil }

    mutating func text() -> String {
        pick(["", "a", "sub_1", "é", "用户\u{0}x", String(repeating: "z", count: 300)])
    }

    mutating func texts() -> [String] { (0..<Int.random(in: 0...3, using: &generator)).map { _ in text() } }

    mutating func holder() -> Holder {
        Holder(
            users: texts().map { UserID(unchecked: $0) },
            anonymous: texts().map { CustomerID(provider: ProviderID("revenuecat"), value: $0) }
        )
    }

    mutating func fact() -> Fact {
        switch Int.random(in: 0..<6, using: &generator) {
        case 0:
            let failure = PurchaseState.Failure(
                since: maybe(),
                grace: Bool.random(using: &generator) ? .configured : .store(until: maybe()),
                periodIsUnpaid: Bool.random(using: &generator)
            )
            let conditions: [PurchaseState.Condition] = [
                .incomplete, .trialing, .active, .collectionPaused, .failing(failure), .unpaid(failure),
                .paused(at: time()),
                .ended(at: time()),
            ]
            var state = PurchaseState(
                periodStart: maybe(),
                version: time(),
                condition: pick(conditions),
                items: texts().map { .init(products: [$0], end: nil) }
                    + [.init(products: texts(), end: maybe(), start: maybe())],
                willRenew: pick([nil, true, false]),
                isOneTime: Bool.random(using: &generator),
                limit: maybe(),
                purchasedAt: maybe(),
                isFirstPeriod: Bool.random(using: &generator),
                tellsOfPayment: Bool.random(using: &generator),
                entitlements: Bool.random(using: &generator) ? texts() : nil,
                store: Bool.random(using: &generator) ? text() : nil,
                managementURL: Bool.random(using: &generator) ? text() : nil
            )
            state.arrival = maybe()
            return .state(state)
        case 1:
            return .payment(
                Payment(
                    ids: texts(),
                    paidAt: maybe(),
                    periodStart: maybe(),
                    periodEnd: maybe(),
                    amount: Bool.random(using: &generator) ? time().value : nil,
                    products: texts()
                )
            )
        case 2:
            let sizes: [Adjustment.Size] = [.full, .part(time().value), .soFar(time().value)]
            return .adjustment(
                Adjustment(
                    id: text(),
                    kind: Bool.random(using: &generator) ? .refund : .dispute,
                    standing: pick([.pending, .effective, .withdrawn]),
                    size: pick(sizes),
                    version: time(),
                    at: time(),
                    payments: texts(),
                    periodStart: maybe(),
                    periodEnd: maybe(),
                    total: Bool.random(using: &generator) ? time().value : nil
                )
            )
        case 3:
            let holder = holder()
            return .owner(
                OwnerStatement(
                    source: Bool.random(using: &generator) ? .own : .checkout,
                    at: time(),
                    users: holder.users,
                    anonymous: holder.anonymous
                )
            )
        case 4: return .customer(CustomerID(provider: ProviderID(text()), value: text()))
        default: return .superseded(at: time())
        }
    }

    mutating func outcome() -> PurchaseOutcome {
        PurchaseOutcome(
            provider: ProviderID(text()),
            lines: texts().map { product in
                .init(
                    products: [product] + texts(),
                    entitlements: Bool.random(using: &generator) ? texts() : nil,
                    isOneTime: Bool.random(using: &generator),
                    isPast: Bool.random(using: &generator),
                    end: maybe(),
                    periodEnd: maybe(),
                    purchasedAt: maybe(),
                    live: pick(Status.allCases),
                    graceFrom: maybe(),
                    ended: pick(Status.allCases)
                )
            },
            willRenew: Bool.random(using: &generator),
            store: Bool.random(using: &generator) ? text() : nil,
            managementURL: Bool.random(using: &generator) ? text() : nil,
            newest: Bool.random(using: &generator)
                ? StateOrder(
                    period: time().value,
                    version: time().value,
                    told: time().value,
                    severity: Int.random(in: 0...6, using: &generator),
                    eventID: text()
                ) : nil
        )
    }

    mutating func entitlement() -> Subscription.Entitlement {
        Subscription.Entitlement(
            name: text(),
            provider: ProviderID(text()),
            purchaseID: text(),
            productID: Bool.random(using: &generator) ? text() : nil,
            store: Bool.random(using: &generator) ? text() : nil,
            managementURL: Bool.random(using: &generator) ? text() : nil,
            willRenew: Bool.random(using: &generator),
            end: maybe(),
            periodEnd: maybe(),
            live: pick(Status.allCases),
            graceFrom: maybe(),
            ended: pick(Status.allCases)
        )
    }

    mutating func row() -> Subscription {
        Subscription(entitlements: (0..<Int.random(in: 0...4, using: &generator)).map { _ in entitlement() })
    }

    /// Some ways in which bytes go bad: a byte changed, an end cut off, noise.
    mutating func damage(_ bytes: [UInt8]) -> [[UInt8]] {
        var damaged: [[UInt8]] = []
        for _ in 0..<6 {
            var changed = bytes
            if !changed.isEmpty {
                changed[Int.random(in: 0..<changed.count, using: &generator)] = UInt8.random(
                    in: 0...255,
                    using: &generator
                )
            }
            damaged.append(changed)
        }
        damaged.append(Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator))))
        damaged.append(
            (0..<Int.random(in: 0...80, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        )
        return damaged
    }
}
