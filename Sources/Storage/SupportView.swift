public import Entitlements

/// An event as administrators see it.
public struct EventView: Hashable, Sendable {
    public var sequence: Int64
    public var provider: ProviderID
    public var eventID: String
    public var type: String
    public var outcome: EventOutcome
    public var environment: StoreEnvironment?
    public var user: String?
    public var occurredAt: UnixMillis?
    public var receivedAt: UnixMillis
    /// Why it was quarantined or only observed.
    public var reason: String?

    public init(
        sequence: Int64,
        provider: ProviderID,
        eventID: String,
        type: String,
        outcome: EventOutcome,
        environment: StoreEnvironment?,
        user: String?,
        occurredAt: UnixMillis?,
        receivedAt: UnixMillis,
        reason: String?
    ) {
        self.sequence = sequence
        self.provider = provider
        self.eventID = eventID
        self.type = type
        self.outcome = outcome
        self.environment = environment
        self.user = user
        self.occurredAt = occurredAt
        self.receivedAt = receivedAt
        self.reason = reason
    }
}

/// Which events are asked for.
public struct EventFilter: Hashable, Sendable {
    public var outcome: EventOutcome?
    public var provider: ProviderID?
    public var user: UserID?
    public var limit: Int
    /// Only events before this place; nil: from the newest.
    public var before: Int64?

    public init(
        outcome: EventOutcome? = nil,
        provider: ProviderID? = nil,
        user: UserID? = nil,
        limit: Int = 50,
        before: Int64? = nil
    ) {
        self.outcome = outcome
        self.provider = provider
        self.user = user
        self.limit = limit
        self.before = before
    }
}

/// A purchase as administrators see it.
public struct PurchaseView: Hashable, Sendable {
    public var purchaseID: String
    public var environment: StoreEnvironment
    public var outcome: PurchaseOutcome?
    public var provider: ProviderID
    public var externalIDs: [String]
    /// What was said of it, in order of arrival.
    public var facts: [ToldFact]

    public init(
        purchaseID: String,
        environment: StoreEnvironment,
        outcome: PurchaseOutcome?,
        provider: ProviderID,
        externalIDs: [String],
        facts: [ToldFact]
    ) {
        self.facts = facts
        self.purchaseID = purchaseID
        self.environment = environment
        self.outcome = outcome
        self.provider = provider
        self.externalIDs = externalIDs
    }
}

/// That a user is known to a provider under another id, and since when.
public struct IdentityView: Hashable, Sendable {
    public var provider: ProviderID
    public var externalID: String
    public var at: UnixMillis
    /// Said by an administrator, not by an event.
    public var isClaim: Bool

    public init(provider: ProviderID, externalID: String, at: UnixMillis, isClaim: Bool) {
        self.provider = provider
        self.externalID = externalID
        self.at = at
        self.isClaim = isClaim
    }
}

/// A grant made by hand, as it was asked for, and when it was ended.
public struct GrantView: Hashable, Sendable {
    public var grantID: String
    public var until: UnixMillis?
    public var reason: String
    public var entitlement: String
    public var createdAt: UnixMillis
    public var endedAt: UnixMillis?

    public init(
        grantID: String,
        until: UnixMillis?,
        reason: String,
        entitlement: String,
        createdAt: UnixMillis,
        endedAt: UnixMillis?
    ) {
        self.grantID = grantID
        self.until = until
        self.reason = reason
        self.entitlement = entitlement
        self.createdAt = createdAt
        self.endedAt = endedAt
    }
}

/// Everything about one person that explains their row.
public struct UserView: Hashable, Sendable {
    /// All ids of the person.
    public var ids: [UserID]
    public var purchases: [PurchaseView]
    public var identities: [IdentityView]
    public var grants: [GrantView]
    public var events: [EventView]

    public init(
        ids: [UserID],
        purchases: [PurchaseView],
        identities: [IdentityView],
        grants: [GrantView],
        events: [EventView]
    ) {
        self.ids = ids
        self.purchases = purchases
        self.identities = identities
        self.grants = grants
        self.events = events
    }
}

extension UserView {
    /// The purchases in production, as the rules see them.
    public var candidates: [Candidate] {
        purchases.filter { $0.environment == .production }.compactMap { purchase in
            purchase.outcome.map { Candidate(purchaseID: purchase.purchaseID, outcome: $0) }
        }
    }
}

/// A change made with a key.
public struct AuditView: Hashable, Sendable {
    public var sequence: Int64
    public var at: UnixMillis
    public var keyID: String
    public var action: String
    public var user: String?
    public var detail: String

    public init(sequence: Int64, at: UnixMillis, keyID: String, action: String, user: String?, detail: String) {
        self.sequence = sequence
        self.at = at
        self.keyID = keyID
        self.action = action
        self.user = user
        self.detail = detail
    }
}

/// An event with its kept body, to be taken in again.
public struct RecordedEvent: Hashable, Sendable {
    public var sequence: Int64
    public var eventID: String
    public var outcome: EventOutcome
    public var receivedAt: UnixMillis
    public var payload: [UInt8]?

    public init(sequence: Int64, eventID: String, outcome: EventOutcome, receivedAt: UnixMillis, payload: [UInt8]?) {
        self.sequence = sequence
        self.eventID = eventID
        self.outcome = outcome
        self.receivedAt = receivedAt
        self.payload = payload
    }
}
