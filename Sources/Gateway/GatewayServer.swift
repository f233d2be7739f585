internal import Crypto
internal import Entitlements
internal import Foundation
internal import HTTPServer
internal import Licensing
internal import Platform
internal import ProviderKit
internal import SQLiteStorage
internal import Storage
internal import Synchronization

/// The running gateway: store, loops and providers put together.
public final class GatewayServer: Sendable {
    private let server: HTTPServer<GatewayHandler>
    private let store: SQLiteStore
    private let loops: LoopMailboxes
    private let publishedKeys: PublishedKeys?

    private init(
        server: HTTPServer<GatewayHandler>,
        loops: LoopMailboxes,
        store: SQLiteStore,
        publishedKeys: PublishedKeys?
    ) {
        self.server = server
        self.publishedKeys = publishedKeys
        self.loops = loops
        self.store = store
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
        for provider in configuration.access.licenses.issueOn.sorted() where !registry.isKnown(provider.name) {
            throw ConfigurationError("/licenses/issue_on", "\(provider.name): no such provider")
        }
        announce(registry, configuration)
        var addresses: [ListenAddress] = []
        do throws(ServerError) {
            addresses.append(try ListenAddress(configuration.listen))
        } catch {
            throw ConfigurationError("listen", "\(error)", hint: "an address and a port, such as 127.0.0.1:8080")
        }
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
        let keys = try KeyStore.ring(configuration, database: configuration.database)
        var signingKeys = try SigningKeyFile.load(besideDatabase: configuration.database)
        try signingKeys.note(tokenDays: configuration.access.licenses.offlineDays)
        _ = store.submit(.license(.adopt(configuration.access.licenses))) { _ in }
        var buyerAddresses: BuyerAddresses?
        if configuration.access.claimsByEmail {
            buyerAddresses = try BuyerAddresses.load(besideDatabase: configuration.database)
        } else {
            _ = store.submit(.forgetAddresses(at: UnixMillis(wallClockMillis()))) { _ in }
        }
        let publishedKeys = try keysOfIssuers(configuration.access.issuers, loops)
        let context = GatewayContext(
            store: store,
            registry: registry,
            keys: keys,
            policy: configuration.policy,
            defaultEntitlement: Array(configuration.policy.defaultEntitlement.utf8),
            access: configuration.access,
            signingKeys: signingKeys,
            publishedKeys: publishedKeys,
            buyerAddresses: buyerAddresses,
            tellLoops: { loops.post($0) }
        )
        do {
            let server = try HTTPServer<GatewayHandler>.start(
                listen: addresses,
                loops: max(1, ProcessInfo.processInfo.activeProcessorCount),
                limits: ServerLimits()
            ) { loop, mailbox in
                try GatewayHandler(context: context, loop: loop, mailbox: mailbox)
            }
            loops.set(server.mailboxes)
            publishedKeys?.begin()
            return GatewayServer(server: server, loops: loops, store: store, publishedKeys: publishedKeys)
        } catch {
            publishedKeys?.stop()
            store.close()
            throw ConfigurationError(configuration.listen, "\(error)")
        }
    }

    /// Answers those who wait, stops accepting, finishes what is in flight, and closes the database.
    public func stop() {
        loops.post(.stopping)
        server.stop()
        publishedKeys?.stop()
        store.close()
    }

    private static func keysOfIssuers(
        _ issuers: [TokenIssuer],
        _ loops: LoopMailboxes
    ) throws(ConfigurationError) -> PublishedKeys? {
        guard issuers.contains(where: { $0.keys != nil }) else { return nil }
        do throws(SystemError) {
            return try PublishedKeys.start(issuers) { issuer, finding in loops.post(.keys(issuer, finding)) }
        } catch {
            throw ConfigurationError("/jwt", "\(error)")
        }
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
