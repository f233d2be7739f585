internal import Crypto
internal import Entitlements

/// How a provider proves that a delivery is its own.
public enum DeliveryCheck: Hashable, Sendable {
    case signature(SignatureScheme)
    /// HTTP Basic authentication; the secret is `user:password`.
    case basic

    /// Whether a secret can be used for this check.
    public func canUse(_ secret: String) -> Bool {
        switch self {
        case .signature(let scheme): scheme.canUse(secret)
        case .basic: BasicCredentials.canUse(secret)
        }
    }

    /// What a secret must look like, for people.
    public var secretShape: String {
        switch self {
        case .signature: "copy it whole from the provider's webhook settings"
        case .basic: "it is user:password, as typed into the provider's webhook settings"
        }
    }
}

/// A check with its secrets, made ready once at start: per delivery no secret is read again.
struct ReadyCheck: Sendable {
    private enum Kind {
        case signature(SignatureScheme, keys: [HMACKey])
        case basic(BasicCredentials)
    }

    private let kind: Kind
    private let firstSecret: String

    init(_ check: DeliveryCheck, secrets: [String]) {
        firstSecret = secrets.first ?? ""
        switch check {
        case .signature(let scheme): kind = .signature(scheme, keys: scheme.keys(from: secrets))
        case .basic: kind = .basic(BasicCredentials(secrets: secrets))
        }
    }

    func verify(_ delivery: WebhookDelivery, now: UnixMillis) throws(VerificationFailure) -> VerifiedDelivery {
        switch kind {
        case .signature(let scheme, let keys): try scheme.verify(delivery, keys: keys, now: now)
        case .basic(let credentials): try credentials.verify(delivery)
        }
    }

    /// Headers as the provider would send them, with the first secret.
    func sign(_ body: [UInt8], now: UnixMillis, id: String) -> [(name: String, value: String)] {
        switch kind {
        case .signature(let scheme, _): scheme.sign(body, secret: firstSecret, now: now, id: id)
        case .basic: BasicCredentials.headers(secret: firstSecret)
        }
    }
}
