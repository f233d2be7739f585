internal import Crypto
public import Entitlements
public import ProviderKit

/// The body of a Pub/Sub push, and the notification in it.
///
/// Source: https://cloud.google.com/pubsub/docs/push#receive_push
public struct GooglePlayPush {
    /// Why a push cannot be understood.
    public struct Failure: Error {
        public var reason: String
    }

    /// The message's id, the same in every delivery of it; a digest of the body where there is none.
    public let messageID: String
    public let content: Result<GooglePlayNotification, Failure>
    private let body: [UInt8]

    /// The push as an event of its own, where nothing is to be looked at. What an API has said only the gateway itself writes
    /// down: a push that pretends to hold that has lost it here, whoever may have signed it.
    public var delivery: VerifiedDelivery {
        guard case .object(var members) = JSON(body), members.removeValue(forKey: GooglePlayReading.name) != nil else {
            return VerifiedDelivery(verified: body, eventID: messageID)
        }
        return VerifiedDelivery(verified: JSON.object(members).bytes, eventID: messageID)
    }

    public init(_ body: [UInt8]) {
        self.body = body
        let message = JSON(body)?["message"]
        let id = message?["messageId"]?.string ?? message?["message_id"]?.string
        guard let message, let id, !id.isEmpty else {
            messageID = "sha256:" + Digest.sha256Hex(body)
            content = .failure(Failure(reason: "the body is no Pub/Sub message (\(body.count) bytes)"))
            return
        }
        messageID = id
        guard let text = message["data"]?.string, let data = Base64.decode(text) else {
            content = .failure(Failure(reason: "/message/data is no base64 text"))
            return
        }
        guard let document = JSON(data), document.object != nil else {
            content = .failure(Failure(reason: "/message/data holds no JSON object (\(data.count) bytes)"))
            return
        }
        content = GooglePlayNotification.read(document)
    }

    /// A push of our own making, for a notification that was never sent.
    static func body(of notification: JSON, id: String) -> [UInt8] {
        let message = JSON.object(["messageId": .string(id), "data": .string(Base64.encode(notification.bytes))])
        return JSON.object(["message": message]).bytes
    }
}

/// A DeveloperNotification: which purchase something happened to.
public struct GooglePlayNotification: Sendable {
    public enum Subject: Hashable, Sendable {
        case test
        /// A kind that nobody knows yet, or one that is about no purchase.
        case other
        /// - isSubscription: Nil where nothing is said of it.
        case purchase(token: String, isSubscription: Bool?)
    }

    /// As Google sent it.
    public let document: JSON
    public let package: String?
    public let at: UnixMillis?
    public let type: String
    public let subject: Subject

    static func read(_ document: JSON) -> Result<GooglePlayNotification, GooglePlayPush.Failure> {
        func failure(_ reason: String) -> Result<GooglePlayNotification, GooglePlayPush.Failure> {
            .failure(GooglePlayPush.Failure(reason: reason))
        }
        // Google writes numbers of 64 bits as texts.
        let millis = document["eventTimeMillis"].flatMap { $0.integer ?? $0.string.flatMap { Int64($0) } }
        let at = millis.map { UnixMillis($0).clamped }
        func found(_ type: String, _ subject: Subject) -> Result<GooglePlayNotification, GooglePlayPush.Failure> {
            .success(
                GooglePlayNotification(
                    document: document,
                    package: document["packageName"]?.string,
                    at: at,
                    type: type,
                    subject: subject
                )
            )
        }
        func purchase(_ part: JSON, _ place: String, _ type: String, _ isSubscription: Bool?)
            -> Result<GooglePlayNotification, GooglePlayPush.Failure>
        {
            guard at != nil else { return failure("/eventTimeMillis is missing") }
            guard let token = part["purchaseToken"]?.string, !token.isEmpty, token.utf8.count <= tokenBytesMax else {
                return failure("/\(place)/purchaseToken is missing")
            }
            return found(type, .purchase(token: token, isSubscription: isSubscription))
        }
        if document["testNotification"]?.object != nil { return found("TEST", .test) }
        if let part = document["subscriptionNotification"], part.object != nil {
            guard let number = part["notificationType"]?.integer else {
                return failure("/subscriptionNotification/notificationType is missing")
            }
            return purchase(part, "subscriptionNotification", subscriptionType(number), true)
        }
        if let part = document["oneTimeProductNotification"], part.object != nil {
            guard let number = part["notificationType"]?.integer else {
                return failure("/oneTimeProductNotification/notificationType is missing")
            }
            let type = [1: "ONE_TIME_PRODUCT_PURCHASED", 2: "ONE_TIME_PRODUCT_CANCELED"][number]
            return purchase(part, "oneTimeProductNotification", type ?? "ONE_TIME_PRODUCT_\(number)", false)
        }
        if let part = document["voidedPurchaseNotification"], part.object != nil {
            let kind = part["productType"]?.integer.flatMap { [1: true, 2: false][$0] }
            return purchase(part, "voidedPurchaseNotification", voidedType, kind)
        }
        let kinds = document.object?.keys.filter { $0.hasSuffix("Notification") }.sorted() ?? []
        return found(kinds.first ?? "UNKNOWN", .other)
    }

    /// Longer than any token Google has given out.
    private static let tokenBytesMax = 2048

    static let voidedType = "VOIDED_PURCHASE"
    static let revokedType = "SUBSCRIPTION_REVOKED"

    private static let subscriptionTypes: [Int64: String] = [
        1: "RECOVERED", 2: "RENEWED", 3: "CANCELED", 4: "PURCHASED", 5: "ON_HOLD", 6: "IN_GRACE_PERIOD", 7: "RESTARTED",
        8: "PRICE_CHANGE_CONFIRMED", 9: "DEFERRED", 10: "PAUSED", 11: "PAUSE_SCHEDULE_CHANGED", 12: "REVOKED",
        13: "EXPIRED", 17: "ITEMS_CHANGED", 18: "CANCELLATION_SCHEDULED", 19: "PRICE_CHANGE_UPDATED",
        20: "PENDING_PURCHASE_CANCELED", 22: "PRICE_STEP_UP_CONSENT_UPDATED",
    ]

    private static func subscriptionType(_ number: Int64) -> String {
        "SUBSCRIPTION_" + (subscriptionTypes[number] ?? String(number))
    }
}
