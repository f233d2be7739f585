internal import Entitlements
internal import ProviderKit
internal import Providers

/// The providers of this gateway: which are on, and which are known but have no secret.
struct ProviderRegistry: Sendable {
    private(set) var adapters: [String: any ProviderAdapter] = [:]
    /// Signs offers for the App Store; nil when no key for them is set.
    private(set) var offers: AppStoreOffers?
    /// The App Store Server API, one for each environment; empty when it cannot be asked.
    private(set) var appStoreAPIs: [AppStoreAPI] = []
    /// Who pushes Google Play's notifications; nil when none are taken.
    private(set) var googlePush: GooglePlaySettings.Push?
    /// Known providers that are off → the variable that would turn them on.
    private(set) var off: [String: String] = [:]

    /// Every manifest, of providers that are on and that are off.
    let manifests: [Manifest]

    init(_ configuration: GatewayConfiguration) throws(ConfigurationError) {
        let environment = configuration.environment
        let authorization = environment["REVENUECAT_WEBHOOK_AUTHORIZATION"]
        let signing = try environment.list("REVENUECAT_WEBHOOK_SECRET")
        if authorization != nil || !signing.isEmpty {
            let secrets = RevenueCatAdapter.Secrets(authorization: authorization, signing: signing)
            adapters[RevenueCatAdapter.name.name] = RevenueCatAdapter(secrets: secrets)
        } else {
            off[RevenueCatAdapter.name.name] = "REVENUECAT_WEBHOOK_AUTHORIZATION or REVENUECAT_WEBHOOK_SECRET"
        }
        let appStore = try AppStoreSettings(environment)
        offers = appStore.offers
        appStoreAPIs = appStore.apis
        if let adapter = appStore.adapter {
            adapters[AppStoreAdapter.name.name] = adapter
        } else {
            off[AppStoreAdapter.name.name] = "\(AppStoreSettings.bundleVariable) and \(AppStoreSettings.appVariable)"
        }
        let googlePlay = try GooglePlaySettings(environment)
        googlePush = googlePlay.push
        if let adapter = googlePlay.adapter, googlePush != nil {
            adapters[GooglePlayAdapter.name.name] = adapter
        } else {
            let push = "\(GooglePlaySettings.audienceVariable) and \(GooglePlaySettings.emailVariable)"
            let api = "\(GooglePlaySettings.packageVariable), \(GooglePlaySettings.accountVariable), "
            off[GooglePlayAdapter.name.name] = (googlePlay.adapter == nil ? api : "") + push
        }
        manifests = try Self.manifests(configuration.providersFolder)
        for manifest in manifests {
            let secrets = try environment.list(manifest.secretVariable)
            if secrets.isEmpty {
                off[manifest.provider.name] = manifest.secretVariable
            } else {
                guard secrets.allSatisfy(manifest.check.canUse) else {
                    throw ConfigurationError(
                        manifest.secretVariable,
                        "this secret of \(manifest.provider.name) cannot be used",
                        hint: manifest.check.secretShape
                    )
                }
                adapters[manifest.provider.name] = ManifestAdapter(manifest: manifest, secrets: secrets)
            }
        }
    }

    /// A product map under a name that nobody has.
    func refuseUnknownProviders(in policy: EntitlementPolicy) throws(ConfigurationError) {
        for provider in policy.products.keys.sorted() where !isKnown(provider.name) {
            throw ConfigurationError(
                "/products/\(provider.name)",
                "no such provider",
                hint:
                    "under a wrong name the map has no effect, and every product of the provider meant grants the default"
            )
        }
    }

    /// The built-in manifests and those of the folder; one of a built-in name replaces it.
    static func manifests(_ folder: String?) throws(ConfigurationError) -> [Manifest] {
        var manifests: [String: Manifest] = [:]
        do throws(ManifestError) {
            for manifest in try BuiltInProviders.manifests() { manifests[manifest.provider.name] = manifest }
        } catch {
            throw ConfigurationError(error.file, error.reason)
        }
        if let folder {
            for found in try ManifestFolder(folder).manifests() { manifests[found.provider.name] = found }
        }
        return manifests.values.sorted { $0.provider < $1.provider }
    }

    func isKnown(_ name: String) -> Bool {
        adapters[name] != nil || off[name] != nil
    }
}
