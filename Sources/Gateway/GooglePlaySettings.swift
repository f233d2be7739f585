internal import Crypto
internal import Foundation
internal import Providers

/// What the environment says of Google Play. What is set and cannot be used stops the start by its name.
struct GooglePlaySettings {
    static let packageVariable = "GOOGLE_PLAY_PACKAGE_NAME"
    static let accountVariable = "GOOGLE_PLAY_SERVICE_ACCOUNT"
    static let audienceVariable = "GOOGLE_PLAY_PUSH_AUDIENCE"
    static let emailVariable = "GOOGLE_PLAY_PUSH_EMAIL"
    static let keysVariable = "GOOGLE_PLAY_JWKS"
    static let baseVariable = "GOOGLE_PLAY_API_BASE"

    /// Source: https://developers.google.com/identity/openid-connect/openid-connect#discovery
    private static let issuer = "https://accounts.google.com"
    private static let keysAddress = "https://www.googleapis.com/oauth2/v3/certs"

    /// Who pushes notifications.
    struct Push: Sendable {
        var email: String
        /// Google, as the issuer of the tokens that pushes carry.
        var issuer: TokenIssuer
    }

    /// Nil when Google Play is off.
    let api: GooglePlayAPI?
    let adapter: GooglePlayAdapter?
    /// Nil when no notifications are taken.
    let push: Push?

    init(_ environment: EnvironmentVariables) throws(ConfigurationError) {
        let package = environment[Self.packageVariable]
        let path = environment[Self.accountVariable]
        let (audience, email) = (environment[Self.audienceVariable], environment[Self.emailVariable])
        let set = [
            (Self.packageVariable, package), (Self.accountVariable, path), (Self.audienceVariable, audience),
            (Self.emailVariable, email),
        ]
        guard let (first, _) = set.first(where: { $0.1 != nil }) else {
            (api, adapter, push) = (nil, nil, nil)
            return
        }
        guard let package else { throw Self.missing(Self.packageVariable, first) }
        guard let path else { throw Self.missing(Self.accountVariable, first) }
        let adapter = GooglePlayAdapter(package: package)
        self.adapter = adapter
        let base = try ProviderAPIs.address(Self.baseVariable, GooglePlayAPI.defaultBase, environment)
        api = GooglePlayAPI(base: base, adapter: adapter, account: try Self.account(path))
        switch (audience, email) {
        case (nil, nil): push = nil
        case (let audience?, let email?):
            var issuer = TokenIssuer(issuer: Self.issuer, audiences: [audience], algorithms: [.rs256])
            issuer.userIDClaim = "email"
            let keys = environment[Self.keysVariable] ?? Self.keysAddress
            let isAddress = keys.hasPrefix("https://") || keys.hasPrefix("http://")
            if !isAddress, !FileManager.default.isReadableFile(atPath: keys) {
                throw ConfigurationError(
                    Self.keysVariable,
                    "\(keys) cannot be read",
                    hint: "an https address or the path of a JWK set; not set: Google's"
                )
            }
            issuer.keys = isAddress ? .url(keys) : .file(keys)
            push = Push(email: email, issuer: issuer)
        case (nil, _): throw Self.missing(Self.audienceVariable, Self.emailVariable)
        case (_, nil): throw Self.missing(Self.emailVariable, Self.audienceVariable)
        }
    }

    private static func missing(_ name: String, _ other: String) -> ConfigurationError {
        ConfigurationError(
            name,
            "it is not set although \(other) is",
            hint:
                "the app's package and a service account are needed to ask Google, the push's audience and e-mail to be told"
        )
    }

    private static func account(_ path: String) throws(ConfigurationError) -> GoogleServiceAccount {
        let hint = "the path of the JSON key file of a service account that may see orders and subscriptions"
        guard let file = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError(accountVariable, "\(path) cannot be read", hint: hint)
        }
        do throws(KeyError) {
            return try GoogleServiceAccount(file: [UInt8](file))
        } catch {
            throw ConfigurationError(accountVariable, "\(path): \(error.reason)", hint: hint)
        }
    }
}
