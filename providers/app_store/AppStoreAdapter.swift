public import Crypto
public import Entitlements
public import ProviderKit

/// The App Store itself: Server Notifications version 2, and transactions that apps hand in.
///
/// Source: https://developer.apple.com/documentation/appstoreservernotifications
public struct AppStoreAdapter: ProviderAdapter {
    public static let name = ProviderID("app_store")

    let verifier: AppStoreVerifier
    private let redaction = Redaction(userFields: ["appAccountToken"])

    public init(verifier: AppStoreVerifier) {
        self.verifier = verifier
    }

    public var provider: ProviderID { Self.name }

    /// The signature is in the body, and what is verified is what it opens to: the body of the result is the notification
    /// with its inner parts opened.
    public func verify(_ delivery: WebhookDelivery, now: UnixMillis) throws(VerificationFailure) -> VerifiedDelivery {
        let opened = try verifier.notification(in: delivery.body, cache: delivery.signers, now: now)
        return VerifiedDelivery(verified: opened.compact)
    }

    /// A transaction that an app hands in, as StoreKit gave it.
    ///
    /// - Parameter renewalInfo: The renewal information beside it, signed as well; nil when the app has none.
    public func verify(
        transaction: String,
        renewalInfo: String?,
        signers: VerifiedSignerCache?,
        now: UnixMillis
    ) throws(VerificationFailure) -> VerifiedDelivery {
        let opened = try verifier.submission(
            transaction: transaction,
            renewalInfo: renewalInfo,
            cache: signers,
            now: now
        )
        return VerifiedDelivery(verified: opened.compact)
    }

    /// Nobody but Apple signs for the App Store.
    public func seal(_ body: [UInt8]) -> [UInt8]? { nil }

    public func sign(_ body: [UInt8], now: UnixMillis) -> [(name: String, value: String)] { [] }

    public func redact(_ delivery: VerifiedDelivery) -> [UInt8]? {
        JSON(delivery.body).map { redaction.redact($0).bytes }
    }

    public func normalize(_ delivery: VerifiedDelivery) -> NormalizedEvent {
        var event = NormalizedEvent(eventID: "", type: "", occurredAt: nil, environment: nil, effects: [])
        if let document = JSON(delivery.body) {
            do throws(AppStoreFields.Failure) {
                if let submission = document[AppStoreVerifier.submissionName] {
                    try AppStoreSubmission(submission, into: &event).translate(into: &event)
                } else if let reading = document[AppStoreReading.name] {
                    try AppStoreReading(reading).translate(into: &event)
                } else {
                    try AppStoreNotification(document, into: &event).translate(into: &event)
                }
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

    /// What was verified, as the event that a look at the API has come to.
    func event(_ verified: VerifiedDelivery) -> APIEvent {
        APIEvent(normalize(verified), payload: redact(verified))
    }

    /// A refund says what became of one transaction; how the subscription stands then, Apple is asked.
    public func lookups(after verified: VerifiedDelivery, _ event: NormalizedEvent) -> [APIFollowUp] {
        let isRefund = Self.refundTypes.contains { event.type == $0 || event.type.hasPrefix($0 + "/") }
        guard isRefund, let environment = event.environment,
            let id = JSON(verified.body)?["data"]?["transaction"]?["originalTransactionId"]?.string
        else { return [] }
        return [.read(id: "lookup:" + event.eventID, body: AppStoreLookup(id, environment).body)]
    }

    private static let refundTypes = ["REFUND", "REFUND_REVERSED", "REVOKE"]

    /// What tells Apple whose a purchase is that an app has handed in, so that its notifications say so from then on. Nil where
    /// the transaction says it already, and for users and purchases that Apple has no place for it.
    ///
    /// Source: https://developer.apple.com/documentation/appstoreserverapi/set-app-account-token
    public func accountToken(of user: UserID, in verified: VerifiedDelivery) -> APIFollowUp? {
        guard let submission = JSON(verified.body)?[AppStoreVerifier.submissionName],
            let transaction = submission["transaction"], let id = transaction["originalTransactionId"]?.string,
            UserID.isUUID(Array(user.value.utf8)), transaction["inAppOwnershipType"]?.string != "FAMILY_SHARED",
            transaction["appAccountToken"]?.string?.lowercased() != user.value.lowercased()
        else { return nil }
        let body = JSON.object(["appAccountToken": .string(user.value.lowercased())])
        return .tell(
            APIRequest(
                "/inApps/v1/transactions/\(APIRequest.encode(id))/appAccountToken",
                json: String(decoding: body.bytes, as: UTF8.self),
                method: .put,
                isSandbox: submission["environment"]?.string == "Sandbox"
            )
        )
    }

    /// The facts, with the user the transaction names.
    static func effects(
        of transaction: AppStoreTransaction,
        _ facts: [Fact],
        _ environment: StoreEnvironment,
        at moment: UnixMillis
    ) throws(AppStoreFields.Failure) -> [Effect] {
        var facts = facts
        if let user = try transaction.user() {
            facts.append(.owner(OwnerStatement(source: .own, at: moment, users: [user])))
        }
        return [.facts(transaction.reference(environment), facts)]
    }
}
