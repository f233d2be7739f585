internal import ProviderKit
internal import Providers

/// The providers' APIs for which the seller has set credentials.
enum ProviderAPIs {
    /// Whether an environment variable decides whom the thread that asks providers can ask: that is settled at the start.
    static func isSetting(_ name: String) -> Bool {
        name.hasPrefix("GOOGLE_PLAY_") || appStoreNames.contains(name) || name == revenueCatKey
            || name == revenueCatProject
            || name.hasSuffix("_API_KEY") || name.hasSuffix("_API_BASE")
    }

    private static let appStoreNames: Set = [AppStoreSettings.keyIDVariable, AppStoreSettings.keyVariable]
    private static let revenueCatKey = "REVENUECAT_SECRET_KEY"
    private static let revenueCatProject = "REVENUECAT_PROJECT_ID"

    /// - Throws: For half a pair of credentials, or an address that is none.
    static func all(
        _ environment: EnvironmentVariables,
        _ registry: ProviderRegistry
    ) throws(ConfigurationError) -> [any ProviderAPI] {
        var apis: [any ProviderAPI] = []
        if let api = try revenueCat(environment) { apis.append(api) }
        if let api = try GooglePlaySettings(environment).api { apis.append(api) }
        apis += registry.appStoreAPIs as [any ProviderAPI]
        for manifest in registry.manifests {
            guard let described = manifest.api, let key = environment[described.keyVariable] else { continue }
            let base = try address(described.baseVariable, described.base, environment)
            if let api = ManifestAPI(manifest: manifest, base: base, key: key) { apis.append(api) }
        }
        return apis
    }

    private static func revenueCat(_ environment: EnvironmentVariables) throws(ConfigurationError) -> RevenueCatAPI? {
        let (key, project) = (environment[revenueCatKey], environment[revenueCatProject])
        switch (key, project) {
        case (nil, nil): return nil
        case (let key?, let project?):
            let base = try address("REVENUECAT_API_BASE", RevenueCatAPI.defaultBase, environment)
            return RevenueCatAPI(base: base, key: key, project: project)
        case (nil, _): throw missing(revenueCatKey, with: revenueCatProject)
        case (_, nil): throw missing(revenueCatProject, with: revenueCatKey)
        }
    }

    private static func missing(_ name: String, with other: String) -> ConfigurationError {
        ConfigurationError(name, "it is not set although \(other) is", hint: "set both, or neither")
    }

    static func address(
        _ name: String,
        _ standard: String,
        _ environment: EnvironmentVariables
    ) throws(ConfigurationError) -> String {
        let text = environment[name] ?? standard
        guard text.hasPrefix("https://") || text.hasPrefix("http://") else {
            throw ConfigurationError(name, "no address of a server", hint: "it begins with https://")
        }
        return text
    }
}
