internal import Entitlements

@testable internal import Storage

func day(_ days: Double) -> UnixMillis {
    UnixMillis(1_796_083_200_000 + Int64(days * Double(UnixMillis.millisPerDay)))
}

func person(_ text: String) -> UserID { UserID(unchecked: text) }

/// Events in the product's own words, as an adapter would make them.
enum Happening {
    static func event(
        _ provider: String,
        _ id: String,
        at: Double,
        _ effects: [Effect],
        receivedAt: Double? = nil,
        environment: StoreEnvironment = .production,
        payload: String = "{}"
    ) -> IncomingEvent {
        IncomingEvent(
            provider: ProviderID(provider),
            event: NormalizedEvent(
                eventID: id,
                type: "test",
                occurredAt: day(at),
                environment: environment,
                effects: effects
            ),
            receivedAt: day(receivedAt ?? at),
            redactedPayload: { Array(payload.utf8) }
        )
    }

    static func named(
        _ provider: String,
        _ id: String,
        _ rank: ExternalIDRank = .subscription,
        also: [String] = [],
        environment: StoreEnvironment = .production,
        isSecondHand: Bool = false
    ) -> PurchaseReference {
        PurchaseReference(
            environment: environment,
            ids: [.init(id: ExternalID(namespace: provider, value: id), rank: rank)]
                + also.map { .init(id: ExternalID(namespace: provider, value: $0), rank: .reference) },
            isSecondHand: isSecondHand
        )
    }

    static func owner(_ users: String..., at: Double, source: OwnerStatement.Source = .own) -> Fact {
        .owner(OwnerStatement(source: source, at: day(at), users: users.map(person)))
    }

    /// A state of a web subscription that names its user.
    static func state(
        _ provider: String,
        _ id: String,
        of purchase: String,
        at: Double,
        period: Double?,
        end: Double?,
        _ condition: PurchaseState.Condition = .active,
        user: String? = nil,
        also: [String] = [],
        customer: String? = nil,
        renews: Bool? = true,
        environment: StoreEnvironment = .production,
        product: String = "price"
    ) -> IncomingEvent {
        var facts: [Fact] = [
            .state(
                PurchaseState(
                    periodStart: period.map(day),
                    version: day(at),
                    condition: condition,
                    items: [.init(products: [product], end: end.map(day))],
                    willRenew: renews,
                    store: provider
                )
            )
        ]
        if let user { facts.append(owner(user, at: at)) }
        var effects: [Effect] = []
        if let customer {
            let known = CustomerID(provider: ProviderID(provider), value: customer)
            facts.append(.customer(known))
            if let user { effects.append(.link(known, person(user))) }
        }
        let reference = named(provider, purchase, also: also, environment: environment)
        return event(provider, id, at: at, [.facts(reference, facts)] + effects, environment: environment)
    }

    static func bought(
        _ provider: String,
        _ id: String,
        of purchase: String,
        at: Double,
        user: String? = nil,
        also: [String] = [],
        rank: ExternalIDRank = .oneTime
    ) -> IncomingEvent {
        var facts: [Fact] = [
            .state(
                PurchaseState(
                    version: day(at),
                    condition: .active,
                    items: [.init(products: ["price"], end: nil)],
                    willRenew: false,
                    isOneTime: true,
                    purchasedAt: day(at),
                    store: provider
                )
            )
        ]
        if let user { facts.append(owner(user, at: at)) }
        return event(provider, id, at: at, [.facts(named(provider, purchase, rank, also: also), facts)])
    }

    static func adjusted(
        _ provider: String,
        _ id: String,
        of purchase: String,
        at: Double,
        rank: ExternalIDRank = .reference,
        kind: Adjustment.Kind = .refund,
        _ standing: Adjustment.Standing = .effective,
        _ size: Adjustment.Size = .full,
        adjustment: String? = nil,
        also: [String] = [],
        payments: [String] = [],
        receivedAt: Double? = nil
    ) -> IncomingEvent {
        let fact = Fact.adjustment(
            Adjustment(
                id: adjustment ?? "adj " + id,
                kind: kind,
                standing: standing,
                size: size,
                version: day(at),
                at: day(at),
                payments: payments
            )
        )
        return event(
            provider,
            id,
            at: at,
            [.facts(named(provider, purchase, rank, also: also), [fact])],
            receivedAt: receivedAt
        )
    }

    static func paid(
        _ provider: String,
        _ id: String,
        of purchase: String,
        at: Double,
        ids: [String],
        from: Double,
        to: Double,
        rank: ExternalIDRank = .subscription
    ) -> IncomingEvent {
        let fact = Fact.payment(
            Payment(
                ids: ids,
                paidAt: day(at),
                periodStart: day(from),
                periodEnd: day(to),
                amount: 1000,
                products: ["price"]
            )
        )
        return event(provider, id, at: at, [.facts(named(provider, purchase, rank, also: ids), [fact])])
    }

    static func anonymous(_ name: String) -> CustomerID {
        CustomerID(provider: ProviderID("revenuecat"), value: "$RCAnonymousID:" + name)
    }

    /// What a RevenueCat event says: a second-hand state, who it belongs to, and which ids are one person.
    static func cat(
        _ id: String,
        of chain: String,
        at: Double,
        period: Double,
        end: Double,
        users: [String],
        anonymous: [String] = [],
        _ condition: PurchaseState.Condition = .active,
        renews: Bool? = true,
        latest: String? = nil,
        environment: StoreEnvironment = .production
    ) -> IncomingEvent {
        let hidden = anonymous.map(Happening.anonymous)
        let facts: [Fact] = [
            .state(
                PurchaseState(
                    periodStart: day(period),
                    version: day(at),
                    condition: condition,
                    items: [.init(products: ["monthly"], end: day(end))],
                    willRenew: renews,
                    entitlements: ["pro"],
                    store: "app_store"
                )
            ),
            .owner(OwnerStatement(source: .own, at: day(at), users: users.map(person), anonymous: hidden)),
        ]
        var effects: [Effect] = [
            .facts(
                named(
                    "app_store",
                    chain,
                    also: latest.map { [$0] } ?? [],
                    environment: environment,
                    isSecondHand: true
                ),
                facts
            )
        ]
        if let first = users.first { effects += hidden.map { .link($0, person(first)) } }
        if users.count > 1 { effects.append(.samePerson(users.map(person))) }
        return event("revenuecat", id, at: at, effects, environment: environment)
    }

    static func transfer(
        _ id: String,
        at: Double,
        from: [String],
        to: [String],
        fromAnonymous: [String] = [],
        toAnonymous: [String] = [],
        environment: StoreEnvironment? = nil
    ) -> IncomingEvent {
        let move = Transfer(
            at: day(at),
            eventID: id,
            from: Holder(users: from.map(person), anonymous: fromAnonymous.map(anonymous)),
            to: Holder(users: to.map(person), anonymous: toAnonymous.map(anonymous)),
            environment: environment
        )
        return event("revenuecat", id, at: at, [.transfer(move)])
    }

    static func claim(_ id: String, at: Double, _ provider: String, _ externalID: String, by user: String)
        -> IncomingEvent
    {
        event(
            "manual",
            id,
            at: at,
            [
                .claim(provider: ProviderID(provider), externalID: externalID, user: person(user)),
                .link(CustomerID(provider: ProviderID(provider), value: externalID), person(user)),
            ]
        )
    }
}

extension PurchaseState.Condition {
    static func failing(periodIsUnpaid: Bool = false) -> Self {
        .failing(.init(grace: .configured, periodIsUnpaid: periodIsUnpaid))
    }
}
