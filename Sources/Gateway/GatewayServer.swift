internal import Crypto
internal import Entitlements
internal import Foundation
internal import HTTPServer
internal import Licensing
internal import Platform
internal import ProviderKit
internal import SQLStorage
internal import Storage
internal import Synchronization
internal import TLS

/// The running gateway: store, loops and providers put together.
public final class GatewayServer: Sendable {
    private let server: HTTPServer<GatewayHandler>
    private let services: GatewayServices
    private let loops: LoopMailboxes
    private let background: BackgroundWork
    /// What it runs with now: replaced whole when it is read again.
    private let current: Mutex<(configuration: GatewayConfiguration, context: GatewayContext)>

    /// Rows kept in memory by all loops together: what a small machine can spare, and most of what is asked for often.
    private static let cacheBytes = 48 << 20

    /// Descriptors kept for the database, the log and outbound calls: connections may not take the last ones.
    private static let descriptorsKept = 128

    private init(
        server: HTTPServer<GatewayHandler>,
        loops: LoopMailboxes,
        configuration: GatewayConfiguration,
        context: GatewayContext,
        background: BackgroundWork
    ) {
        self.server = server
        self.loops = loops
        self.background = background
        services = context.services
        current = Mutex((configuration, context))
    }

    /// Addresses that are listened on.
    public var addresses: [String] { server.addresses.map(\.description) }

    /// Starts everything.
    ///
    /// - Throws: `ConfigurationError` with what is off and a hint; nothing is left running.
    public static func start(_ configuration: GatewayConfiguration) throws(ConfigurationError) -> GatewayServer {
        // Before the database is touched: a mistake in the configuration leaves no trace.
        let registry = try ProviderRegistry(configuration)
        try registry.refuseUnknownProviders(in: configuration.policy)
        for provider in configuration.access.licenses.issueOn.sorted() where !registry.isKnown(provider.name) {
            throw ConfigurationError("/licenses/issue_on", "\(provider.name): no such provider")
        }
        announce(registry, configuration)
        let apis = try ProviderAPIs.all(configuration.environment, registry)
        let addresses = try addresses(configuration)
        let tls = try configuration.tls?.load()
        // Filled when the loops run; until then nobody waits for a change.
        let loops = LoopMailboxes()
        let bell = OutboxBell()
        let feed: ChangeFeed
        do throws(SystemError) {
            feed = try ChangeFeed(bell)
        } catch {
            throw ConfigurationError(configuration.listen, "\(error)")
        }
        let store: any Store
        do throws(StorageError) {
            store = try configuration.location.open(
                policy: configuration.policy,
                receivers: configuration.receivers.map(\.id),
                listener: feed,
                cacheBytes: cacheBytes
            ) { rows in
                loops.post(.changed(rows))
            }
        } catch {
            throw ConfigurationError(
                configuration.location.name,
                error.description,
                hint: hint(for: error, configuration.location)
            )
        }
        let loopCount = max(1, ProcessInfo.processInfo.activeProcessorCount)
        var counting: StoreCounting?
        var sync: ProviderSync?
        var publishedKeys: PublishedKeys?
        let pusher = registry.googlePush?.issuer
        let issuers = configuration.access.issuers + (pusher.map { [$0] } ?? [])
        do {
            let started = try StoreCounting(store)
            counting = started
            let startedSync = try ProviderSync.start(apis, store)
            sync = startedSync
            publishedKeys = try keysOfIssuers(issuers, loops)
            var signingKeys = try SigningKeyFile.load(besideDatabase: configuration.location.besides)
            try signingKeys.note(tokenDays: configuration.access.licenses.offlineDays)
            let services = GatewayServices(
                store: store,
                counting: started,
                measurements: Measurements(loops: loopCount),
                readiness: Readiness(),
                sync: startedSync,
                feed: feed,
                receivers: configuration.receivers,
                access: configuration.access,
                signingKeys: signingKeys,
                publishedKeys: publishedKeys,
                pushIssuer: pusher == nil ? nil : issuers.count - 1,
                buyerAddresses: try buyerAddresses(configuration, store),
                tellLoops: { loops.post($0) },
                adminListener: configuration.adminListen == nil ? nil : 1
            )
            let context = try GatewayContext(configuration, services, mintsKeys: true)
            let server = try HTTPServer<GatewayHandler>.start(
                listen: addresses,
                loops: loopCount,
                limits: limits(),
                tls: tls
            ) { loop, mailbox in
                try GatewayHandler(context: context, loop: loop, mailbox: mailbox)
            }
            if let tls { services.measurements.setCertificate(secondsLeft: tls.secondsLeft) }
            services.measurements.setConnections { [weak server] in server?.connectionCount ?? 0 }
            loops.set(server.mailboxes)
            publishedKeys?.begin()
            do {
                let background = try BackgroundWork.start(
                    configuration,
                    services,
                    knownKeys: context.storedKeys,
                    loops,
                    bell
                )
                return GatewayServer(
                    server: server,
                    loops: loops,
                    configuration: configuration,
                    context: context,
                    background: background
                )
            } catch {
                server.stop()
                throw error
            }
        } catch {
            publishedKeys?.stop()
            sync?.stop()
            counting?.stop()
            store.close()
            if let error = error as? ConfigurationError { throw error }
            throw ConfigurationError(configuration.listen, "\(error)")
        }
    }

    private static func hint(for error: StorageError, _ location: any DatabaseLocation) -> String {
        switch error {
        case .damaged: "entitlement-gateway doctor tells what is wrong with it; put the last backup in its place"
        case .busy: "another program holds it; is a gateway running on it already?"
        case .full: "make room on the disk"
        case .unavailable, .overloaded: location.hint
        case .wrongSchema: "--database names another file"
        }
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

    private static func addresses(
        _ configuration: GatewayConfiguration
    ) throws(ConfigurationError) -> [ListenAddress] {
        var addresses: [ListenAddress] = []
        for (name, text) in [("listen", configuration.listen), ("admin-listen", configuration.adminListen)] {
            guard let text else { continue }
            do throws(ServerError) {
                addresses.append(try ListenAddress(text))
            } catch {
                throw ConfigurationError(name, "\(error)", hint: "an address and a port, such as 127.0.0.1:8080")
            }
        }
        return addresses
    }

    /// Reads the configuration again and goes on with it; no connection and no request is lost. One that cannot be used
    /// changes nothing, and the log says why.
    ///
    /// - Parameter read: Reads flags, environment and files as at the start.
    public func reload(_ read: () throws(ConfigurationError) -> GatewayConfiguration) {
        let old = current.withLock { $0 }
        do throws(ConfigurationError) {
            var configuration = try read()
            let kept = configuration.keepWhatNeedsRestart(of: old.configuration)
            let context = try GatewayContext(configuration, services, mintsKeys: false)
            let hasNewPolicy = context.policy != old.context.policy
            // The writer first: what the loops say of the policy is then what the rows are made with.
            if hasNewPolicy { try Self.adopt(.adopt(context.policy), services.store, hint: "send SIGHUP again") }
            loops.post(.configured(context))
            current.withLock { $0 = (configuration, context) }
            if let tls = configuration.tls { reloadTLS(tls) }
            Self.announceChange(from: old.context.registry, to: context.registry, configuration)
            for setting in kept {
                Log.warning("this setting counts from the next start on", ("setting", .string(setting)))
            }
            Log.info(
                "configuration read again",
                ("providers", .string(context.registry.adapters.keys.sorted().joined(separator: ", "))),
                ("rows_are_elected_anew", .boolean(hasNewPolicy))
            )
        } catch {
            // Whatever is wrong elsewhere, a certificate that was renewed must not run out.
            if let tls = old.configuration.tls { reloadTLS(tls) }
            Log.error(
                "the configuration cannot be used, the old one stays",
                ("place", .string(error.place)),
                ("reason", .string(error.reason)),
                ("hint", .string(error.hint))
            )
        }
    }

    /// Reads the certificate and the key again; those who connect from now on see them, open connections stay. Files that
    /// cannot be used leave the old ones in use.
    private func reloadTLS(_ files: TLSFiles) {
        do throws(ConfigurationError) {
            let context = try files.load()
            server.useTLS(context)
            services.measurements.setCertificate(secondsLeft: context.secondsLeft)
            Log.info("the TLS certificate was read again", ("file", .string(files.certificate)))
        } catch {
            Log.error("the TLS certificate could not be read again", ("reason", .string(error.description)))
        }
    }

    /// Hands settings to the writer, and waits until they count.
    private static func adopt(
        _ settings: StoreCommand,
        _ store: any Store,
        hint: String
    ) throws(ConfigurationError) {
        let answers: Mailbox<StorageError?>
        do throws(SystemError) {
            answers = try Mailbox(capacity: 1)
        } catch {
            throw ConfigurationError(store.name, "\(error)")
        }
        let isTaken = store.submit(settings) { result in
            if case .failure(let error) = result { _ = answers.post(error) } else { _ = answers.post(nil) }
        }
        var answer = ContiguousArray<StorageError?>()
        if isTaken {
            _ = answers.wait(milliseconds: nil)
            answers.drain(into: &answer)
        }
        if let error = isTaken ? answer.first ?? nil : .overloaded {
            throw ConfigurationError(store.name, error.description, hint: hint)
        }
    }

    /// Answers those who wait, stops accepting, finishes what is in flight, and closes the database.
    public func stop() {
        loops.post(.stopping)
        background.stopAsking()
        services.sync.stop()
        server.stop()
        services.publishedKeys?.stop()
        background.stop()
        services.counting.stop()
        services.store.close()
    }

    /// One line for each provider that was turned on or off.
    private static func announceChange(
        from old: ProviderRegistry,
        to new: ProviderRegistry,
        _ configuration: GatewayConfiguration
    ) {
        for name in Set(old.adapters.keys).subtracting(new.adapters.keys).sorted() {
            Log.warning("provider is off now", ("provider", .string(name)))
        }
        for name in Set(new.adapters.keys).subtracting(old.adapters.keys).sorted() {
            Log.info("provider is on now", ("provider", .string(name)))
        }
        announceRisks(configuration)
    }

    /// The settings of licences go to the writer; hashes of addresses are kept only as long as the seller wants them.
    private static func buyerAddresses(
        _ configuration: GatewayConfiguration,
        _ store: any Store
    ) throws(ConfigurationError) -> BuyerAddresses? {
        try adopt(
            .license(.adopt(configuration.access.licenses)),
            store,
            hint: "another program may be writing to the database; start again when it has ended"
        )
        guard configuration.access.claimsByEmail else {
            _ = store.submit(.forgetAddresses(at: UnixMillis(wallClockMillis()))) { _ in }
            return nil
        }
        return try BuyerAddresses.load(besideDatabase: configuration.location.besides)
    }

    private static func keysOfIssuers(
        _ issuers: [TokenIssuer],
        _ loops: LoopMailboxes
    ) throws(ConfigurationError) -> PublishedKeys? {
        guard issuers.contains(where: { $0.keys != nil }) else { return nil }
        do throws(SystemError) {
            return try PublishedKeys.start(issuers) { issuer, finding in loops.post(.issuerKeys(issuer, finding)) }
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
        announceRisks(configuration)
    }

    private static func announceRisks(_ configuration: GatewayConfiguration) {
        for name in KeyStore.guessable(configuration.environment) {
            Log.warning("a key is so short that it can be guessed", ("setting", .string(name)))
        }
        if configuration.policy.sandboxUsers.contains("*") {
            Log.warning("sandbox purchases of everyone count in production", ("setting", .string("sandbox_users")))
        }
        for receiver in configuration.receivers {
            Log.info("changes are told", ("receiver", .string(receiver.place)))
            if receiver.isWeak {
                Log.warning(
                    "a notification secret has fewer than 24 bytes",
                    ("receiver", .string(receiver.place))
                )
            }
        }
        for key in configuration.withoutEffect {
            Log.warning("this setting has no effect in this version", ("setting", .string(key)))
        }
    }
}

/// The loops that are told of changed rows; set once, when they run.
final class LoopMailboxes: Sendable {
    private let mailboxes = Mutex<[Mailbox<LoopMessage>]>([])

    func set(_ loops: [Mailbox<LoopMessage>]) {
        mailboxes.withLock { $0 = loops }
    }

    func post(_ message: LoopMessage) {
        for mailbox in mailboxes.withLock({ $0 }) { mailbox.post(message) }
    }
}
