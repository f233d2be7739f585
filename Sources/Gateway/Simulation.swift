internal import Crypto
internal import Entitlements
internal import Foundation
internal import Platform
internal import ProviderKit
internal import Providers

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
        let samples = BuiltInProviders.samples(of: provider)
        guard !samples.isEmpty else { throw ConfigurationError(provider, "there are no sample events of it") }
        self.provider = provider
        self.adapter = adapter
        story = SampleStory(adapter: adapter, samples: samples)
    }

    /// Names of the sample events.
    public var events: [String] { story.events }

    /// The event's content, made out to the user, before anything is signed.
    public func content(
        of event: String,
        user: String,
        isProduction: Bool
    ) throws(ConfigurationError) -> [UInt8] {
        guard UserID(user) != nil else { throw ConfigurationError("--user", "this is no user id") }
        let recipient = SampleRecipient(
            user: user,
            environment: isProduction ? .production : .sandbox,
            eventID: "evt_simulated_" + Hex.encode(RandomBytes.make(9))
        )
        guard let body = story.body(of: event, to: recipient, now: UnixMillis(wallClockMillis())) else {
            throw ConfigurationError(
                event,
                "\(provider) has no sample of this name",
                hint: "samples: \(events.joined(separator: ", "))"
            )
        }
        return body
    }

    public func delivery(
        of event: String,
        user: String,
        isProduction: Bool
    ) throws(ConfigurationError) -> Delivery {
        let content = try content(of: event, user: user, isProduction: isProduction)
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
