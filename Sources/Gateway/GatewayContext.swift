internal import Entitlements
internal import SQLStorage
internal import Storage

/// What every loop has a copy of. Nothing in it changes; when the configuration is read again, each loop is sent another.
struct GatewayContext: Sendable {
    let services: GatewayServices
    let registry: ProviderRegistry
    let environmentKeys: [KeyRing.Key]
    /// What the database held when this was made; each loop is told of later changes.
    let storedKeys: [KeyRecord]
    let policy: EntitlementPolicy
    let defaultEntitlement: [UInt8]
    let metricsAreOpen: Bool
    /// What happens to a submitted purchase of somebody else, where the app does not say.
    let restore: PurchaseSubmission.Restore
    /// By provider; at least those that are on.
    let webhooks: [String: WebhookMeasurements]

    var store: any Store { services.store }
    var sync: ProviderSync { services.sync }
    var feed: ChangeFeed { services.feed }
    var access: AccessSettings { services.access }
    var signingKeys: SigningKeyFile { services.signingKeys }
    var publishedKeys: PublishedKeys? { services.publishedKeys }
    var buyerAddresses: BuyerAddresses? { services.buyerAddresses }
    var tellLoops: @Sendable (LoopMessage) -> Void { services.tellLoops }
    var receivers: [NotifyReceiver] { services.receivers }

    /// Makes everything that a configuration decides, but what is written with it.
    ///
    /// - Parameter mintsKeys: Without any key, keys are made; only for a first start.
    /// - Throws: What of it cannot work.
    init(
        _ configuration: GatewayConfiguration,
        _ services: GatewayServices,
        mintsKeys: Bool
    ) throws(ConfigurationError) {
        self.services = services
        registry = try ProviderRegistry(configuration)
        try registry.refuseUnknownProviders(in: configuration.policy)
        let keys = try KeyStore.keys(configuration, mintsKeys: mintsKeys)
        (environmentKeys, storedKeys) = (keys.environment, keys.stored)
        policy = configuration.policy
        defaultEntitlement = Array(configuration.policy.defaultEntitlement.utf8)
        metricsAreOpen = configuration.metricsAreOpen
        restore = configuration.restore
        webhooks = services.measurements.webhooks(of: registry.adapters.keys)
    }
}

/// What lives as long as the gateway, whatever is configured.
struct GatewayServices: Sendable {
    let store: any Store
    let counting: StoreCounting
    let measurements: Measurements
    let readiness: Readiness
    let sync: ProviderSync
    let feed: ChangeFeed
    let receivers: [NotifyReceiver]
    let access: AccessSettings
    /// As it was at the start; each loop looks after its own.
    let signingKeys: SigningKeyFile
    /// Nil when no issuer publishes keys.
    let publishedKeys: PublishedKeys?
    /// Google's place among the issuers whose keys are fetched, when it pushes notifications: the last one.
    let pushIssuer: Int?
    /// Nil when no hashes of addresses are kept.
    let buyerAddresses: BuyerAddresses?
    let tellLoops: @Sendable (LoopMessage) -> Void
    /// The place among the listen addresses of the one for operators; nil when there is none of its own.
    let adminListener: Int?
}
