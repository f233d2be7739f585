internal import Entitlements
internal import Foundation
internal import ProviderKit
internal import Providers
internal import Testing

@testable internal import SQLStorage
@testable internal import SQLiteStorage
@testable internal import Storage

/// Payloads as the providers send them, through the real adapters, in every order.
struct RealPayloadTests {
    struct Scenario: Sendable, CustomTestStringConvertible {
        var name: String
        var provider: String
        var files: [String]
        /// Set for what does not hold yet.
        var defect: Comment?
        var testDescription: String { name }
    }

    private static let payloads = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Conformance/payloads")

    static func events(_ scenario: Scenario) throws -> [IncomingEvent] {
        let adapter: any ProviderAdapter
        if scenario.provider == "revenuecat" {
            adapter = RevenueCatAdapter(secrets: .init(authorization: "a", signing: []))
        } else {
            let manifest = try #require(
                try BuiltInProviders.manifests().first { $0.provider.name == scenario.provider }
            )
            adapter = ManifestAdapter(manifest: manifest, secrets: ["s"])
        }
        return try scenario.files.enumerated().map { index, file in
            let url = payloads.appendingPathComponent(scenario.provider).appendingPathComponent(file + ".json")
            let delivery = VerifiedDelivery(verified: [UInt8](try Data(contentsOf: url)), eventID: "msg_\(index)")
            let event = adapter.normalize(delivery)
            let isUnderstood = if case .quarantined = event.verdict { false } else { true }
            #expect(isUnderstood, "\(file): \(String(describing: event.verdict))")
            return IncomingEvent(
                provider: adapter.provider,
                event: event,
                receivedAt: event.occurredAt ?? day(0),
                redactedPayload: { nil }
            )
        }
    }

    static let scenarios: [Scenario] = [
        Scenario(
            name: "RevenueCat: a purchase, its renewal, its cancellation, its end",
            provider: "revenuecat",
            files: [
                "01-initial_purchase.app_store", "04-renewal.app_store.charged_before_period_start",
                "05-cancellation.unsubscribe", "11-expiration.unsubscribe",
            ]
        ),
        Scenario(
            name: "RevenueCat: a refund and its reversal",
            provider: "revenuecat",
            files: [
                "01-initial_purchase.app_store", "06-cancellation.refund.subscription", "25-refund_reversed",
                "08-uncancellation",
            ]
        ),
        Scenario(
            name: "RevenueCat: a purchase for life and its refund",
            provider: "revenuecat",
            files: ["09-non_renewing_purchase.lifetime", "07-cancellation.refund.lifetime", "26-transfer"]
        ),
        Scenario(
            name: "RevenueCat: a failed payment with its companions",
            provider: "revenuecat",
            files: [
                "01-initial_purchase.app_store", "14a-billing_issue.no_grace", "14b-cancellation.billing_error",
                "14c-expiration.billing_error", "13-billing_issue.grace_period",
            ]
        ),
        Scenario(
            name: "RevenueCat: a transfer and later events",
            provider: "revenuecat",
            files: [
                "01-initial_purchase.app_store", "26-transfer", "27-transfer.without_environment",
                "24-subscription_extended", "37-initial_purchase.anonymous_only",
            ]
        ),
        Scenario(
            name: "RevenueCat: Stripe through it",
            provider: "revenuecat",
            files: [
                "15-initial_purchase.stripe", "16-renewal.stripe.same_transaction_id",
                "17-billing_issue.stripe.null_grace_future_expiration", "18-expiration.stripe.future_expiration_at_ms",
            ]
        ),
        Scenario(
            name: "RevenueCat: a pause at Google Play and a grant",
            provider: "revenuecat",
            files: [
                "02-initial_purchase.trial.play_store", "03-renewal.trial_conversion.play_store",
                "22-subscription_paused.play_store", "23-expiration.subscription_paused",
                "30-non_renewing_purchase.promotional_grant",
            ]
        ),
        Scenario(
            name: "RevenueCat: a temporary grant and the purchase",
            provider: "revenuecat",
            files: [
                "28-temporary_entitlement_grant.full", "01-initial_purchase.app_store",
                "32a-cancellation.promotional_revoke", "32b-expiration.promotional_revoke",
            ]
        ),
        Scenario(
            name: "Stripe: a checkout, its subscription, a renewal, a failure",
            provider: "stripe",
            files: [
                "03-checkout.session.completed.subscription.old", "02-subscription.updated.active.old",
                "04-invoice.paid.renewal.old", "05-subscription.updated.past_due.old",
                "05b-subscription.updated.past_due.second_attempt",
            ]
        ),
        Scenario(
            name: "Stripe: a failure, recovery and the end",
            provider: "stripe",
            files: [
                "02-subscription.updated.active.old", "05-subscription.updated.past_due.old",
                "05c-subscription.updated.recovered.old", "06-subscription.deleted.old",
            ]
        ),
        Scenario(
            name: "Stripe: an invoice, the payment that paid it, and its refund",
            provider: "stripe",
            files: [
                "08a-subscription.created.active", "14-invoice.paid.renewal", "14c-invoice_payment.paid",
                "21e-charge.refunded.full.of_invoice",
            ]
        ),
        Scenario(
            name: "Stripe: a one-time purchase, refunded in parts and in full, the refund fails",
            provider: "stripe",
            files: [
                "16-checkout.session.completed.payment.paid", "20-charge.refunded.partial", "21-charge.refunded.full",
                "21c-refund.failed",
            ]
        ),
        Scenario(
            name: "Stripe: a dispute",
            provider: "stripe",
            files: [
                "16-checkout.session.completed.payment.paid", "22-charge.dispute.created",
                "23-charge.dispute.closed.won", "23c-charge.dispute.funds_reinstated", "23b-charge.dispute.closed.lost",
            ]
        ),
        Scenario(
            name: "Stripe: paused collection, cancel_at and two subscriptions",
            provider: "stripe",
            files: [
                "08a-subscription.created.active", "13-subscription.updated.pause_collection",
                "10-subscription.updated.cancel_at.flexible", "27-subscription.created.active.second_subscription",
                "28-subscription.created.active.no_metadata",
            ]
        ),
        Scenario(
            name: "Creem: a checkout, a payment, a failure, a renewal",
            provider: "creem",
            files: [
                "01-checkout.completed.recurring", "03-subscription.paid", "08-subscription.past_due",
                "08b-subscription.past_due.second_attempt", "09-subscription.paid.renewal",
            ]
        ),
        Scenario(
            name: "Creem: refunds and disputes without metadata",
            provider: "creem",
            files: [
                "03-subscription.paid", "09-subscription.paid.renewal", "13b-refund.created.full.of_earlier_period",
                "15b-dispute.created.no_metadata", "18-subscription.paid.no_metadata",
            ]
        ),
        Scenario(
            name: "Creem: an order, refunded in parts and in full",
            provider: "creem",
            files: [
                "16b-checkout.completed.onetime.unpaid", "16-checkout.completed.onetime",
                "16d-refund.created.onetime.partial", "16c-refund.created.onetime.full",
            ]
        ),
        Scenario(
            name: "Creem: cancelled, paused, resumed",
            provider: "creem",
            files: [
                "03-subscription.paid", "05-subscription.scheduled_cancel", "11-subscription.paused",
                "11b-subscription.active.resumed", "12-subscription.expired.status_active",
            ]
        ),
    ]

    // EVIDENCE MERGE-3
    @Test("every order gives one result", arguments: scenarios)
    func everyOrder(_ scenario: Scenario) throws {
        try expectOneResult(try Self.events(scenario), scenario.name)
    }

    private func cat(_ fields: [String: Any]) throws -> IncomingEvent {
        var event: [String: Any] = [
            "id": UUID().uuidString, "app_user_id": "u1", "environment": "PRODUCTION", "store": "APP_STORE",
            "product_id": "monthly", "entitlement_ids": ["pro"], "period_type": "NORMAL",
        ]
        event.merge(fields) { $1 }
        let body = [UInt8](try JSONSerialization.data(withJSONObject: ["event": event, "api_version": "1.0"]))
        let made = RevenueCatAdapter(secrets: .init(authorization: "a", signing: [])).normalize(
            VerifiedDelivery(verified: body)
        )
        let understood = made.verdict == nil
        #expect(understood, "\(String(describing: made.verdict))")
        return IncomingEvent(
            provider: RevenueCatAdapter.name,
            event: made,
            receivedAt: made.occurredAt ?? day(0),
            redactedPayload: { nil }
        )
    }

    private func millis(_ days: Double) -> Int64 { day(days).value }

    // EVIDENCE MERGE-2
    @Test("a temporary grant never shortens the purchase that follows it")
    func temporaryGrant() throws {
        let ledger = try Ledger()
        try ledger.take([
            try cat([
                "type": "TEMPORARY_ENTITLEMENT_GRANT", "event_timestamp_ms": millis(0.01),
                "purchased_at_ms": millis(0.01),
                "expiration_at_ms": millis(1.01), "transaction_id": "tx_1",
            ]),
            try cat([
                "type": "INITIAL_PURCHASE", "event_timestamp_ms": millis(0.02), "purchased_at_ms": millis(0),
                "expiration_at_ms": millis(365), "transaction_id": "tx_1", "original_transaction_id": "tx_1",
            ]),
        ])
        let row = try ledger.row("u1")
        #expect(row.entitlements.first?.end == day(365))
    }

    // EVIDENCE MERGE-7
    @Test("an event that names only the latest transaction belongs to the chain that knows it")
    func latestTransactionOnly() throws {
        let events = [
            try cat([
                "type": "RENEWAL", "event_timestamp_ms": millis(0), "purchased_at_ms": millis(0),
                "expiration_at_ms": millis(30),
                "transaction_id": "tx_2", "original_transaction_id": "tx_1",
            ]),
            try cat([
                "type": "EXPIRATION", "event_timestamp_ms": millis(5), "purchased_at_ms": millis(0),
                "expiration_at_ms": millis(30), "transaction_id": "tx_2",
            ]),
        ]
        let ledger = try Ledger()
        try ledger.take(events)
        let row = try ledger.row("u1")
        #expect(row.entitlements.first?.end == day(5))
    }

    // EVIDENCE MERGE-1
    @Test(
        "switching renewal off or on while a payment fails leaves the store's grace",
        arguments: ["CANCELLATION", "UNCANCELLATION"]
    )
    func cancelledInGrace(_ type: String) throws {
        let chain: [String: Any] = [
            "purchased_at_ms": millis(0), "expiration_at_ms": millis(30), "transaction_id": "tx",
            "original_transaction_id": "tx",
        ]
        let ledger = try Ledger()
        try ledger.take([
            try cat(chain.merging(["type": "INITIAL_PURCHASE", "event_timestamp_ms": millis(0)]) { $1 }),
            try cat(
                chain.merging([
                    "type": "BILLING_ISSUE", "event_timestamp_ms": millis(30),
                    "grace_period_expiration_at_ms": millis(46),
                ]) { $1 }
            ),
            try cat(
                chain.merging(["type": type, "event_timestamp_ms": millis(33), "cancel_reason": "UNSUBSCRIBE"]) { $1 }
            ),
        ])
        let row = try ledger.row("u1")
        #expect(row.entitlements.first?.end == day(46))
    }

    // EVIDENCE MERGE-1
    @Test("an end whose entitlement_ids are null ends what the purchase gave, it does not unsay it")
    func endWithoutEntitlements() throws {
        let chain: [String: Any] = [
            "purchased_at_ms": millis(0), "expiration_at_ms": millis(30), "transaction_id": "tx",
            "original_transaction_id": "tx",
        ]
        let ledger = try Ledger()
        try ledger.take([
            try cat(chain.merging(["type": "INITIAL_PURCHASE", "event_timestamp_ms": millis(0)]) { $1 }),
            try cat(
                chain.merging(["type": "EXPIRATION", "event_timestamp_ms": millis(30), "entitlement_ids": NSNull()]) {
                    $1
                }
            ),
        ])
        let row = try ledger.row("u1")
        #expect(row.entitlements.first?.status(at: day(31)) == .expired)
    }

    // EVIDENCE MERGE-5
    @Test("an expiration without an end ends the chain at its own time")
    func expirationWithoutEnd() throws {
        let chain: [String: Any] = [
            "purchased_at_ms": millis(0), "transaction_id": "tx", "original_transaction_id": "tx",
        ]
        let ledger = try Ledger()
        try ledger.take([
            try cat(
                chain.merging([
                    "type": "INITIAL_PURCHASE", "event_timestamp_ms": millis(0), "expiration_at_ms": millis(365),
                ]) { $1 }
            ),
            try cat(chain.merging(["type": "EXPIRATION", "event_timestamp_ms": millis(5)]) { $1 }),
        ])
        let row = try ledger.row("u1")
        #expect(row.entitlements.first?.end == day(5))
    }
}
