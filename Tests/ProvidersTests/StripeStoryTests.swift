internal import Entitlements
internal import Testing

/// What Stripe's words come to, told with its own samples.
struct StripeStoryTests {
    private typealias Telling = BillingStory.Telling

    private static let item = "/data/object/items/data/0"
    private static let yearly =
        #"{"id":"si_y","current_period_start":1793523600,"current_period_end":1825059600,"#
        + #""price":{"id":"yearly","product":"py"}}"#
    private static func monthly(_ start: Int, _ end: Int) -> String {
        #"{"id":"si_m","current_period_start":\#(start),"current_period_end":\#(end),"#
            + #""price":{"id":"monthly","product":"pm"}}"#
    }
    private static func both(_ sample: String, _ start: Int, _ end: Int, _ more: [String: String] = [:]) -> Telling {
        let items = "[\(yearly),\(monthly(start, end))]"
        return Telling(sample, ["/data/object/items/data": items].merging(more) { $1 })
    }
    private static let (november, december, january) = (1_793_523_600, 1_796_115_600, 1_798_794_000)
    private static let unpaid = [
        "/id": "\"evt_unpaid\"", "/created": "1797325200", "/data/object/status": "\"unpaid\"",
    ]

    private static func invoice(
        _ id: String,
        at: Int,
        _ lines: String,
        amount: Int,
        intent: String
    ) -> Telling {
        Telling(
            "invoice.paid.first",
            [
                "/id": "\"evt_\(id)\"", "/created": "\(at)", "/data/object/id": "\"\(id)\"",
                "/data/object/payment_intent": "\"\(intent)\"", "/data/object/amount_paid": "\(amount)",
                "/data/object/lines/data": lines, "/data/object/status_transitions/paid_at": "\(at)",
            ]
        )
    }

    private static func charged(_ id: String, _ intent: String, at: Int, amount: Int, back: Int) -> Telling {
        Telling(
            "charge.refunded",
            [
                "/id": "\"evt_\(id)_\(at)\"", "/created": "\(at)", "/data/object/id": "\"\(id)\"",
                "/data/object/payment_intent": "\"\(intent)\"", "/data/object/amount": "\(amount)",
                "/data/object/amount_captured": "\(amount)", "/data/object/amount_refunded": "\(back)",
                "/data/object/refunded": "\(amount == back)",
            ]
        )
    }

    private static func line(_ start: Int, _ end: Int, proration: Bool = false) -> String {
        #"[{"parent":{"type":"subscription_item_details","subscription_item_details":{"proration":\#(proration)}},"#
            + #""period":{"start":\#(start),"end":\#(end)}}]"#
    }

    private static func oneOff(_ start: Int, _ end: Int) -> String {
        #"[{"parent":{"type":"invoice_item_details","invoice_item_details":{"proration":false}},"#
            + #""period":{"start":\#(start),"end":\#(end)}}]"#
    }

    private static let stories: [BillingStory] = [
        BillingStory(
            sentence: "unpaid ends at the paid end, also when no failure was told before",
            provider: "stripe",
            tellings: [
                Telling("customer.subscription.created"), Telling("customer.subscription.updated"),
                Telling("customer.subscription.updated", unpaid),
            ],
            ends: ["pro": "2026-12-01"],
            status: .billingRetry
        ),
        BillingStory(
            sentence: "a first period is the one that began with the subscription, whichever item comes first",
            provider: "stripe",
            tellings: [
                both("customer.subscription.created", november, december),
                both("customer.subscription.updated", december, january),
                both("customer.subscription.updated.past_due", december, january),
            ],
            map: ["yearly": "pro", "monthly": "th"],
            ends: ["pro": "2027-11-01", "th": "2026-12-15T11:00:00.000Z"],
            statuses: ["pro": .expired, "th": .billingRetry]
        ),
        BillingStory(
            sentence: "the payment of one item fails: the other keeps what was paid",
            provider: "stripe",
            tellings: [
                both("customer.subscription.created", november, december),
                both("customer.subscription.updated.past_due", december, january),
            ],
            map: ["yearly": "pro", "monthly": "th"],
            ends: ["pro": "2027-11-01", "th": "2026-12-15T11:00:00.000Z"],
            statuses: ["pro": .expired, "th": .billingRetry]
        ),
        BillingStory(
            sentence: "one item is left unpaid: the other keeps what was paid",
            provider: "stripe",
            tellings: [
                both("customer.subscription.created", november, december),
                both("customer.subscription.updated.past_due", december, january),
                both("customer.subscription.updated", december, january, unpaid),
            ],
            map: ["yearly": "pro", "monthly": "th"],
            ends: ["pro": "2027-11-01", "th": "2026-12-01"],
            statuses: ["pro": .expired, "th": .billingRetry]
        ),
        BillingStory(
            sentence: "another plan inside a period: what was had before is over, and was had",
            provider: "stripe",
            tellings: [
                Telling("customer.subscription.created", [item + "/price/id": "\"a\""]),
                Telling(
                    "customer.subscription.created",
                    [
                        "/id": "\"evt_b\"", "/created": "1793782800", item + "/price/id": "\"b\"",
                        "/type": "\"customer.subscription.updated\"",
                    ]
                ),
            ],
            map: ["a": "pro", "b": "team"],
            ends: ["pro": "2026-11-04", "team": "2026-12-01"]
        ),
        BillingStory(
            sentence: "a proration given back in full takes no period that was paid for",
            provider: "stripe",
            tellings: [
                Telling("customer.subscription.created"),
                invoice("in_1", at: november + 5, line(november, december), amount: 1200, intent: "pi_1"),
                invoice(
                    "in_2",
                    at: 1_793_955_600,
                    line(1_793_955_600, december, proration: true),
                    amount: 300,
                    intent: "pi_2"
                ),
                charged("ch_2", "pi_2", at: 1_794_042_000, amount: 300, back: 300),
            ],
            ends: ["pro": "2026-12-01"]
        ),
        BillingStory(
            sentence: "the period's own payment given back in full ends it, whatever was paid beside it",
            provider: "stripe",
            tellings: [
                Telling("customer.subscription.created"),
                invoice("in_1", at: november + 5, line(november, december), amount: 1200, intent: "pi_1"),
                invoice(
                    "in_2",
                    at: 1_793_955_600,
                    line(1_793_955_600, december, proration: true),
                    amount: 300,
                    intent: "pi_2"
                ),
                charged("ch_1", "pi_1", at: 1_794_042_000, amount: 1200, back: 1200),
            ],
            ends: ["pro": "2026-11-07"],
            status: .refunded
        ),
        BillingStory(
            sentence: "a one-off item of an invoice pays for no period",
            provider: "stripe",
            tellings: [
                Telling("customer.subscription.created"),
                invoice("in_2", at: december - 5, oneOff(december, 1_825_059_600), amount: 300, intent: "pi_2"),
            ],
            ends: ["pro": "2026-12-01"]
        ),
        BillingStory(
            sentence: "two charges of one invoice come to the whole together",
            provider: "stripe",
            tellings: [
                Telling("customer.subscription.created"), Telling("invoice.paid.first"),
                Telling(
                    "invoice_payment.paid.first",
                    ["/id": "\"evt_pa\"", "/data/object/payment/payment_intent": "\"pi_a\""]
                ),
                Telling(
                    "invoice_payment.paid.first",
                    ["/id": "\"evt_pb\"", "/data/object/payment/payment_intent": "\"pi_b\""]
                ),
                charged("ch_a", "pi_a", at: 1_793_782_800, amount: 600, back: 600),
                charged("ch_b", "pi_b", at: 1_794_042_000, amount: 600, back: 600),
            ],
            ends: ["pro": "2026-11-07"],
            status: .refunded
        ),
        BillingStory(
            sentence: "one of two charges of an invoice is a part of it",
            provider: "stripe",
            tellings: [
                Telling("customer.subscription.created"), Telling("invoice.paid.first"),
                Telling(
                    "invoice_payment.paid.first",
                    ["/id": "\"evt_pa\"", "/data/object/payment/payment_intent": "\"pi_a\""]
                ),
                charged("ch_a", "pi_a", at: 1_793_782_800, amount: 600, back: 600),
            ],
            ends: ["pro": "2026-12-01"]
        ),
        BillingStory(
            sentence: "a charge given back in full is all of the checkout it paid, whatever the checkout had asked for",
            provider: "stripe",
            tellings: [
                Telling("checkout.session.completed.payment"),
                Telling(
                    "charge.refunded.payment",
                    ["/data/object/amount_captured": "9500", "/data/object/amount_refunded": "9500"]
                ),
            ],
            ends: ["pro": "2026-11-04"],
            status: .refunded
        ),
        BillingStory(
            sentence: "given back again after the first refund failed: the second refund's time",
            provider: "stripe",
            tellings: [
                Telling("checkout.session.completed.payment"), Telling("charge.refunded.payment"),
                Telling("refund.failed.payment"),
                Telling("charge.refunded.payment", ["/id": "\"evt_again\"", "/created": "1794387600"]),
            ],
            ends: ["pro": "2026-11-11"],
            status: .refunded
        ),
    ]

    // EVIDENCE MERGE-1
    @Test(arguments: stories)
    func words(_ story: BillingStory) throws { try story.check() }
}
