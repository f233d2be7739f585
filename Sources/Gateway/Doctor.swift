internal import Entitlements
internal import Foundation
internal import HTTPServer
internal import Platform
internal import ProviderKit
internal import Providers
internal import SQLStorage
internal import Storage

/// Looks at everything the gateway is started with, and tells what is off, what is doubtful and what is broken.
///
/// Changes nothing and goes on after the first finding.
public struct Doctor {
    /// One thing that was looked at.
    public struct Finding: Sendable {
        /// How it stands.
        public enum State: String, Sendable {
            case ok
            /// On purpose or not, it does nothing.
            case off
            /// It works, and may not be what was meant.
            case warning
            /// The gateway cannot start or cannot answer with it.
            case broken
        }

        /// Stable words for machines: `configuration`, `keys`, `provider`, `manifests`, `products`, `database`,
        /// `disk`, `files`, `gateway`, `tls`, `notify`.
        public var area: String
        public var state: State
        public var text: String
        /// What to do about it; empty when there is nothing to do.
        public var hint: String

        public init(_ area: String, _ state: State, _ text: String, hint: String = "") {
            self.area = area
            self.state = state
            self.text = text
            self.hint = hint
        }
    }

    /// A disk with less than this is about to stop every write.
    private static let freeBytesLow: Int64 = 1 << 30
    private static let freeBytesNone: Int64 = 32 << 20
    public private(set) var findings: [Finding] = []
    /// Nil when the flags and the environment alone cannot be understood.
    public private(set) var configuration: GatewayConfiguration?

    public init(flags: [String: String], environment: EnvironmentVariables) {
        do throws(ConfigurationError) {
            let found = try GatewayConfiguration(flags: flags, environment: environment)
            configuration = found
            add("configuration", .ok, found.file.map { "\($0) is understood" } ?? "no gateway.json: defaults")
        } catch {
            add("configuration", error)
            // The rest can be looked at without the file that is off.
            configuration = try? GatewayConfiguration(flags: flags, environment: environment, readsFile: false)
        }
        guard let configuration else { return }
        settings(configuration)
        reachability(configuration)
        providers(configuration)
        database(configuration)
        files(configuration, flags)
    }

    public var isBroken: Bool { findings.contains { $0.state == .broken } }

    public mutating func add(_ area: String, _ state: Finding.State, _ text: String, hint: String = "") {
        findings.append(Finding(area, state, text, hint: hint))
    }

    private mutating func add(_ area: String, _ error: ConfigurationError) {
        add(area, .broken, "\(error.place): \(error.reason)", hint: error.hint)
    }

    // MARK: - Configuration and secrets

    private mutating func settings(_ configuration: GatewayConfiguration) {
        for address in [configuration.listen, configuration.adminListen].compactMap(\.self) {
            if (try? ListenAddress(address)) == nil {
                add("configuration", .broken, "\(address) is no address", hint: "such as 127.0.0.1:8080")
            }
        }
        for setting in configuration.withoutEffect {
            add("configuration", .off, "\(setting) has no effect in this version")
        }
        if configuration.policy.sandboxUsers.contains("*") {
            add(
                "configuration",
                .warning,
                "sandbox purchases of everyone count in production",
                hint: "name single users in sandbox_users"
            )
        }
    }

    private mutating func providers(_ configuration: GatewayConfiguration) {
        let registry: ProviderRegistry
        do throws(ConfigurationError) {
            registry = try ProviderRegistry(configuration)
        } catch {
            add("provider", error)
            return
        }
        if let folder = configuration.providersFolder, let own = try? ManifestFolder(folder).manifests() {
            let names = own.map(\.provider.name)
            add("manifests", .ok, "\(folder): " + (names.isEmpty ? "no manifests" : names.joined(separator: ", ")))
        }
        for name in registry.adapters.keys.sorted() {
            let isMapped = configuration.policy.products[ProviderID(name)] != nil
            let grants = "every product grants \(configuration.policy.defaultEntitlement)"
            add("provider", .ok, "\(name) is on, \(isMapped ? "its products are mapped" : grants)")
        }
        if registry.adapters[AppStoreAdapter.name.name] != nil, registry.appStoreAPIs.isEmpty {
            add(
                "provider",
                .off,
                "app_store is not asked what no notification told",
                hint:
                    "set \(AppStoreSettings.keyIDVariable), \(AppStoreSettings.issuerVariable) and \(AppStoreSettings.keyVariable)"
            )
        }
        for (name, variable) in registry.off.sorted(by: { $0.key < $1.key }) {
            add("provider", .off, "\(name) is off", hint: "set \(variable) to turn it on")
        }
        for provider in configuration.policy.products.keys.sorted() where !registry.isKnown(provider.name) {
            add("products", .broken, "/products/\(provider.name): no such provider", hint: "correct its name")
        }
        secrets(configuration)
    }

    /// Secrets that a stranger might guess; what they are is never told.
    private mutating func secrets(_ configuration: GatewayConfiguration) {
        let admins = (configuration.environment["GATEWAY_ADMIN_KEY"] ?? "").components(separatedBy: ",")
        let readers = (configuration.environment["GATEWAY_READ_KEY"] ?? "").components(separatedBy: ",")
        if !Set(admins).isDisjoint(with: Set(readers).subtracting([""])) {
            add(
                "keys",
                .warning,
                "GATEWAY_ADMIN_KEY and GATEWAY_READ_KEY share a key: whoever may read may do everything",
                hint: "use another key for each"
            )
        }
        let names = ["GATEWAY_ADMIN_KEY", "GATEWAY_READ_KEY", "REVENUECAT_WEBHOOK_AUTHORIZATION"]
        for name in names {
            guard let value = configuration.environment[name] else { continue }
            let parts = name == "REVENUECAT_WEBHOOK_AUTHORIZATION" ? [value] : value.components(separatedBy: ",")
            if parts.contains(where: { $0.utf8.count < KeyStore.secretBytesLow }) {
                add(
                    "keys",
                    .warning,
                    "\(name) is shorter than \(KeyStore.secretBytesLow) characters and may be guessed",
                    hint: "use one of random characters, such as keys create makes"
                )
            }
        }
    }

    // MARK: - Database

    private mutating func database(_ configuration: GatewayConfiguration) {
        let path = configuration.location.name
        disk(configuration.location.besides)
        let fromEnvironment: [KeyRing.Key]
        do throws(ConfigurationError) {
            fromEnvironment = try KeyStore.environmentKeys(configuration.environment)
        } catch {
            add("keys", error)
            fromEnvironment = []
        }
        guard configuration.location.isThere else {
            add("database", .off, "\(path) is not there yet", hint: "serve or migrate makes it")
            keys(fromEnvironment, [])
            return
        }
        let examination: DatabaseExamination
        do throws(StorageError) {
            examination = try DatabaseExamination(of: configuration.location)
        } catch {
            let isDamaged = if case .damaged = error { true } else { false }
            add(
                "database",
                .broken,
                "\(path): \(error.description)",
                hint: isDamaged
                    ? "stop the gateway and restore a backup"
                    : "run as the user that runs serve, or name it with --database"
            )
            return
        }
        for problem in examination.problems {
            add("database", .broken, "\(path) is damaged: \(problem)", hint: configuration.location.repair)
        }
        if let problem = examination.schemaProblem {
            add("database", .broken, problem)
            return
        }
        if !examination.pendingMigrations.isEmpty {
            let names = examination.pendingMigrations.joined(separator: ", ")
            add("database", .warning, "\(path) lacks \(names)", hint: "the next serve or migrate brings it up to date")
            keys(fromEnvironment, examination.keys)
            return
        }
        if examination.problems.isEmpty {
            add("database", .ok, "\(path) is sound and up to date; people: \(examination.people)")
        }
        if let policy = examination.policy, policy != configuration.policy {
            add(
                "database",
                .warning,
                "the rows were made with other products, grace or sandbox users than these settings",
                hint: "the next start of serve elects them anew"
            )
        }
        for outcome in [EventOutcome.parked, .unmapped, .quarantined] {
            guard let count = examination.waiting[outcome] else { continue }
            add(
                "database",
                .warning,
                "\(count) events are \(outcome.name)",
                hint: "entitlement-gateway events --outcome \(outcome.name)"
            )
        }
        keys(fromEnvironment, examination.keys)
        replica(configuration)
    }

    private mutating func replica(_ configuration: GatewayConfiguration) {
        guard let found = configuration.location.examineReplica() else { return }
        guard let problem = found.problem else {
            return add(
                "database",
                .ok,
                "\(found.name) is a replica of it, for reads while it is at most \(configuration.replicaLagSeconds) s behind"
            )
        }
        add("database", .broken, "\(found.name) is not used for reads: \(problem)", hint: found.hint)
    }

    private mutating func keys(_ fromEnvironment: [KeyRing.Key], _ stored: [KeyRecord]) {
        let admins = fromEnvironment.filter { $0.scope == .admin }.count + stored.filter(\.isAdmin).count
        let all = fromEnvironment.count + stored.count
        if all == 0 {
            add("keys", .off, "there are no keys", hint: "the first start of serve makes one of each scope")
        } else if admins == 0 {
            add("keys", .warning, "there is no admin key", hint: "entitlement-gateway keys create --scope admin")
        } else {
            add("keys", .ok, "\(all) keys, \(admins) of them for administrators")
        }
    }

    // MARK: - Disk and files

    private mutating func disk(_ path: String) {
        let folder = Self.folder(of: path)
        guard let attributes = try? FileManager.default.attributesOfFileSystem(forPath: folder),
            let free = (attributes[.systemFreeSize] as? NSNumber)?.int64Value
        else {
            add("disk", .broken, "\(folder): no such folder", hint: "--database names a file in a folder that is there")
            return
        }
        let megabytes = "\(free >> 20) MiB are free for \(path)"
        if free < Self.freeBytesNone {
            add("disk", .broken, megabytes, hint: "make room: nothing can be recorded on a full disk")
        } else if free < Self.freeBytesLow {
            add("disk", .warning, megabytes, hint: "make room before the disk is full")
        } else {
            add("disk", .ok, megabytes)
        }
        if !FileManager.default.isWritableFile(atPath: folder) {
            add("disk", .broken, "\(folder) cannot be written", hint: "the user that runs serve needs to write there")
        }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Files with purchases and keys in them are for their owner.
    private mutating func files(_ configuration: GatewayConfiguration, _ flags: [String: String]) {
        let path = configuration.location.besides
        var isClosed = true
        for name in [path, path + "-wal", path + "-shm", configuration.keyFile] + [flags["env-file"]].compactMap(\.self)
        {
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: name),
                let mode = (attributes[.posixPermissions] as? NSNumber)?.intValue
            else { continue }
            if mode & 0o002 != 0 {
                isClosed = false
                add("files", .broken, "others can write \(name)", hint: "chmod 600 \(name)")
            } else if mode & 0o024 != 0 {
                isClosed = false
                add("files", .warning, "others than its owner can use \(name)", hint: "chmod 600 \(name)")
            }
            if !FileManager.default.isReadableFile(atPath: name) {
                add("files", .broken, "\(name) cannot be read by this user", hint: "run as the user that runs serve")
            }
        }
        if isClosed { add("files", .ok, "the files are closed to others") }
    }
}
