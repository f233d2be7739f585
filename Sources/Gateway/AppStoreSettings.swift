internal import Crypto
internal import Entitlements
internal import Foundation
internal import Platform
internal import Providers

/// What the environment says of the App Store. What is set and cannot be used stops the start by its name.
struct AppStoreSettings {
    static let bundleVariable = "APP_STORE_BUNDLE_ID"
    static let appVariable = "APP_STORE_APP_APPLE_ID"
    static let rootsVariable = "APP_STORE_ROOT_CERTIFICATES"

    static let offerKeyIDVariable = "APP_STORE_OFFER_KEY_ID"
    static let offerKeyVariable = "APP_STORE_OFFER_PRIVATE_KEY"

    static let keyIDVariable = "APP_STORE_KEY_ID"
    static let issuerVariable = "APP_STORE_ISSUER_ID"
    static let keyVariable = "APP_STORE_PRIVATE_KEY"
    static let baseVariable = "APP_STORE_API_BASE"
    static let sandboxBaseVariable = "APP_STORE_SANDBOX_API_BASE"

    /// Nil when the App Store is off.
    let adapter: AppStoreAdapter?
    /// The App Store Server API, one for each environment; empty when it cannot be asked.
    let apis: [AppStoreAPI]
    /// Nil when no offers are signed.
    let offers: AppStoreOffers?

    init(_ environment: EnvironmentVariables) throws(ConfigurationError) {
        let roots = try Self.roots(environment)
        let app = try Self.app(environment)
        offers = try Self.offers(environment, app)
        guard let app else {
            adapter = nil
            apis = try Self.apis(environment, nil)
            return
        }
        let adapter: AppStoreAdapter
        do throws(KeyError) {
            adapter = AppStoreAdapter(verifier: try AppStoreVerifier(app: app, roots: roots))
        } catch {
            throw ConfigurationError(Self.rootsVariable, error.reason)
        }
        self.adapter = adapter
        apis = try Self.apis(environment, adapter)
    }

    /// The address of production counts for the sandbox as well when it is set and the sandbox's is not: what is turned to
    /// another place is turned whole.
    private static func apis(
        _ environment: EnvironmentVariables,
        _ adapter: AppStoreAdapter?
    ) throws(ConfigurationError) -> [AppStoreAPI] {
        let (id, path, issuer) = (environment[keyIDVariable], environment[keyVariable], environment[issuerVariable])
        guard id != nil || path != nil else { return [] }
        let needed = "the key's id, the team's issuer id and the key file belong together"
        guard let id else {
            throw ConfigurationError(keyIDVariable, "it is not set, and \(keyVariable) is", hint: needed)
        }
        guard let path else {
            throw ConfigurationError(keyVariable, "it is not set, and \(keyIDVariable) is", hint: needed)
        }
        guard let issuer else {
            throw ConfigurationError(issuerVariable, "it is not set, and \(keyIDVariable) is", hint: needed)
        }
        guard let adapter else {
            throw ConfigurationError(
                keyIDVariable,
                "\(bundleVariable) is not set",
                hint: "the App Store is asked about one app"
            )
        }
        let key = try key(keyVariable, path)
        let credentials: AppStoreAPI.Credentials
        do throws(KeyError) {
            credentials = try AppStoreAPI.Credentials(keyID: id, issuerID: issuer, key: key)
        } catch {
            throw ConfigurationError(keyVariable, "\(path): \(error.reason)", hint: keyHint)
        }
        let production = try ProviderAPIs.address(baseVariable, AppStoreAPI.defaultBase, environment)
        let standard = environment[baseVariable] == nil ? AppStoreAPI.defaultSandboxBase : production
        let sandbox = try ProviderAPIs.address(sandboxBaseVariable, standard, environment)
        return [(production, StoreEnvironment.production), (sandbox, .sandbox)].map { base, environment in
            AppStoreAPI(base: base, environment: environment, credentials: credentials, adapter: adapter)
        }
    }

    private static let keyHint = "the path of the .p8 file of the In-App Purchase key in App Store Connect"

    private static func key(_ name: String, _ path: String) throws(ConfigurationError) -> PrivateKey {
        guard let file = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError(name, "\(path) cannot be read", hint: keyHint)
        }
        do throws(KeyError) {
            return try PrivateKey(pem: [UInt8](file))
        } catch {
            throw ConfigurationError(name, "\(path): \(error.reason)", hint: keyHint)
        }
    }

    private static func app(_ environment: EnvironmentVariables) throws(ConfigurationError) -> AppStoreVerifier.App? {
        switch (environment[bundleVariable], environment[appVariable]) {
        case (nil, nil): return nil
        case (nil, _?):
            throw ConfigurationError(
                bundleVariable,
                "it is not set, and \(appVariable) is",
                hint: "both are needed: the bundle id stands in App Store Connect under App Information"
            )
        case (_?, nil):
            throw ConfigurationError(
                appVariable,
                "it is not set, and \(bundleVariable) is",
                hint: "both are needed: the Apple ID stands in App Store Connect under App Information"
            )
        case (let bundle?, let app?):
            guard let number = Int64(app), number > 0 else {
                throw ConfigurationError(
                    appVariable,
                    "it is no number",
                    hint: "the Apple ID of the app in App Store Connect, such as 1234567890"
                )
            }
            return AppStoreVerifier.App(bundleID: bundle, appAppleID: number)
        }
    }

    private static func offers(
        _ environment: EnvironmentVariables,
        _ app: AppStoreVerifier.App?
    ) throws(ConfigurationError) -> AppStoreOffers? {
        let (id, path) = (environment[offerKeyIDVariable], environment[offerKeyVariable])
        guard id != nil || path != nil else { return nil }
        guard let id, let path else {
            let (missing, other) =
                id == nil ? (offerKeyIDVariable, offerKeyVariable) : (offerKeyVariable, offerKeyIDVariable)
            throw ConfigurationError(missing, "it is not set, and \(other) is", hint: "both are needed to sign offers")
        }
        guard let app else {
            throw ConfigurationError(
                offerKeyIDVariable,
                "\(bundleVariable) is not set",
                hint: "an offer is signed for an app"
            )
        }
        let key = try key(offerKeyVariable, path)
        do throws(KeyError) {
            return try AppStoreOffers(
                keyID: id,
                key: key,
                bundleID: app.bundleID,
                issuerID: environment[issuerVariable]
            )
        } catch {
            throw ConfigurationError(offerKeyVariable, "\(path): \(error.reason)", hint: keyHint)
        }
    }

    private static func roots(_ environment: EnvironmentVariables) throws(ConfigurationError) -> [Certificate] {
        let apple: Certificate
        do throws(KeyError) {
            apple = try AppleRoot.certificate()
        } catch {
            throw ConfigurationError(
                "providers/app_store",
                error.reason,
                hint: "this program was not built as released"
            )
        }
        let paths = try environment.list(rootsVariable)
        guard !paths.isEmpty else { return [apple] }
        var roots: [Certificate] = []
        for path in paths { roots += try certificates(at: path) }
        return roots
    }

    private static let hint = "paths of certificates in DER or PEM, with commas between; not set: Apple Root CA - G3"

    private static func certificates(at path: String) throws(ConfigurationError) -> [Certificate] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError(rootsVariable, "\(path) cannot be read", hint: hint)
        }
        let found = Certificate.all(in: [UInt8](data))
        guard !found.isEmpty else { throw ConfigurationError(rootsVariable, "\(path) is no certificate", hint: hint) }
        guard found.allSatisfy(\.isAuthority) else {
            throw ConfigurationError(rootsVariable, "\(path) may not sign other certificates", hint: hint)
        }
        for certificate in found where certificate.fingerprint != AppleRoot.fingerprint {
            // Right for a test, and an open door for whoever has the key.
            Log.warning(
                "purchases signed under a root that is not Apple's are believed",
                ("setting", .string(rootsVariable)),
                ("file", .string(path)),
                ("sha256", .string(certificate.fingerprint))
            )
        }
        return found
    }
}
