internal import Crypto
public import Entitlements
public import ProviderKit

/// RevenueCat: webhooks that tell of purchases at many stores.
///
/// Source: https://www.revenuecat.com/docs/integrations/webhooks (transport, event types, fields).
public struct RevenueCatAdapter: ProviderAdapter {
    /// What the seller has typed into the integration. What is set must pass; both when both are set.
    public struct Secrets: Sendable {
        /// The `Authorization` header's whole value, compared as it is: RevenueCat adds no `Bearer` of its own.
        public var authorization: String?
        /// Signing secrets that are valid now.
        public var signing: [String]

        public init(authorization: String?, signing: [String]) {
            self.authorization = authorization
            self.signing = signing
        }
    }

    public static let name = ProviderID("revenuecat")

    /// `X-RevenueCat-Webhook-Signature: t=<seconds>,v1=<hex>` over `<t>.<body>`; t is the moment of signing, made anew for
    /// each attempt.
    static let scheme = SignatureScheme(
        header: "X-RevenueCat-Webhook-Signature",
        layout: .pairs(separator: ",", timestamp: "t", signature: "v1"),
        encoding: .hex,
        signed: [.timestamp, .text("."), .body],
        keys: [.utf8],
        secondsPast: 300,
        secondsAhead: 300
    )

    private let secrets: Secrets
    private let keys: [HMACKey]
    private let redaction = Redaction(userFields: [
        "app_user_id", "original_app_user_id", "aliases", "transferred_from", "transferred_to", "redeemed_from",
        "redeemed_by",
    ])

    public init(secrets: Secrets) {
        self.secrets = secrets
        keys = Self.scheme.keys(from: secrets.signing)
    }

    public var provider: ProviderID { Self.name }

    public func verify(_ delivery: WebhookDelivery, now: UnixMillis) throws(VerificationFailure) -> VerifiedDelivery {
        guard secrets.authorization != nil || !secrets.signing.isEmpty else { throw .unsigned }
        if let authorization = secrets.authorization {
            guard let sent = delivery.header("Authorization") else { throw .unsigned }
            guard ConstantTime.equal(sent, authorization) else { throw .badSignature }
        }
        guard !secrets.signing.isEmpty else { return VerifiedDelivery(verified: delivery.body, receivedAt: now) }
        return try Self.scheme.verify(delivery, keys: keys, now: now)
    }

    public func sign(_ body: [UInt8], now: UnixMillis) -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        if let authorization = secrets.authorization { headers.append(("Authorization", authorization)) }
        if let secret = secrets.signing.first {
            headers += Self.scheme.sign(body, secret: secret, now: now, id: "")
        }
        return headers
    }

    public func redact(_ delivery: VerifiedDelivery) -> [UInt8]? {
        JSON(delivery.body).map { redaction.redact($0).bytes }
    }

    public func normalize(_ delivery: VerifiedDelivery) -> NormalizedEvent {
        var event = NormalizedEvent(eventID: "", type: "", occurredAt: nil, environment: nil, effects: [])
        if let document = JSONText(delivery.body)?.root {
            do throws(RevenueCatEvent.Failure) {
                let parsed = try RevenueCatEvent(document, receivedAt: delivery.receivedAt, into: &event)
                try parsed.translate(into: &event)
            } catch {
                event.effects = []
                event.verdict = .quarantined(error.reason)
            }
        } else {
            event.verdict = .quarantined("the body is no JSON (\(delivery.body.count) bytes)")
        }
        if event.eventID.isEmpty { event.eventID = delivery.digestID }
        return event
    }
}
