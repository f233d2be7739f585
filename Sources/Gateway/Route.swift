/// What a request asked for, as it is measured: by the template of its path, never by what stands in it.
enum Route: UInt8, CaseIterable, Sendable {
    /// No path of ours.
    case other
    case entitlement
    case entitlementByQuery
    case gate
    case query
    case webhook
    case user
    case grants
    case grant
    case identities
    case events
    case replay
    case audit
    case sync
    case appStoreTransactions
    case offers
    case googlePlayPurchases
    case export
    case changes
    case notifications
    case metrics
    case health
    case readiness

    var template: StaticString {
        switch self {
        case .other: "other"
        case .entitlement: "/v1/users/{user_id}/entitlement"
        case .entitlementByQuery: "/v1/entitlement"
        case .gate: "/v1/gate/{user_id}"
        case .query: "/v1/entitlements/query"
        case .webhook: "/v1/webhooks/{provider}"
        case .user: "/v1/users/{user_id}"
        case .grants: "/v1/users/{user_id}/grants"
        case .grant: "/v1/users/{user_id}/grants/{grant_id}"
        case .identities: "/v1/users/{user_id}/identities"
        case .events: "/v1/events"
        case .replay: "/v1/events/{provider}/{event_id}/replay"
        case .audit: "/v1/audit"
        case .appStoreTransactions: "/v1/app_store/transactions"
        case .offers: "/v1/app_store/promotional-offers"
        case .googlePlayPurchases: "/v1/google_play/purchases"
        case .sync: "/v1/users/{user_id}/sync"
        case .export: "/v1/users/{user_id}/export"
        case .changes: "/v1/changes"
        case .notifications: "/v1/notifications"
        case .metrics: "/metrics"
        case .health: "/healthz"
        case .readiness: "/readyz"
        }
    }

    /// For operators only: with an address of its own (`--admin-listen`) it is nowhere else.
    var isForOperators: Bool {
        switch self {
        case .user, .grants, .grant, .identities, .events, .replay, .audit, .export, .notifications, .metrics: true
        case .other, .entitlement, .entitlementByQuery, .gate, .query, .webhook, .sync, .appStoreTransactions,
            .offers, .googlePlayPurchases, .changes, .health, .readiness:
            false
        }
    }
}
