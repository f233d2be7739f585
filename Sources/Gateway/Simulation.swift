internal import Crypto
internal import Entitlements
internal import Foundation
internal import Platform
internal import ProviderKit
internal import Providers
internal import SQLStorage

/// Sample events, made out to a user and signed as their provider would.
public struct Simulation: Sendable {
    /// A delivery ready to be sent.
    public struct Delivery: Sendable {
        public var path: String
        public var headers: [(name: String, value: String)]
        public var body: [UInt8]
    }

    private let provider: String
    private let adapter: any ProviderAdapter
    private let samples: [String: [UInt8]]
    private let sampleLife: SampleLife?
    private let story: SampleStory

    /// - Throws: When the provider is not known, is off, or has no samples.
    public init(provider: String, _ configuration: GatewayConfiguration) throws(ConfigurationError) {
        let registry = try ProviderRegistry(configuration)
        guard let adapter = registry.adapters[provider] else {
            if let variable = registry.off[provider] {
                throw ConfigurationError(
                    provider,
                    "its secret is not set here",
                    hint: "set \(variable), or name the gateway's --env-file"
                )
            }
            throw ConfigurationError(
                provider,
                "no provider has this name",
                hint:
                    "known are \((registry.adapters.keys.sorted() + registry.off.keys.sorted()).joined(separator: ", "))"
            )
        }
        let folder = configuration.providersFolder.map(ManifestFolder.init)
        var samples = folder?.samples(of: provider) ?? [:]
        let isOfFolder = !samples.isEmpty
        if !isOfFolder { samples = BuiltInProviders.samples(of: provider) }
        guard !samples.isEmpty else {
            throw ConfigurationError(
                provider,
                "there are no sample events of it",
                hint: "put some into \(provider)/samples/ in the folder of --providers"
            )
        }
        self.provider = provider
        self.adapter = adapter
        self.samples = samples
        story = SampleStory(adapter: adapter, samples: samples)
        if isOfFolder {
            sampleLife = try folder?.life(of: provider)
        } else {
            do throws(ManifestError) {
                sampleLife = try BuiltInProviders.life(of: provider)
            } catch {
                throw ConfigurationError(error.file, error.reason)
            }
        }
    }

    /// Names of the sample events.
    public var events: [String] { story.events }

    /// The event's content, made out to the user, before anything is signed.
    public func content(
        of event: String,
        user: String,
        isProduction: Bool
    ) throws(ConfigurationError) -> [UInt8] {
        let now = UnixMillis(wallClockMillis())
        let recipient = try Self.recipient(user, isProduction: isProduction)
        guard let body = story.body(of: event, to: recipient, now: now) else { throw noSample(event) }
        return body
    }

    public func delivery(
        of event: String,
        user: String,
        isProduction: Bool
    ) throws(ConfigurationError) -> Delivery {
        try signed(try content(of: event, user: user, isProduction: isProduction))
    }

    /// The whole life of a subscription, told event after event.
    ///
    /// - Throws: When the provider's samples make no life, or the user id is none.
    public func life(of user: String, isProduction: Bool) throws(ConfigurationError) -> SimulatedLife {
        guard let sampleLife else {
            throw ConfigurationError(
                provider,
                "its samples make no life",
                hint: "a life.json beside the manifest names the samples of each stage"
            )
        }
        _ = try Self.recipient(user, isProduction: isProduction)
        return SimulatedLife(
            simulation: self,
            life: sampleLife,
            teller: SampleLifeTeller(adapter: adapter, samples: samples),
            user: user,
            isProduction: isProduction
        )
    }

    /// A key that the gateway of this configuration takes: of the environment, else of the file that a first start has written
    /// beside the database.
    public static func key(_ configuration: GatewayConfiguration) throws(ConfigurationError) -> String {
        var variables = configuration.environment
        let folder = URL(fileURLWithPath: configuration.location.besides).deletingLastPathComponent().path
        let file = folder + "/gateway.keys"
        if FileManager.default.fileExists(atPath: file) { try variables.read(file: file) }
        for name in ["GATEWAY_READ_KEY", "GATEWAY_ADMIN_KEY"] {
            if let key = try variables.list(name).first { return key }
        }
        throw ConfigurationError(
            "GATEWAY_READ_KEY",
            "no key to ask the gateway with",
            hint: "set it, or name the gateway's --env-file"
        )
    }

    static func recipient(_ user: String, isProduction: Bool) throws(ConfigurationError) -> SampleRecipient {
        guard UserID(user) != nil else { throw ConfigurationError("--user", "this is no user id") }
        return SampleRecipient(
            user: user,
            environment: isProduction ? .production : .sandbox,
            eventID: "evt_simulated_" + Hex.encode(RandomBytes.make(9))
        )
    }

    func noSample(_ event: String) -> ConfigurationError {
        ConfigurationError(
            event,
            "\(provider) has no sample of this name",
            hint: "samples: \(events.joined(separator: ", "))"
        )
    }

    func environment(of body: [UInt8]) -> String? {
        adapter.normalize(VerifiedDelivery(verified: body, eventID: "sample")).environment?.name
    }

    func signed(_ content: [UInt8]) throws(ConfigurationError) -> Delivery {
        guard let body = adapter.seal(content) else {
            throw ConfigurationError(
                provider,
                "its events can be shown but not sent: their signature is Apple's own, and no key on this machine makes one",
                hint: "--print shows the event; App Store Connect sends a TEST notification, and the sandbox true ones"
            )
        }
        let headers = adapter.sign(body, now: UnixMillis(wallClockMillis()))
        return Delivery(path: "/v1/webhooks/\(provider)", headers: headers, body: body)
    }
}

/// A life that is being told: its stages, and the deliveries of each, made when they are asked for.
public struct SimulatedLife {
    private let simulation: Simulation
    private let life: SampleLife
    private var teller: SampleLifeTeller
    private let user: String
    private let isProduction: Bool
    private var left: Int
    private var last: Int64
    /// Where the last event counts: `production`, or `sandbox` where the provider can say it.
    public private(set) var environment: String

    /// The finest step that every provider's times can tell.
    private static let stepMillis: Int64 = 1000

    fileprivate init(
        simulation: Simulation,
        life: SampleLife,
        teller: SampleLifeTeller,
        user: String,
        isProduction: Bool
    ) {
        self.simulation = simulation
        self.life = life
        self.teller = teller
        self.user = user
        self.isProduction = isProduction
        environment = isProduction ? StoreEnvironment.production.name : StoreEnvironment.sandbox.name
        left = life.steps.reduce(0) { $0 + $1.events.count }
        last = wallClockMillis() - Int64(left + 1) * Self.stepMillis
    }

    /// Stages and the samples of each.
    public var stages: [(name: String, events: [String])] {
        life.steps.map { (name: $0.name, events: $0.events.map(\.sample)) }
    }

    /// The next delivery of a stage. Events happen in the order in which they are asked for, each later than the one before and
    /// none later than now.
    public mutating func delivery(stage: Int, event: Int) throws(ConfigurationError) -> Simulation.Delivery {
        let wanted = life.steps[stage].events[event]
        left -= 1
        let now = wallClockMillis()
        last = max(last + Self.stepMillis, now - Int64(left) * Self.stepMillis)
        last -= last % Self.stepMillis
        let recipient = try Simulation.recipient(user, isProduction: isProduction)
        guard let body = teller.body(of: wanted, to: recipient, at: UnixMillis(last)) else {
            throw simulation.noSample(wanted.sample)
        }
        if let told = simulation.environment(of: body) { environment = told }
        return try simulation.signed(body)
    }
}
