internal import Entitlements
internal import Foundation
internal import ProviderKit
internal import Providers

/// The providers of this gateway: which are on, and which are known but have no secret.
struct ProviderRegistry: Sendable {
    private(set) var adapters: [String: any ProviderAdapter] = [:]
    /// Signs offers for the App Store; nil when no key for them is set.
    private(set) var offers: AppStoreOffers?
    /// Known providers that are off → the variable that would turn them on.
    private(set) var off: [String: String] = [:]

    /// Names that identities may speak of although no adapter takes their deliveries in.
    static let stores = ["google_play"]

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
        if let verifier = appStore.verifier {
            adapters[AppStoreAdapter.name.name] = AppStoreAdapter(verifier: verifier)
        } else {
            off[AppStoreAdapter.name.name] = "\(AppStoreSettings.bundleVariable) and \(AppStoreSettings.appVariable)"
        }
        for manifest in try Self.manifests(configuration.providersFolder) {
            let secrets = try environment.list(manifest.secretVariable)
            if secrets.isEmpty {
                off[manifest.provider.name] = manifest.secretVariable
            } else {
                guard secrets.allSatisfy(manifest.signature.canUse) else {
                    throw ConfigurationError(
                        manifest.secretVariable,
                        "no key can be made of this secret",
                        hint: "copy it whole from \(manifest.provider.name)'s webhook settings"
                    )
                }
                adapters[manifest.provider.name] = ManifestAdapter(manifest: manifest, secrets: secrets)
            }
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
        guard let folder else { return manifests.values.sorted { $0.provider < $1.provider } }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            throw ConfigurationError(folder, "no such folder", hint: "--providers names a folder of manifests")
        }
        for name in names.sorted() where name.hasSuffix(".json") {
            let path = folder + "/" + name
            guard let data = FileManager.default.contents(atPath: path) else {
                throw ConfigurationError(path, "it cannot be read")
            }
            do throws(ManifestError) {
                let manifest = try Manifest(json: [UInt8](data), file: path)
                manifests[manifest.provider.name] = manifest
            } catch {
                throw ConfigurationError(path, error.reason)
            }
        }
        return manifests.values.sorted { $0.provider < $1.provider }
    }

    func isKnown(_ name: String) -> Bool {
        adapters[name] != nil || off[name] != nil || Self.stores.contains(name)
    }
}
