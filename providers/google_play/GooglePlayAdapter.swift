internal import Crypto
public import Entitlements
public import ProviderKit

/// Google Play itself: Real-time developer notifications, pushed by Pub/Sub, and what the Play Developer API says.
///
/// A notification says only that something has changed, so what counts is what the API answers; the two together are one
/// event. Source: https://developer.android.com/google/play/billing/rtdn-reference
public struct GooglePlayAdapter: ProviderAdapter {
    public static let name = ProviderID("google_play")
    /// A purchase token is the purchase's own name; orders, which other providers tell of, only refer to it.
    public static let tokenNamespace = "google_play:token"
    static let orderNamespace = "google_play"

    /// The app's package name.
    public let package: String
    private let redaction = Redaction(userFields: ["obfuscatedExternalAccountId", "externalAccountId"])

    public init(package: String) {
        self.package = package
    }

    public var provider: ProviderID { Self.name }

    /// A push is believed by its bearer token, whose keys change and are nothing an adapter can know.
    public func verify(_ delivery: WebhookDelivery, now: UnixMillis) throws(VerificationFailure) -> VerifiedDelivery {
        throw .unsigned
    }

    /// Nobody but Google signs for Google Play.
    public func seal(_ body: [UInt8]) -> [UInt8]? { nil }

    public func sign(_ body: [UInt8], now: UnixMillis) -> [(name: String, value: String)] { [] }

    public func redact(_ delivery: VerifiedDelivery) -> [UInt8]? {
        JSON(delivery.body).map { redaction.redact(GooglePlayReading.withoutPersonalData($0)).bytes }
    }

    /// Reads a push that needs no look at the API, or what a look came to.
    public func normalize(_ delivery: VerifiedDelivery) -> NormalizedEvent {
        if let document = JSON(delivery.body)?[GooglePlayReading.name] {
            return GooglePlayReading(document).event()
        }
        let push = GooglePlayPush(delivery.body)
        var event = NormalizedEvent(
            eventID: delivery.eventID ?? push.messageID,
            type: "",
            occurredAt: nil,
            environment: nil,
            effects: []
        )
        switch push.content {
        case .failure(let failure): event.verdict = .quarantined(failure.reason)
        case .success(let notification):
            event.type = notification.type
            event.occurredAt = notification.at
            switch notification.subject {
            case .test: event.verdict = .observed("a test notification")
            case .other: event.verdict = .observed("this kind of notification means nothing for access")
            case .purchase: event.verdict = .quarantined("the purchase was not looked at")
            }
        }
        return event
    }
}
