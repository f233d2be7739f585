internal import Entitlements
internal import Platform
internal import ProviderKit
internal import SQLStorage
internal import Storage

/// `reconcile`: a look at everyone from a program of its own, a gateway running beside it or not.
public enum Reconcile {
    /// - Parameters:
    ///   - progress: Called as it goes on.
    ///   - found: Called with every difference, in words.
    /// - Throws: When there is no provider that can be asked, or the database cannot be used.
    public static func run(
        _ configuration: GatewayConfiguration,
        _ options: ReconcileOptions,
        progress: (ReconcileProgress) -> Void,
        found: (_ line: String) -> Void
    ) throws(ConfigurationError) -> ReconcileReport {
        try Maintenance.requireDatabase(configuration)
        let registry = try ProviderRegistry(configuration)
        let apis = try ProviderAPIs.all(configuration.environment, registry)
        guard !apis.isEmpty else {
            throw ConfigurationError(
                "reconcile",
                "no provider can be asked",
                hint: "set the key of a provider's API, such as STRIPE_API_KEY, or name the file with --env-file"
            )
        }
        do {
            if options.isDryRun, !(try configuration.location.pendingMigrations().isEmpty) {
                throw ConfigurationError(
                    configuration.location.name,
                    "it is of an earlier version, and a dry run changes nothing",
                    hint: "entitlement-gateway migrate"
                )
            }
            // What the rows are made with, also while a gateway changes it.
            let isServed = (try? configuration.location.storedPolicy()) != nil
            let store = try configuration.location.open(policy: isServed ? nil : configuration.policy)
            defer { store.close() }
            if !options.isDryRun { _ = store.submit(.license(.adopt(configuration.access.licenses))) { _ in } }
            let sync = try ProviderSync.start(apis, store)
            defer { sync.stop() }
            return try Reconciliation(sync, store, options) { false }.run(progress: progress) { found($0.text) }
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw ConfigurationError(
                configuration.location.name,
                "\(error)",
                hint: "run reconcile again: it goes on where it stopped"
            )
        }
    }
}
