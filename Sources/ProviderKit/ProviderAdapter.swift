public import Crypto
public import Entitlements

/// A delivery as it came in: the raw bytes and a way to ask for a header.
public struct WebhookDelivery {
    /// The first value of a header, by its name in any case.
    public var header: (String) -> String?
    public var body: [UInt8]
    /// Chains of certificates that this thread has believed before; nil: each is checked anew.
    public var signers: VerifiedSignerCache?

    public init(body: [UInt8], signers: VerifiedSignerCache? = nil, header: @escaping (String) -> String?) {
        self.header = header
        self.body = body
        self.signers = signers
    }
}

/// Why a delivery is not believed. The answer to the sender is the same for all of them.
public enum VerificationFailure: Error, Hashable, Sendable {
    /// A header that must be there is missing or cannot be read.
    case unsigned
    case badSignature
    /// The signature is too old or too far ahead.
    case stale
}

/// Proof that the raw bytes of a delivery passed its provider's check; only `verify` makes one.
public struct VerifiedDelivery: Sendable {
    public let body: [UInt8]
    /// The event's id as the signed headers tell it, for providers whose body has none.
    public let eventID: String?
    /// When it came; nil for what never came over the line.
    public let receivedAt: UnixMillis?

    public init(verified body: [UInt8], eventID: String? = nil, receivedAt: UnixMillis? = nil) {
        self.body = body
        self.eventID = eventID
        self.receivedAt = receivedAt
    }

    /// An id for an event that has none: retries are equal byte for byte.
    public var digestID: String { "sha256:" + Digest.sha256Hex(body) }
}

/// One provider: raw bytes in, facts in the product's words out. Knows no database and reads no clock.
public protocol ProviderAdapter: Sendable {
    var provider: ProviderID { get }

    /// Checks the raw bytes before anything is parsed.
    func verify(_ delivery: WebhookDelivery, now: UnixMillis) throws(VerificationFailure) -> VerifiedDelivery

    /// What the event says. Never fails: what cannot be understood becomes a verdict.
    func normalize(_ delivery: VerifiedDelivery) -> NormalizedEvent

    /// The body without personal data, as it may be stored; nil when the body is no JSON.
    func redact(_ delivery: VerifiedDelivery) -> [UInt8]?

    /// A sample event's body as it goes over the line, where the signature is part of it. Nil where nobody but the provider
    /// can make one.
    func seal(_ body: [UInt8]) -> [UInt8]?

    /// Correctly signed headers for `body`, as the provider would send them; used to send sample events.
    func sign(_ body: [UInt8], now: UnixMillis) -> [(name: String, value: String)]

    /// A sample event made out to somebody else: their user id, ids of their own, and the environment asked for.
    func readdress(_ sample: JSON, to recipient: SampleRecipient) -> JSON

    /// What the provider's API is to be asked after a delivery, for one that tells only a part.
    func lookups(after verified: VerifiedDelivery, _ event: NormalizedEvent) -> [APIFollowUp]
}

extension ProviderAdapter {
    /// Most providers sign beside the body.
    public func seal(_ body: [UInt8]) -> [UInt8]? { body }

    /// Most tell the whole.
    public func lookups(after verified: VerifiedDelivery, _ event: NormalizedEvent) -> [APIFollowUp] { [] }
}
