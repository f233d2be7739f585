internal import Crypto
internal import Entitlements
internal import Foundation
internal import HTTPServer
internal import Platform
internal import ProviderKit
internal import SQLiteStorage
internal import Storage
internal import Synchronization
internal import TLS

/// The running gateway: store, loops and providers put together.
public final class GatewayServer: Sendable {
    private let server: HTTPServer<GatewayHandler>
    private let store: SQLiteStore
    private let loops: LoopMailboxes
    private let tls: TLSFiles?
    private let sync: ProviderSync
    private let keyWatch: KeyWatch

    /// Descriptors kept for the database, the log and outbound calls: connections may not take the last ones.
    private static let descriptorsKept = 128

    private init(
        server: HTTPServer<GatewayHandler>,
        loops: LoopMailboxes,
        store: SQLiteStore,
        tls: TLSFiles?,
        sync: ProviderSync,
        keyWatch: KeyWatch
    ) {
        self.sync = sync
        self.server = server
        self.tls = tls
        self.loops = loops
        self.store = store
        self.keyWatch = keyWatch
    }

    /// Addresses that are listened on.
    public var addresses: [String] { server.addresses.map(\.description) }

    /// Starts everything.
    ///
    /// - Throws: `ConfigurationError` with what is off and a hint; nothing is left running.
    public static func start(_ configuration: GatewayConfiguration) throws(ConfigurationError) -> GatewayServer {
        let registry = try ProviderRegistry(configuration)
        for provider in configuration.policy.products.keys.sorted() where !registry.isKnown(provider.name) {
            throw ConfigurationError(
                "/products/\(provider.name)",
                "no such provider",
                hint:
                    "under a wrong name the map has no effect, and every product of the provider meant grants the default"
            )
        }
        announce(registry, configuration)
        let apis = try ProviderAPIs.all(configuration.environment, registry.manifests)
        var addresses: [ListenAddress] = []
        do throws(ServerError) {
            addresses.append(try ListenAddress(configuration.listen))
        } catch {
            throw ConfigurationError("listen", "\(error)", hint: "an address and a port, such as 127.0.0.1:8080")
        }
        let tls = try configuration.tls?.load()
        // Filled when the loops run; until then nobody waits for a change.
        let loops = LoopMailboxes()
        let store: SQLiteStore
        do throws(StorageError) {
            store = try SQLiteStore.open(path: configuration.database, policy: configuration.policy) { rows in
                loops.post(.changed(rows))
            }
        } catch {
            throw ConfigurationError(
                configuration.database,
                error.description,
                hint: "--database names a file in a folder that can be written"
            )
        }
        let keys = try KeyStore.keys(configuration, database: configuration.database)
        let sync = try ProviderSync.start(apis, store)
        let context = GatewayContext(
            store: store,
            registry: registry,
            keys: keys.ring,
            policy: configuration.policy,
            defaultEntitlement: Array(configuration.policy.defaultEntitlement.utf8),
            sync: sync
        )
        do {
            let server = try HTTPServer<GatewayHandler>.start(
                listen: addresses,
                loops: max(1, ProcessInfo.processInfo.activeProcessorCount),
                limits: limits(),
                tls: tls
            ) { _, mailbox in
                try GatewayHandler(context: context, mailbox: mailbox)
            }
            loops.set(server.mailboxes)
            do {
                let watch = try KeyWatch.start(path: configuration.database, known: keys.stored) { stored in
                    Log.info("the keys in the database have changed", ("keys", .integer(Int64(stored.count))))
                    loops.post(.keys(KeyRing(keys.environment + stored.map(KeyRing.Key.init))))
                }
                return GatewayServer(
                    server: server,
                    loops: loops,
                    store: store,
                    tls: configuration.tls,
                    sync: sync,
                    keyWatch: watch
                )
            } catch {
                server.stop()
                throw error
            }
        } catch {
            sync.stop()
            store.close()
            throw ConfigurationError(configuration.listen, "\(error)")
        }
    }

    /// Reads the certificate and the key again; those who connect from now on see them, open connections stay.
    ///
    /// - Throws: What is off with the files. The ones in use stay in use.
    public func reloadTLS() throws(ConfigurationError) {
        guard let tls else { return }
        server.useTLS(try tls.load())
        Log.info("the TLS certificate was read again", ("file", .string(tls.certificate)))
    }

    /// The server's limits, with no more connections than the process may have descriptors for.
    private static func limits() -> ServerLimits {
        var limits = ServerLimits()
        let descriptors = DescriptorLimit.raise()
        let spare = max(descriptors - descriptorsKept, descriptors / 2)
        if spare < limits.connectionsMax {
            Log.warning(
                "few connections are possible: the system permits few open files",
                ("connections", .integer(Int64(spare))),
                ("hint", .string("raise the hard limit of open files (LimitNOFILE, ulimit -Hn)"))
            )
            limits.connectionsMax = spare
        }
        return limits
    }

    /// Answers those who wait, stops accepting, finishes what is in flight, and closes the database.
    public func stop() {
        keyWatch.stop()
        loops.post(.stopping)
        sync.stop()
        server.stop()
        store.close()
    }

    /// One line for each provider that is off, and for what the product map says and does not say.
    private static func announce(_ registry: ProviderRegistry, _ configuration: GatewayConfiguration) {
        for (name, variable) in registry.off.sorted(by: { $0.key < $1.key }) {
            Log.info("provider is off", ("provider", .string(name)), ("set_to_turn_on", .string(variable)))
        }
        for name in registry.adapters.keys.sorted() {
            let hasMap = configuration.policy.products[ProviderID(name)] != nil
            Log.info(
                "provider is on",
                ("provider", .string(name)),
                (
                    "products",
                    .string(hasMap ? "mapped" : "every product grants \(configuration.policy.defaultEntitlement)")
                )
            )
        }
        if configuration.policy.sandboxUsers.contains("*") {
            Log.warning("sandbox purchases of everyone count in production", ("setting", .string("sandbox_users")))
        }
        for key in configuration.withoutEffect {
            Log.warning("this setting has no effect in this version", ("setting", .string(key)))
        }
    }
}

/// The loops that are told of changed rows; set once, when they run.
private final class LoopMailboxes: Sendable {
    private let mailboxes = Mutex<[Mailbox<LoopMessage>]>([])

    func set(_ loops: [Mailbox<LoopMessage>]) {
        mailboxes.withLock { $0 = loops }
    }

    func post(_ message: LoopMessage) {
        for mailbox in mailboxes.withLock({ $0 }) { mailbox.post(message) }
    }
}
