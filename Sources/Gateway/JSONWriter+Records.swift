internal import Entitlements
internal import Storage

/// Records as every answer about a person writes them.
extension JSONWriter {
    /// `"name":[…]`.
    mutating func list<Element>(
        _ name: String,
        _ elements: [Element],
        _ write: (inout JSONWriter, Element) -> Void
    ) {
        key(name)
        raw("[")
        for element in elements {
            separate()
            write(&self, element)
        }
        raw("]")
    }

    /// Without the braces, so that more can follow.
    mutating func members(of event: EventView) {
        key("provider")
        string(event.provider.name)
        key("event_id")
        string(event.eventID)
        key("type")
        string(event.type)
        key("outcome")
        string(event.outcome.name)
        key("user_id")
        optional(event.user)
        key("environment")
        optional(event.environment?.name)
        key("occurred_at")
        time(event.occurredAt)
        key("received_at")
        time(event.receivedAt)
        key("reason")
        optional(event.reason)
    }

    /// Without whom it was done to, and without the braces.
    mutating func members(of entry: AuditView) {
        key("at")
        time(entry.at)
        key("key_id")
        string(entry.keyID)
        key("action")
        string(entry.action)
        key("detail")
        string(entry.detail)
    }

    mutating func identity(_ identity: IdentityView) {
        raw("{")
        key("provider")
        string(identity.provider.name)
        key("external_id")
        string(identity.externalID)
        key("at")
        time(identity.at)
        key("source")
        string(identity.isClaim ? "admin" : "event")
        raw("}")
    }

    mutating func grant(_ grant: GrantView) {
        raw("{")
        key("grant_id")
        string(grant.grantID)
        key("entitlement")
        string(grant.entitlement)
        key("until")
        time(grant.until)
        key("reason")
        string(grant.reason)
        key("created_at")
        time(grant.createdAt)
        key("ended_at")
        time(grant.endedAt)
        raw("}")
    }
}
