/// What a request asked for, as it is measured: by the template of its path, never by what stands in it.
enum Route: UInt8, CaseIterable, Sendable {
    /// No path of ours.
    case other
    case entitlement
    case entitlementByQuery
    case gate
    case ownGate
    case query
    case ownEntitlement
    case ownDevices
    case ownDevice
    case ownSync
    case licenses
    case license
    case licenseKey
    case licenseActivation
    case licenseValidation
    case licenseDeactivation
    case signingKeys
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
    case offerJWS
    case googlePlayPurchases
    case export
    case changes
    case notifications
    case providers
    case parked
    case overlapping
    case notificationResend
    case notificationsResend
    case description
    case metrics
    case page
    case health
    case readiness

    var template: StaticString {
        switch self {
        case .other: "other"
        case .entitlement: "/v1/users/{user_id}/entitlement"
        case .entitlementByQuery: "/v1/entitlement"
        case .gate: "/v1/gate/{user_id}"
        case .ownGate: "/v1/gate"
        case .query: "/v1/entitlements/query"
        case .ownEntitlement: "/v1/me/entitlement"
        case .ownDevices: "/v1/me/devices"
        case .ownDevice: "/v1/me/devices/{device_id}"
        case .ownSync: "/v1/me/sync"
        case .licenses: "/v1/licenses"
        case .license: "/v1/licenses/{license_id}"
        case .licenseKey: "/v1/licenses/{license_id}/key"
        case .licenseActivation: "/v1/licenses/activate"
        case .licenseValidation: "/v1/licenses/validate"
        case .licenseDeactivation: "/v1/licenses/deactivate"
        case .signingKeys: "/.well-known/jwks.json"
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
        case .offerJWS: "/v1/app_store/offer-jws"
        case .googlePlayPurchases: "/v1/google_play/purchases"
        case .sync: "/v1/users/{user_id}/sync"
        case .export: "/v1/users/{user_id}/export"
        case .changes: "/v1/changes"
        case .notifications: "/v1/notifications"
        case .providers: "/v1/providers"
        case .parked: "/v1/purchases/parked"
        case .overlapping: "/v1/purchases/overlapping"
        case .notificationResend: "/v1/notifications/{message_id}/resend"
        case .notificationsResend: "/v1/notifications/resend"
        case .description: "/openapi.json"
        case .metrics: "/metrics"
        case .page: "/admin"
        case .health: "/healthz"
        case .readiness: "/readyz"
        }
    }

    /// For operators only: with an address of its own (`--admin-listen`) it is nowhere else.
    var isForOperators: Bool {
        switch self {
        case .user, .grants, .grant, .identities, .events, .replay, .audit, .export, .notifications,
            .notificationResend, .notificationsResend, .providers, .parked, .overlapping, .licenses, .license,
            .licenseKey, .metrics, .page:
            true
        case .other, .entitlement, .entitlementByQuery, .gate, .ownGate, .query, .webhook, .sync,
            .appStoreTransactions, .offers, .offerJWS, .googlePlayPurchases, .changes, .ownEntitlement, .ownDevices,
            .ownDevice, .ownSync, .licenseActivation, .licenseValidation, .licenseDeactivation, .signingKeys,
            .description, .health, .readiness:
            false
        }
    }
}
