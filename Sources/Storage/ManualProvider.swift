public import Entitlements

/// The provider of grants and identities made by hand: a grant is a purchase like any other.
public enum ManualProvider {
    public static let id = ProviderID("manual")

    /// The event of a grant, given or ended.
    package static func event(granting request: GrantRequest, eventID: String) -> IncomingEvent {
        var state = PurchaseState(
            periodStart: nil,
            version: request.by.at,
            condition: .active,
            items: [.init(products: [], end: request.until)],
            willRenew: false,
            isOneTime: request.until == nil,
            purchasedAt: request.by.at,
            entitlements: [request.entitlement],
            store: id.name
        )
        if request.until != nil { state.periodStart = request.by.at }
        let facts: [Fact] = [
            .state(state), .owner(OwnerStatement(source: .own, at: request.by.at, users: [request.user])),
        ]
        return event(type: "grant", eventID, [.facts(reference(request.user, request.grantID), facts)], request.by.at)
    }

    package static func event(
        ending grantID: String,
        of user: UserID,
        eventID: String,
        at moment: UnixMillis
    ) -> IncomingEvent {
        let end = Adjustment(
            id: "end of \(grantID)",
            kind: .dispute,
            standing: .effective,
            size: .full,
            version: moment,
            at: moment
        )
        return event(type: "grant_ended", eventID, [.facts(reference(user, grantID), [.adjustment(end)])], moment)
    }

    package static func event(adding request: IdentityRequest, eventID: String) -> IncomingEvent {
        var effects: [Effect] = [
            .claim(provider: request.provider, externalID: request.externalID, user: request.user),
            .link(CustomerID(provider: request.provider, value: request.externalID), request.user),
        ]
        if !request.samePerson.isEmpty { effects.append(.samePerson([request.user] + request.samePerson)) }
        return event(type: "identity", eventID, effects, request.by.at)
    }

    /// Grants of different people may have the same id, so the person is part of the namespace.
    package static func reference(_ user: UserID, _ grantID: String) -> PurchaseReference {
        let external = ExternalID(namespace: "manual:" + user.value, value: grantID)
        return PurchaseReference(environment: .production, ids: [.init(id: external, rank: .oneTime)])
    }

    private static func event(
        type: String,
        _ eventID: String,
        _ effects: [Effect],
        _ moment: UnixMillis
    ) -> IncomingEvent {
        IncomingEvent(
            provider: id,
            event: NormalizedEvent(
                eventID: eventID,
                type: type,
                occurredAt: moment,
                environment: .production,
                effects: effects
            ),
            receivedAt: moment,
            redactedPayload: { nil }
        )
    }
}
