public import Entitlements
public import Storage

/// Everything the gateway is started with.
public struct GatewayConfiguration: Sendable {
    public var listen = "127.0.0.1:8080"
    public var adminListen: String?
    public var database = "gateway.db"
    /// Folder of further manifests.
    public var providersFolder: String?
    public var policy = EntitlementPolicy(
        firstProviders: [ProviderID("app_store"), ProviderID("google_play"), ProviderID("revenuecat")],
        lastProviders: [ProviderID("manual")]
    )
    public var metricsAreOpen = false
    /// What happens to a purchase of somebody else that an app submits.
    public var restore = PurchaseSubmission.Restore.transfer
    public var environment: EnvironmentVariables
    /// Settings that are known but have no effect in this version; the start says so.
    public var withoutEffect: [String] = []

    /// Reads flags, then the environment, then `gateway.json`.
    ///
    /// - Parameter flags: `--name` → value, without the dashes.
    /// - Throws: The first thing that cannot work.
    public init(flags: [String: String], environment: EnvironmentVariables) throws(ConfigurationError) {
        self.environment = environment
        if let file = flags["env-file"] { try self.environment.read(file: file) }
        func setting(_ flag: String, _ variable: String) -> String? {
            flags[flag] ?? self.environment[variable]
        }
        if let value = setting("listen", "GATEWAY_LISTEN") { listen = value }
        if let value = setting("database", "GATEWAY_DATABASE") { database = value }
        adminListen = setting("admin-listen", "GATEWAY_ADMIN_LISTEN")
        providersFolder = setting("providers", "GATEWAY_PROVIDERS")
        try ConfigurationFile.read(setting("config", "GATEWAY_CONFIG"), into: &self)
        if database.hasPrefix("postgres://") || database.hasPrefix("postgresql://") {
            throw ConfigurationError(
                "database",
                "this build has no PostgreSQL",
                hint: "name a SQLite file, or build with the Postgres trait"
            )
        }
        if database.hasPrefix("sqlite:") { database = String(database.dropFirst(7)) }
    }
}
