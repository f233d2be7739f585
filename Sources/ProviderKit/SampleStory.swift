internal import Crypto
public import Entitlements

/// Whom a sample event is made out to.
public struct SampleRecipient: Sendable {
    public var user: String
    public var environment: StoreEnvironment
    /// The event's new id.
    public var eventID: String

    public init(user: String, environment: StoreEnvironment, eventID: String) {
        self.user = user
        self.environment = environment
        self.eventID = eventID
    }

    /// The same for the same person, another for another: ids of purchases end in it, so that two people never share one.
    public var mark: UInt32 {
        Digest.sha256(Array("\(environment.name) \(user)".utf8)).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// The samples of one provider as one story, told as if it began at the last midnight and the event happened now.
///
/// So events sent one after the other belong to one purchase: an expiration ends what an initial purchase has begun.
public struct SampleStory: Sendable {
    private let adapter: any ProviderAdapter
    private let samples: [String: [UInt8]]
    /// The earliest period any sample speaks of.
    private let start: UnixMillis?

    /// Times this near to a sample's event are "now" in it.
    private static let nearMillis: Int64 = 3_600_000
    /// Times of a story lie within this of its start; other numbers are no times.
    private static let spanMillis: Int64 = 20 * 365 * UnixMillis.millisPerDay

    public init(adapter: any ProviderAdapter, samples: [String: [UInt8]]) {
        self.adapter = adapter
        self.samples = samples
        start = samples.values.flatMap { adapter.normalize(.sample($0)).effects }
            .compactMap { effect -> UnixMillis? in
                guard case .facts(_, let facts) = effect else { return nil }
                return facts.compactMap { fact in
                    // A temporary grant comes before every period, which is no moment.
                    if case .state(let state) = fact, state.periodStart != .earliest { state.periodStart } else { nil }
                }.min()
            }.min()
    }

    /// Names of the events, in order.
    public var events: [String] { samples.keys.sorted() }

    /// The event's body, made out to a person and moved to now; nil for an event that is not among the samples.
    public func body(of event: String, to recipient: SampleRecipient, now: UnixMillis) -> [UInt8]? {
        guard let sample = samples[event], let document = JSON(sample) else { return nil }
        let happened = adapter.normalize(.sample(sample)).occurredAt
        let moved = document.movingTimes { move($0, happened ?? start ?? now, now) }
        return adapter.readdress(moved, to: recipient).bytes
    }

    private func move(_ time: UnixMillis, _ happened: UnixMillis, _ now: UnixMillis) -> UnixMillis? {
        guard abs(time.value - happened.value) < Self.spanMillis else { return nil }
        let midnight = now.value - now.value % UnixMillis.millisPerDay
        if let start, time == start { return UnixMillis(midnight) }
        if abs(time.value - happened.value) <= Self.nearMillis {
            return UnixMillis(now.value + min(0, time.value - happened.value))
        }
        return UnixMillis(midnight + time.value - (start ?? happened).value)
    }
}

extension VerifiedDelivery {
    /// A sample as if it had been delivered: with some id, for providers that have it in a header only.
    static func sample(_ body: [UInt8]) -> VerifiedDelivery {
        VerifiedDelivery(verified: body, eventID: "sample")
    }
}
