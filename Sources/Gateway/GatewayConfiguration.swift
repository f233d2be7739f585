public import Entitlements
internal import SQLStorage
internal import SQLiteStorage
public import Storage

/// Everything the gateway is started with.
public struct GatewayConfiguration: Sendable {
    public var listen = "127.0.0.1:8080"
    public var adminListen: String?
    private(set) var database = "gateway.db"
    /// Where that is.
    private(set) var location: any DatabaseLocation = SQLiteLocation(path: "gateway.db")
    /// A server that copies the database, for reads; nil for none.
    var databaseReplica: String?
    /// More seconds than this behind, and the replica is not asked.
    var replicaLagSeconds: Int { replicaLag ?? 5 }
    var replicaLag: Int?
    /// PEM files to speak TLS with; nil for plain HTTP.
    public var tls: TLSFiles?
    /// The settings file that was read; nil when there is none.
    public internal(set) var file: String?
    /// Folder of further manifests.
    public var providersFolder: String?
    public var policy = EntitlementPolicy(
        firstProviders: [ProviderID("app_store"), ProviderID("google_play"), ProviderID("revenuecat")],
        lastProviders: [ProviderID("manual")]
    )
    public var metricsAreOpen = false
    /// Who is told of changed answers.
    public var receivers: [NotifyReceiver] = []
    /// Days for which kept payloads stay whose facts are kept anyway; nil: for ever.
    public var payloadDays: Int?
    public var access = AccessSettings()
    /// What happens to a purchase of somebody else that an app submits.
    public var restore = PurchaseSubmission.Restore.transfer
    public var environment: EnvironmentVariables
    /// Settings that are known but have no effect in this version; the start says so.
    public var withoutEffect: [String] = []

    static let lagSeconds = 1...300

    /// Reads flags, then the environment, then `gateway.json`.
    ///
    /// - Parameter flags: `--name` → value, without the dashes.
    /// - Parameter readsFile: False to do without the file, for whoever looks for what is off.
    /// - Throws: The first thing that cannot work.
    public init(
        flags: [String: String],
        environment: EnvironmentVariables,
        readsFile: Bool = true
    ) throws(ConfigurationError) {
        self.environment = environment
        if let file = flags["env-file"] { try self.environment.read(file: file) }
        func setting(_ flag: String, _ variable: String) -> String? {
            flags[flag] ?? self.environment[variable]
        }
        if let value = setting("listen", "GATEWAY_LISTEN") { listen = value }
        if let value = setting("database", "GATEWAY_DATABASE") { database = value }
        adminListen = setting("admin-listen", "GATEWAY_ADMIN_LISTEN")
        tls = try TLSFiles(
            certificate: setting("tls-certificate", "GATEWAY_TLS_CERTIFICATE"),
            key: setting("tls-key", "GATEWAY_TLS_KEY")
        )
        providersFolder = setting("providers", "GATEWAY_PROVIDERS")
        if let text = self.environment["GATEWAY_PAYLOAD_DAYS"] {
            guard let days = Int(text), (1...36_500).contains(days) else {
                throw ConfigurationError(
                    "GATEWAY_PAYLOAD_DAYS",
                    "expected a number of days from 1 to 36500",
                    hint: "not set, kept payloads stay"
                )
            }
            payloadDays = days
        }
        databaseReplica = setting("database-replica", "GATEWAY_DATABASE_REPLICA")
        if let lag = setting("database-replica-lag", "GATEWAY_DATABASE_REPLICA_LAG") {
            guard let seconds = Int(lag), Self.lagSeconds.contains(seconds) else {
                throw ConfigurationError(
                    "database-replica-lag",
                    "expected seconds from \(Self.lagSeconds.lowerBound) to \(Self.lagSeconds.upperBound)",
                    hint: "not set, it is \(replicaLagSeconds)"
                )
            }
            replicaLag = seconds
        }
        if readsFile { try ConfigurationFile.read(setting("config", "GATEWAY_CONFIG"), into: &self) }
        if database.hasPrefix("sqlite:") { database = String(database.dropFirst(7)) }
        location = try DatabaseAddress.location(
            database,
            replica: databaseReplica.map { (address: $0, lagSeconds: replicaLagSeconds) }
        )
    }

    /// Puts back the settings that a running gateway cannot change; the names of those that had another value.
    mutating func keepWhatNeedsRestart(of running: GatewayConfiguration) -> [String] {
        var kept: [String] = []
        if listen != running.listen { kept.append("listen") }
        if adminListen != running.adminListen { kept.append("admin-listen") }
        if database != running.database { kept.append("database") }
        if databaseReplica != running.databaseReplica || replicaLagSeconds != running.replicaLagSeconds {
            kept.append("database-replica")
        }
        if receivers != running.receivers { kept.append("notify") }
        if payloadDays != running.payloadDays { kept.append("GATEWAY_PAYLOAD_DAYS") }
        kept += access.differences(from: running.access)
        kept += environment.keep(of: running.environment, where: ProviderAPIs.isSetting)
        if (tls == nil) != (running.tls == nil) {
            kept.append("tls-certificate")
            tls = running.tls
        }
        (listen, adminListen, database) = (running.listen, running.adminListen, running.database)
        location = running.location
        (databaseReplica, replicaLag) = (running.databaseReplica, running.replicaLag)
        (receivers, payloadDays, access) = (running.receivers, running.payloadDays, running.access)
        return kept
    }
}
