internal import Entitlements
internal import Testing

/// What web-billing providers' words come to, told with their own samples.
struct BillingStoryTests {
    private typealias Telling = BillingStory.Telling

    private static func chargeback(_ action: String, _ status: String, _ day: String) -> Telling {
        Telling(
            "adjustment.chargeback",
            [
                "/event_id": "\"evt_\(action)_\(status)\"", "/occurred_at": "\"\(day)T09:00:00.000000Z\"",
                "/data/action": "\"\(action)\"", "/data/status": "\"\(status)\"",
            ]
        )
    }

    private static let ways: [(steps: [String], end: String)] = [
        (["chargeback approved 2026-11-13"], "2026-11-13"),
        (["chargeback pending_approval 2026-11-13"], "2026-12-01"),
        (["chargeback rejected 2026-11-13"], "2026-12-01"),
        (["chargeback approved 2026-11-13", "chargeback reversed 2026-11-20"], "2026-12-01"),
        (["chargeback approved 2026-11-13", "chargeback_reverse approved 2026-11-20"], "2026-12-01"),
        (
            [
                "chargeback approved 2026-11-13", "chargeback_reverse approved 2026-11-20",
                "chargeback reversed 2026-11-21",
            ], "2026-12-01"
        ),
        (["chargeback approved 2026-11-13", "chargeback_reverse pending_approval 2026-11-20"], "2026-11-13"),
        (["chargeback approved 2026-11-13", "chargeback_reverse rejected 2026-11-20"], "2026-11-13"),
    ]

    // EVIDENCE MERGE-1
    @Test("a chargeback counts by its action and its status", arguments: ways)
    func chargebacks(_ steps: [String], _ end: String) throws {
        let told = steps.map { step in
            let words = step.split(separator: " ").map(String.init)
            return Self.chargeback(words[0], words[1], words[2])
        }
        try BillingStory(
            sentence: "\(steps)",
            provider: "paddle",
            tellings: [Telling("subscription.created")] + told,
            ends: ["pro": end]
        ).check()
        // The same of a purchase that is paid once.
        let once = told.map { telling in
            var telling = telling
            telling.changes["/data/subscription_id"] = "null"
            telling.changes["/data/transaction_id"] = "\"txn_01c1jacgbw6sbr699j9a6ceh6m\""
            return telling
        }
        try BillingStory(
            sentence: "\(steps), once",
            provider: "paddle",
            tellings: [Telling("transaction.completed")] + once,
            ends: ["pro": end == "2026-12-01" ? "never" : end]
        ).check()
    }

    private static func invoiced(_ id: Int, _ at: String) -> Telling {
        Telling(
            "subscription_payment_success",
            [
                "/data/id": "\"\(id)\"", "/data/attributes/created_at": "\"\(at)\"",
                "/data/attributes/updated_at": "\"\(at)\"",
            ]
        )
    }

    private static func returned(_ id: Int, of at: String, on moment: String) -> Telling {
        Telling(
            "subscription_payment_refunded",
            [
                "/data/id": "\"\(id)\"", "/data/attributes/created_at": "\"\(at)\"",
                "/data/attributes/updated_at": "\"\(moment)T09:00:00.000000Z\"",
            ]
        )
    }

    private static let order = Telling(
        "order_created",
        ["/data/attributes/total": "1200", "/data/attributes/first_order_item/variant_id": "180153"]
    )

    private static let lemonStories: [BillingStory] = [
        BillingStory(
            sentence: "a trial ends with itself, however far ahead the first renewal lies",
            provider: "lemonsqueezy",
            tellings: [
                Telling(
                    "subscription_created.on_trial",
                    ["/data/attributes/renews_at": "\"2026-12-08T09:00:00.000000Z\""]
                )
            ],
            ends: ["pro": "2026-11-08"]
        ),
        BillingStory(
            sentence: "an active subscription runs to its renewal",
            provider: "lemonsqueezy",
            tellings: [
                Telling("subscription_created", ["/data/attributes/ends_at": "\"2027-05-01T09:00:00.000000Z\""])
            ],
            ends: ["pro": "2026-12-01"]
        ),
        BillingStory(
            sentence: "a cancelled one runs to its end",
            provider: "lemonsqueezy",
            tellings: [
                Telling(
                    "subscription_cancelled",
                    [
                        "/data/attributes/ends_at": "\"2026-12-20T09:00:00.000000Z\"",
                        "/data/attributes/renews_at": "\"2027-05-01T09:00:00.000000Z\"",
                    ]
                )
            ],
            ends: ["pro": "2026-12-20"]
        ),
        BillingStory(
            sentence: "a pause that keeps the service, whatever event tells of it",
            provider: "lemonsqueezy",
            tellings: [
                Telling(
                    "subscription_paused",
                    ["/data/attributes/pause": #"{"mode":"void","resumes_at":null}"#]
                ),
                Telling(
                    "subscription_updated.active",
                    [
                        "/meta/event_name": "\"subscription_plan_changed\"",
                        "/data/attributes/status": "\"paused\"",
                        "/data/attributes/updated_at": "\"2026-11-28T09:00:00.000000Z\"",
                        "/data/attributes/pause": #"{"mode":"free","resumes_at":null}"#,
                    ]
                ),
            ],
            ends: ["pro": "2026-12-01"]
        ),
        BillingStory(
            sentence:
                "the refund of an older invoice leaves a renewed subscription alone, before the newer invoice is told",
            provider: "lemonsqueezy",
            tellings: [
                Telling("subscription_created"), invoiced(1, "2026-11-01T09:00:04.000000Z"),
                Telling("subscription_updated"),
                returned(1, of: "2026-11-01T09:00:04.000000Z", on: "2026-12-08"),
            ],
            ends: ["pro": "2027-01-01"],
            status: .expired
        ),
        BillingStory(
            sentence: "what was refunded stays refunded until a newer period is active",
            provider: "lemonsqueezy",
            tellings: [
                Telling("subscription_created"), invoiced(1, "2026-11-01T09:00:04.000000Z"),
                returned(1, of: "2026-11-01T09:00:04.000000Z", on: "2026-11-08"), Telling("subscription_updated"),
            ],
            ends: ["pro": "2027-01-01"],
            status: .expired
        ),
        BillingStory(
            sentence: "a renewal whose payment fails restores nothing",
            provider: "lemonsqueezy",
            tellings: [
                Telling("subscription_created"), invoiced(1, "2026-11-01T09:00:04.000000Z"),
                returned(1, of: "2026-11-01T09:00:04.000000Z", on: "2026-11-08"), Telling("subscription_updated"),
                Telling(
                    "subscription_updated.past_due",
                    [
                        "/data/attributes/updated_at": "\"2026-12-01T10:00:00.000000Z\"",
                        "/data/attributes/renews_at": "\"2027-01-01T09:00:00.000000Z\"",
                    ]
                ),
            ],
            ends: ["pro": "2026-11-08"],
            status: .refunded
        ),
        BillingStory(
            sentence: "the refund of the newest invoice ends it",
            provider: "lemonsqueezy",
            tellings: [
                Telling("subscription_created"), Telling("subscription_updated"),
                Telling("subscription_payment_success"), Telling("subscription_payment_refunded"),
            ],
            ends: ["pro": "2026-12-07"],
            status: .refunded
        ),
        BillingStory(
            sentence: "unpaid ends at the paid end, also when no failure was told before",
            provider: "lemonsqueezy",
            tellings: [
                Telling("subscription_created"), Telling("subscription_updated"),
                Telling(
                    "subscription_updated",
                    [
                        "/data/attributes/status": "\"unpaid\"",
                        "/data/attributes/updated_at": "\"2026-12-15T09:00:00.000000Z\"",
                    ]
                ),
            ],
            ends: ["pro": "2026-12-01"],
            status: .billingRetry
        ),
        BillingStory(
            sentence: "an order and its first invoice are one charge: the order's refund ends it",
            provider: "lemonsqueezy",
            tellings: [
                Telling("subscription_created"), order, invoiced(1, "2026-11-01T09:00:04.000000Z"),
                Telling(
                    "order_refunded",
                    ["/data/attributes/total": "1200", "/data/attributes/refunded_amount": "1200"]
                ),
            ],
            ends: ["pro": "2026-11-05"],
            status: .refunded
        ),
        BillingStory(
            sentence: "an order and its first invoice are one charge: the invoice's refund ends it",
            provider: "lemonsqueezy",
            tellings: [
                Telling("subscription_created"), order, invoiced(1, "2026-11-01T08:59:58.000000Z"),
                returned(1, of: "2026-11-01T08:59:58.000000Z", on: "2026-11-06"),
            ],
            ends: ["pro": "2026-11-06"],
            status: .refunded
        ),
        BillingStory(
            sentence: "refunded, it says, and less than was paid: a part",
            provider: "lemonsqueezy",
            tellings: [
                Telling("order_created"), Telling("order_refunded", ["/data/attributes/refunded_amount": "2000"]),
            ],
            ends: ["pro": "never"]
        ),
        BillingStory(
            sentence: "refunded, and no amount: all of it",
            provider: "lemonsqueezy",
            tellings: [
                Telling("order_created"), Telling("order_refunded", ["/data/attributes/refunded_amount": "null"]),
            ],
            ends: ["pro": "2026-11-05"],
            status: .refunded
        ),
        BillingStory(
            sentence: "a product map may name the price",
            provider: "lemonsqueezy",
            tellings: [Telling("subscription_created")],
            map: ["230771": "pro"],
            ends: ["pro": "2026-12-01"]
        ),
    ]

    // EVIDENCE MERGE-1
    @Test(arguments: lemonStories)
    func lemonSqueezy(_ story: BillingStory) throws { try story.check() }

    private static func transaction(_ id: String, _ at: String, _ more: [String: String]) -> Telling {
        Telling(
            "transaction.completed",
            [
                "/event_id": "\"evt_\(id)\"", "/data/id": "\"\(id)\"", "/occurred_at": "\"\(at)T09:10:00.000000Z\"",
                "/data/subscription_id": "\"sub_01da5srkhtvtmxqk0q7ppsthfp\"",
            ].merging(more) { $1 }
        )
    }

    private static func period(_ start: String, _ end: String) -> [String: String] {
        [
            "/data/billing_period":
                #"{"starts_at":"\#(start)T09:00:00.000000Z","ends_at":"\#(end)T09:00:00.000000Z"}"#
        ]
    }

    private static func refund(_ id: String, _ at: String, _ total: String) -> Telling {
        Telling(
            "adjustment.refund",
            [
                "/data/transaction_id": "\"\(id)\"", "/occurred_at": "\"\(at)T09:00:00.000000Z\"",
                "/data/totals/total": "\"\(total)\"",
            ]
        )
    }

    private static let creemItems = """
        [{"product_id":"prod_A","price_id":"pA"},{"product_id":"prod_B","price_id":"pB"}]
        """
    private static func paddleItem(_ id: String) -> String {
        #"{"price_id":"\#(id)","price":{"id":"\#(id)","product_id":"pro_\#(id)","billing_cycle":null}}"#
    }

    private static let otherStories: [BillingStory] = [
        BillingStory(
            sentence: "the refund of an older payment of unknown period leaves the present one alone",
            provider: "paddle",
            tellings: [
                Telling("subscription.activated"), transaction("txn_1", "2026-11-01", [:]),
                Telling("subscription.updated"), refund("txn_1", "2026-12-09", "9900"),
            ],
            ends: ["pro": "2027-01-01"]
        ),
        BillingStory(
            sentence: "a charge beside the period takes nothing when it is given back",
            provider: "paddle",
            tellings: [
                Telling("subscription.activated"),
                transaction("txn_1", "2026-11-01", period("2026-11-01", "2026-12-01")),
                transaction("txn_3", "2026-11-10", ["/data/details/totals/grand_total": "\"500\""]),
                refund("txn_3", "2026-11-12", "500"),
            ],
            ends: ["pro": "2026-12-01"]
        ),
        BillingStory(
            sentence: "neither does one that names the running period",
            provider: "paddle",
            tellings: [
                Telling("subscription.activated"),
                transaction("txn_1", "2026-11-01", period("2026-11-01", "2026-12-01")),
                transaction(
                    "txn_3",
                    "2026-11-10",
                    period("2026-11-01", "2026-12-01").merging(["/data/details/totals/grand_total": "\"500\""]) { $1 }
                ),
                refund("txn_3", "2026-11-12", "500"),
            ],
            ends: ["pro": "2026-12-01"]
        ),
        BillingStory(
            sentence: "a full refund without an amount",
            provider: "paddle",
            tellings: [Telling("subscription.created"), Telling("adjustment.refund", ["/data/totals": "null"])],
            ends: ["pro": "2026-11-04"],
            status: .refunded
        ),
        BillingStory(
            sentence: "two things bought at once",
            provider: "paddle",
            tellings: [
                Telling("transaction.completed", ["/data/items": "[\(paddleItem("a")),\(paddleItem("b"))]"])
            ],
            map: ["a": "pro", "b": "th"],
            ends: ["pro": "never", "th": "never"]
        ),
        BillingStory(
            sentence: "two items of one subscription",
            provider: "creem",
            tellings: [Telling("subscription.paid", ["/object/items": creemItems])],
            map: ["pA": "pro", "prod_B": "th"],
            ends: ["pro": "2026-12-01", "th": "2026-12-01"]
        ),
        BillingStory(
            sentence: "without items the product counts",
            provider: "creem",
            tellings: [Telling("subscription.paid", ["/object/items": "[]"])],
            map: ["prod_Vfh9zdScdPorvijC9J111F": "pro"],
            ends: ["pro": "2026-12-01"]
        ),
        BillingStory(
            sentence: "a transaction that is refunded is given back in full, whatever amounts are told",
            provider: "creem",
            tellings: [
                Telling("subscription.paid"), Telling("refund.created", ["/object/transaction/amount_paid": "null"]),
            ],
            ends: ["pro": "2026-11-03"],
            status: .refunded
        ),
        BillingStory(
            sentence: "a transaction that is refunded in part is not",
            provider: "creem",
            tellings: [
                Telling("subscription.paid"),
                Telling(
                    "refund.created",
                    ["/object/transaction/status": "\"partialRefund\"", "/object/refund_amount": "500"]
                ),
            ],
            ends: ["pro": "2026-12-01"]
        ),
        BillingStory(
            sentence: "two things in a cart",
            provider: "dodo",
            tellings: [
                Telling("payment.succeeded", ["/data/product_cart": #"[{"product_id":"a"},{"product_id":"b"}]"#])
            ],
            map: ["a": "pro", "b": "th"],
            ends: ["pro": "never", "th": "never"]
        ),
        BillingStory(
            sentence: "an empty cart gives nothing",
            provider: "dodo",
            tellings: [Telling("payment.succeeded", ["/data/product_cart": "[]"])],
            ends: [:]
        ),
        BillingStory(
            sentence: "a full refund without an amount",
            provider: "dodo",
            tellings: [Telling("payment.succeeded"), Telling("refund.succeeded", ["/data/amount": "null"])],
            ends: ["pro": "2026-11-04"],
            status: .refunded
        ),
        BillingStory(
            sentence: "a pause that is over does not move a later end",
            provider: "dodo",
            tellings: [
                Telling("subscription.active"),
                Telling(
                    "subscription.active",
                    [
                        "/type": "\"subscription.expired\"", "/timestamp": "\"2026-11-25T09:00:00.000000Z\"",
                        "/data/status": "\"expired\"", "/data/paused_at": "\"2026-11-05T09:00:00.000000Z\"",
                    ]
                ),
            ],
            ends: ["pro": "2026-11-25"]
        ),
        BillingStory(
            sentence: "two items of one subscription",
            provider: "chargebee",
            tellings: [
                Telling(
                    "subscription_created",
                    ["/content/subscription/subscription_items": #"[{"item_price_id":"a"},{"item_price_id":"b"}]"#]
                )
            ],
            map: ["a": "pro", "b": "th"],
            ends: ["pro": "2026-12-01", "th": "2026-12-01"]
        ),
        BillingStory(
            sentence: "unpaid ends at the paid end, also when no failure was told before",
            provider: "polar",
            tellings: [
                Telling("subscription.active"), Telling("subscription.cycled"),
                Telling(
                    "subscription.cycled",
                    [
                        "/type": "\"subscription.revoked\"", "/timestamp": "\"2026-12-15T09:00:00.000000Z\"",
                        "/data/status": "\"unpaid\"",
                    ]
                ),
            ],
            ends: ["pro": "2026-12-01"],
            status: .billingRetry
        ),
        BillingStory(
            sentence: "a product map may name the price",
            provider: "polar",
            tellings: [Telling("subscription.active", ["/data/prices": #"[{"id":"price_1"}]"#])],
            map: ["price_1": "pro"],
            ends: ["pro": "2026-12-01"]
        ),
    ]

    // EVIDENCE MERGE-1
    @Test(arguments: otherStories)
    func others(_ story: BillingStory) throws { try story.check() }
}
