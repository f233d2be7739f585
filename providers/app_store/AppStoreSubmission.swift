internal import Entitlements
internal import ProviderKit

/// A transaction that an app has handed in, in the product's own words. It tells what StoreKit knew on the device when it was
/// signed, so it stands among the notifications by that moment.
struct AppStoreSubmission {
    typealias Failure = AppStoreFields.Failure

    private let transaction: AppStoreTransaction
    private let moment: UnixMillis
    private let environment: StoreEnvironment

    init(_ value: JSON, into event: inout NormalizedEvent) throws(Failure) {
        event.type = "TRANSACTION_SUBMITTED"
        let fields = AppStoreFields(value: value, place: "/" + AppStoreVerifier.submissionName)
        guard let environment = AppStoreNotification.environment(value["environment"]) else {
            throw Failure(reason: "\(fields.place)/environment is neither Production nor Sandbox")
        }
        self.environment = environment
        event.environment = environment
        let signed = try fields.required("transaction", try fields.object("transaction"))
        let renewal = try fields.object("renewalInfo")
        transaction = try AppStoreTransaction(signed, renewal: renewal)
        let signedAt = try signed.required("signedDate", try signed.time("signedDate"))
        moment = max(signedAt, try renewal?.time("signedDate") ?? signedAt)
        event.occurredAt = moment
        // The same words handed in again are one event; the renewal information has a moment of its own.
        event.eventID = "transaction:\(transaction.id):\(environment.name):\(moment.value)"
    }

    func translate(into event: inout NormalizedEvent) throws(Failure) {
        var facts: [Fact] = []
        if let taken = try transaction.revocation(nil, at: moment) { facts.append(.adjustment(taken)) }
        facts.append(.state(try transaction.state(standing(), at: moment)))
        event.effects = try AppStoreAdapter.effects(of: transaction, facts, environment, at: moment)
    }

    /// A transaction exists when it was paid, and says nothing of what came after; the renewal information does.
    private func standing() throws(Failure) -> AppStoreStanding {
        guard let renewal = transaction.renewal else { return .active(tellsOfPayment: true) }
        if let until = try renewal.time("gracePeriodExpiresDate"), until > moment { return .grace }
        if try renewal.bool("isInBillingRetryPeriod") == true { return .retrying }
        return .active(tellsOfPayment: true)
    }
}
