internal import Entitlements
internal import ProviderKit

/// The fields of one RevenueCat event and how they are read.
struct RevenueCatEvent {
    struct Failure: Error {
        var reason: String
    }

    let fields: JSONPart
    let type: String
    let id: String
    /// When RevenueCat made the event; retries keep it. What lies more than a day ahead of its arrival counts as that.
    let time: UnixMillis

    /// Sets the event's id, type, time and environment as far as they can be read.
    init(_ document: JSONPart, receivedAt: UnixMillis?, into event: inout NormalizedEvent) throws(Failure) {
        guard let fields = document["event"], fields.isObject else { throw Failure(reason: "/event is missing") }
        self.fields = fields
        guard let id = fields["id"]?.string, !id.isEmpty else {
            throw Failure(reason: "/event/id is missing or no text")
        }
        self.id = id
        event.eventID = id
        guard let type = fields["type"]?.string, !type.isEmpty else {
            throw Failure(reason: "/event/type is missing or no text")
        }
        self.type = type
        event.type = type
        guard Meaning(type) != .none else {
            // Of a type that says nothing of access nothing has to be understood.
            time = (try? Self.time(fields, "event_timestamp_ms")) ?? receivedAt ?? .earliest
            event.occurredAt = time == .earliest ? nil : time
            event.environment = try? Self.environment(fields)
            return
        }
        guard let told = try Self.time(fields, "event_timestamp_ms") else {
            throw Failure(reason: "/event/event_timestamp_ms is missing")
        }
        time = receivedAt.map { told > $0.adding(days: 1) ? $0 : told } ?? told
        event.occurredAt = time
        event.environment = try Self.environment(fields)
    }

    /// What a type is about. A type that is not known yet says nothing.
    enum Meaning {
        case purchase, temporaryGrant, transfer, redemption, identity, none

        init(_ type: String) {
            switch type {
            case "INITIAL_PURCHASE", "RENEWAL", "UNCANCELLATION", "SUBSCRIPTION_EXTENDED", "CANCELLATION", "EXPIRATION",
                "BILLING_ISSUE", "SUBSCRIPTION_PAUSED", "NON_RENEWING_PURCHASE", "REFUND_REVERSED":
                self = .purchase
            case "TEMPORARY_ENTITLEMENT_GRANT": self = .temporaryGrant
            case "TRANSFER": self = .transfer
            case "PURCHASE_REDEEMED": self = .redemption
            // It changes no access, and names the ids of one person like every other event about a purchase.
            case "SUBSCRIBER_ALIAS", "PRODUCT_CHANGE": self = .identity
            default: self = .none
            }
        }
    }

    /// Milliseconds since 1970; RevenueCat writes them as whole or as floating numbers.
    static func time(_ fields: JSONPart, _ name: String) throws(Failure) -> UnixMillis? {
        guard let value = fields[name], !value.isNull else { return nil }
        guard let millis = value.integer else { throw Failure(reason: "/event/\(name) is \(value.kind), not a time") }
        return UnixMillis(millis).clamped
    }

    func time(_ name: String) throws(Failure) -> UnixMillis? { try Self.time(fields, name) }

    func text(_ name: String) throws(Failure) -> String? {
        guard let value = fields[name], !value.isNull else { return nil }
        guard let text = value.string else { throw Failure(reason: "/event/\(name) is \(value.kind), not a text") }
        return text.isEmpty ? nil : text
    }

    func texts(_ name: String) throws(Failure) -> [String]? {
        guard let value = fields[name], !value.isNull else { return nil }
        guard let list = value.array else { throw Failure(reason: "/event/\(name) is \(value.kind), not a list") }
        return list.compactMap(\.string)
    }

    static func environment(_ fields: JSONPart) throws(Failure) -> StoreEnvironment? {
        guard let value = fields["environment"] ?? fields["purchase_environment"], !value.isNull else { return nil }
        switch value.string {
        // Nobody pays in the Test Store, whatever it says.
        case "PRODUCTION": return fields["store"]?.string?.uppercased() == "TEST_STORE" ? .sandbox : .production
        case "SANDBOX": return .sandbox
        default: throw Failure(reason: "/event/environment is neither PRODUCTION nor SANDBOX")
        }
    }

    // MARK: - Who

    /// The ids of one person, the ones that are users in the order given and the anonymous ones; words that stand for
    /// nobody and ids with a slash are dropped (contract section 6).
    static func holder(_ ids: [String]) -> Holder {
        var holder = Holder(users: [], anonymous: [])
        for id in ids {
            if id.hasPrefix(UserID.anonymousPrefix) {
                let customer = CustomerID(provider: RevenueCatAdapter.name, value: id)
                if !holder.anonymous.contains(customer) { holder.anonymous.append(customer) }
            } else if !id.contains("/"), let user = UserID(id), !holder.users.contains(user) {
                holder.users.append(user)
            }
        }
        return holder
    }

    /// The person an event is about: `app_user_id` first, for the purchase is that one's when it is a real id.
    func holder() throws(Failure) -> Holder {
        var ids: [String] = []
        if let id = try text("app_user_id") { ids.append(id) }
        if let id = try text("original_app_user_id") { ids.append(id) }
        ids += try texts("aliases") ?? []
        return Self.holder(ids)
    }
}
