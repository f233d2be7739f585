internal import Entitlements
internal import Testing

/// Contract section 4: what a provider's word means for access, where the providers differ.
struct ProviderWordTests {
    private static let web = Teller()
    private static let first = web.state("e1", period: 0, at: 0, end: 30, renews: true, isFirst: true)
    /// The provider that moves to the new period before it is paid.
    private static let moved = web.state("e2", period: 30, at: 30, end: 60, renews: true)

    // EVIDENCE MERGE-1
    @Test(arguments: [
        MergeCase(
            sentence: "a failed payment: the later of the paid end and the first failure + past_due_days",
            facts: [first, web.state("e2", period: 0, at: 29, .failing(), end: 30)],
            end: .day(43),
            ended: .billingRetry,
            statuses: [28: .active, 29: .grace, 42.9: .grace, 43: .billingRetry]
        ),
        MergeCase(
            sentence: "a failed payment long before the paid end takes nothing away",
            facts: [first, web.state("e2", period: 0, at: 2, .failing(), end: 30)],
            end: .day(30)
        ),
        MergeCase(
            sentence: "the store's own grace where it gives one",
            facts: [first, web.state("e2", period: 0, at: 29, .failing(graceUntil: 36), end: 30)],
            end: .day(36)
        ),
        MergeCase(
            sentence: "a store without grace ends at the paid end",
            facts: [first, web.state("e2", period: 0, at: 29, .failing(graceUntil: nil), end: 30)],
            end: .day(30),
            ended: .billingRetry
        ),
        MergeCase(
            sentence: "the first failure is the earliest by its own time, even if it arrives late",
            facts: [
                first, web.state("e3", period: 0, at: 33, .failing(), end: 30),
                web.state("e2", period: 0, at: 30, .failing(), end: 30),
            ],
            end: .day(44)
        ),
        MergeCase(
            sentence: "a second attempt does not restart it",
            facts: [
                first, web.state("e2", period: 0, at: 30, .failing(), end: 30),
                web.state("e3", period: 0, at: 35, .failing(), end: 30),
                web.state("e4", period: 0, at: 40, .failing(), end: 30),
            ],
            end: .day(44)
        ),
        MergeCase(
            sentence: "a run begins where the provider says it began",
            facts: [first, web.state("e2", period: 0, at: 35, .failing(since: 30), end: 30)],
            end: .day(44)
        ),
        MergeCase(
            sentence: "an active state ends a run, the next failure begins another",
            facts: [
                first, web.state("e2", period: 0, at: 20, .failing(), end: 30),
                web.state("e3", period: 0, at: 21, end: 30),
                web.state("e4", period: 0, at: 30, .failing(), end: 30),
            ],
            end: .day(44)
        ),
        MergeCase(
            sentence: "a payment ends a run, the next failure begins another",
            facts: [
                first, web.state("e2", period: 0, at: 20, .failing(), end: 30), web.paid("e3", ids: ["in"], at: 21),
                web.state("e4", period: 0, at: 30, .failing(), end: 30),
            ],
            end: .day(44)
        ),
        MergeCase(
            sentence: "at equal times a payment beats a failure",
            facts: [
                first, web.state("e2", period: 0, at: 29, .failing(), end: 30), web.paid("e3", ids: ["in"], at: 29),
            ],
            end: .day(30),
            ended: .expired
        ),
        MergeCase(
            sentence: "a provider that has moved the period: the start of the unpaid period is the paid end",
            facts: [
                first, moved, web.state("e3", period: 30, at: 30.1, .failing(periodIsUnpaid: true), end: 60),
            ],
            end: .day(44.1),
            ended: .billingRetry,
            statuses: [29: .active, 30.2: .grace]
        ),
        MergeCase(
            sentence: "unpaid alone does not tell when the payment failed: the moved period was never paid",
            facts: [first, moved, web.state("e3", period: 30, at: 45, .unpaid(periodIsUnpaid: true), end: 60)],
            end: .day(30),
            ended: .billingRetry
        ),
        MergeCase(
            sentence: "unpaid with the moment of the failure: a period active for long before it was paid",
            facts: [
                first, moved, web.state("e3", period: 30, at: 59, .unpaid(since: 55, periodIsUnpaid: true), end: 60),
            ],
            end: .day(60),
            ended: .billingRetry
        ),
        MergeCase(
            sentence: "a run goes on across periods: the first unpaid period counts",
            facts: [
                first, web.state("e2", period: 30, at: 30, .failing(periodIsUnpaid: true), end: 60),
                web.state("e3", period: 60, at: 60, .failing(periodIsUnpaid: true), end: 90),
            ],
            end: .day(44)
        ),
        MergeCase(
            sentence: "a period that was active for long was paid: its failure is about the next",
            facts: [
                first, moved, web.state("e3", period: 30, at: 55, .failing(periodIsUnpaid: true), end: 60),
            ],
            end: .day(69)
        ),
        MergeCase(
            sentence: "a period a payment names was paid",
            facts: [
                first, web.paid("e2", ids: ["in"], at: 30, from: 30, to: 60),
                web.state("e3", period: 30, at: 31, .failing(periodIsUnpaid: true), end: 60),
            ],
            end: .day(60)
        ),
        MergeCase(
            sentence: "a failure that is paid gives the whole new period",
            facts: [
                first, web.state("e2", period: 30, at: 30.1, .failing(periodIsUnpaid: true), end: 60),
                web.paid("e3", ids: ["in"], at: 33, from: 30, to: 60),
            ],
            end: .day(60),
            ended: .expired
        ),
        MergeCase(
            sentence: "unpaid ends at the paid end, without the grace",
            facts: [
                first, web.state("e2", period: 30, at: 30.1, .failing(periodIsUnpaid: true), end: 60),
                web.state("e3", period: 30, at: 37, .unpaid(periodIsUnpaid: true), end: 60),
            ],
            end: .day(30),
            ended: .billingRetry,
            renews: false
        ),
        MergeCase(
            sentence: "unpaid of a provider that does not move the period ends at the period's end",
            facts: [first, web.state("e3", period: 0, at: 37, .unpaid(), end: 30)],
            end: .day(30)
        ),
        MergeCase(
            sentence: "an end while payments fail cuts at the bound",
            facts: [
                first, web.state("e2", period: 30, at: 30, .failing(periodIsUnpaid: true), end: 60),
                web.state("e3", period: 30, at: 50, .ended(at: day(50)), end: 60),
            ],
            end: .day(44)
        ),
    ])
    func failedPayments(_ merge: MergeCase) { merge.check() }

    // EVIDENCE MERGE-1
    @Test(arguments: [
        MergeCase(
            sentence: "cancelled: to the end of the paid period",
            facts: [first, web.state("e2", period: 0, at: 9, end: 30, renews: false)],
            end: .day(30),
            ended: .expired,
            renews: false,
            statuses: [29: .active]
        ),
        MergeCase(
            sentence: "cancelled: to the provider's own end",
            facts: [first, web.state("e2", period: 0, at: 9, .ended(at: day(9)), end: 30)],
            end: .day(9)
        ),
        MergeCase(
            sentence: "cancel_at counts when it is sooner",
            facts: [first, web.state("e2", period: 0, at: 9, end: 30, renews: false, limit: 12)],
            end: .day(12)
        ),
        MergeCase(
            sentence: "cancel_at does not lengthen the period",
            facts: [first, web.state("e2", period: 0, at: 9, end: 30, renews: false, limit: 90)],
            end: .day(30)
        ),
        MergeCase(
            sentence: "cancel_at taken back",
            facts: [
                first, web.state("e2", period: 0, at: 9, end: 30, renews: false, limit: 12),
                web.state("e3", period: 0, at: 10, end: 30, renews: true),
            ],
            end: .day(30),
            renews: true
        ),
        MergeCase(
            sentence: "cancel_at counts while a payment fails",
            facts: [first, web.state("e2", period: 0, at: 29, .failing(), end: 30, renews: false, limit: 32)],
            end: .day(32)
        ),
        MergeCase(
            sentence: "paused: no access from then on",
            facts: [first, web.state("e2", period: 0, at: 9, .paused(at: day(9)), end: 30)],
            end: .day(9),
            ended: .paused,
            renews: false
        ),
        MergeCase(
            sentence: "paused, until it resumes",
            facts: [
                first, web.state("e2", period: 0, at: 9, .paused(at: day(9)), end: 30),
                web.state("e3", period: 0, at: 12, end: 30, renews: true),
            ],
            end: .day(30),
            ended: .expired,
            renews: true
        ),
        MergeCase(
            sentence: "collection paused: the paid period stays",
            facts: [first, web.state("e2", period: 0, at: 9, .collectionPaused, end: 30)],
            end: .day(30),
            renews: false
        ),
        MergeCase(
            sentence: "collection paused: later periods give nothing",
            facts: [
                first, web.state("e2", period: 0, at: 9, .collectionPaused, end: 30),
                web.state("e3", period: 30, at: 30, .collectionPaused, end: 60),
            ],
            end: .day(30)
        ),
        MergeCase(
            sentence: "collection paused: a period that was paid all the same stays",
            facts: [
                first, web.state("e3", period: 30, at: 30, .collectionPaused, end: 60),
                web.paid("e4", ids: ["in"], at: 31, from: 30, to: 60),
            ],
            end: .day(60)
        ),
        MergeCase(
            sentence: "a trial",
            facts: [web.state("e1", period: 0, at: 0, .trialing, end: 7, renews: true)],
            end: .day(7),
            statuses: [6: .trialing, 7: .expired]
        ),
        MergeCase(
            sentence: "a first payment that has not come through gives nothing",
            facts: [web.state("e1", period: 0, at: 0, .incomplete, end: 30)],
            end: .nothing,
            renews: false
        ),
    ])
    func cancelledAndPaused(_ merge: MergeCase) { merge.check() }

    private static let payment = web.paid("p1", ids: ["in_1", "pi_1"], at: 0, from: 0, to: 30, amount: 1000)
    private static let secondPayment = web.paid("p2", ids: ["in_2", "pi_2"], at: 30, from: 30, to: 60, amount: 1000)

    // EVIDENCE MERGE-1
    @Test(arguments: [
        MergeCase(
            sentence: "a full refund ends at its own time",
            facts: [first, payment, web.refund("e3", id: "re", at: 9, of: ["pi_1"])],
            end: .day(9),
            ended: .refunded,
            renews: false,
            statuses: [8: .active, 9: .refunded]
        ),
        MergeCase(
            sentence: "a partial refund changes nothing",
            facts: [first, payment, web.refund("e3", id: "re", at: 9, .effective, .part(999), of: ["pi_1"])],
            end: .day(30)
        ),
        MergeCase(
            sentence: "partial refunds that add up to the payment end at the last of them",
            facts: [
                first, payment, web.refund("e3", id: "re_1", at: 9, .effective, .part(400), of: ["pi_1"]),
                web.refund("e4", id: "re_2", at: 11, .effective, .part(600), of: ["in_1"]),
            ],
            end: .day(11),
            ended: .refunded
        ),
        MergeCase(
            sentence: "partial refunds of different payments do not add up",
            facts: [
                first, moved, payment, secondPayment,
                web.refund("e4", id: "re_1", at: 35, .effective, .part(600), of: ["pi_1"]),
                web.refund("e5", id: "re_2", at: 36, .effective, .part(600), of: ["pi_2"]),
            ],
            end: .day(60)
        ),
        MergeCase(
            sentence: "a refund that was only asked for changes nothing",
            facts: [first, payment, web.refund("e3", id: "re", at: 9, .pending, of: ["pi_1"])],
            end: .day(30)
        ),
        MergeCase(
            sentence: "a failed refund restores",
            facts: [
                first, payment, web.refund("e3", id: "re", at: 9, of: ["pi_1"]),
                web.refund("e4", id: "re", at: 12, .withdrawn, of: ["pi_1"]),
            ],
            end: .day(30),
            ended: .expired
        ),
        MergeCase(
            sentence: "a running total that reaches the payment ends",
            facts: [
                first, payment, web.refund("e3", id: "ch", at: 9, .effective, .soFar(400), of: ["pi_1"]),
                web.refund("e4", id: "ch", at: 11, .effective, .soFar(1000), of: ["pi_1"]),
            ],
            end: .day(11)
        ),
        MergeCase(
            sentence: "a refund that failed after the running total restores",
            facts: [
                first, payment, web.refund("e3", id: "ch", at: 9, .effective, .soFar(1000), of: ["pi_1"]),
                web.refund("e4", id: "re", at: 9, .effective, .part(1000), of: ["pi_1"]),
                web.refund("e5", id: "re", at: 12, .withdrawn, .part(1000), of: ["pi_1"]),
            ],
            end: .day(30)
        ),
        MergeCase(
            sentence: "an open dispute ends at its own time",
            facts: [first, payment, web.dispute("e3", id: "dp", at: 9, of: ["pi_1"])],
            end: .day(9),
            ended: .revoked
        ),
        MergeCase(
            sentence: "a dispute that is lost ended when it was opened",
            facts: [
                first, payment, web.dispute("e3", id: "dp", at: 9, of: ["pi_1"]),
                web.dispute("e4", id: "dp", at: 20, of: ["pi_1"]),
            ],
            end: .day(9),
            ended: .revoked
        ),
        MergeCase(
            sentence: "a dispute that is won restores",
            facts: [
                first, payment, web.dispute("e3", id: "dp", at: 9, of: ["pi_1"]),
                web.dispute("e4", id: "dp", at: 20, .withdrawn, of: ["pi_1"]),
            ],
            end: .day(30),
            ended: .expired
        ),
        MergeCase(
            sentence: "an inquiry takes nothing",
            facts: [first, payment, web.dispute("e3", id: "dp", at: 9, .pending, of: ["pi_1"])],
            end: .day(30)
        ),
        MergeCase(
            sentence: "the refund of an older period leaves the present one alone",
            facts: [first, moved, payment, secondPayment, web.refund("e3", id: "re", at: 40, of: ["pi_1"])],
            end: .day(60),
            ended: .expired,
            renews: true
        ),
        MergeCase(
            sentence: "a payment without a known period: the one running at the refund's time",
            facts: [first, moved, web.refund("e3", id: "re", at: 40)],
            end: .day(40),
            ended: .refunded
        ),
        MergeCase(
            sentence: "what was refunded stays refunded, whatever later states of the period say",
            facts: [
                first, payment, web.refund("e3", id: "re", at: 9, of: ["pi_1"]),
                web.state("e4", period: 0, at: 12, end: 30),
            ],
            end: .day(9),
            ended: .refunded
        ),
        MergeCase(
            sentence: "what was refunded stays refunded until a newer period is paid",
            facts: [first, moved, payment, secondPayment, web.refund("e3", id: "re", at: 9, of: ["pi_1"])],
            end: .day(60),
            ended: .expired
        ),
        MergeCase(
            sentence: "a newer period whose payment fails is not paid: what was refunded stays refunded",
            facts: [
                first, payment, web.refund("e3", id: "re", at: 9, of: ["pi_1"]),
                web.state("e4", period: 30, at: 30, .failing(periodIsUnpaid: true), end: 60),
            ],
            end: .day(9)
        ),
        MergeCase(
            sentence: "a refunded one-time purchase",
            facts: [web.bought("e1", at: 0), web.refund("e3", id: "re", at: 9)],
            end: .day(9),
            ended: .refunded
        ),
        MergeCase(
            sentence: "a one-time purchase whose refund failed",
            facts: [
                web.bought("e1", at: 0), web.refund("e3", id: "re", at: 9),
                web.refund("e4", id: "re", at: 10, .withdrawn),
            ],
            end: .never
        ),
        MergeCase(
            sentence: "partial refunds of a one-time purchase that add up",
            facts: [
                web.bought("e1", at: 0), web.paid("p", ids: ["pi"], at: 0, amount: 1000),
                web.refund("e3", id: "a", at: 9, .effective, .part(500), of: ["pi"]),
                web.refund("e4", id: "b", at: 10, .effective, .part(500), of: ["pi"]),
            ],
            end: .day(10),
            ended: .refunded
        ),
        MergeCase(
            sentence: "a payment without a period was for the one in which it was paid",
            facts: [
                first, moved, web.paid("p1", ids: ["pi_1"], at: 1, amount: 1000),
                web.refund("e3", id: "re", at: 40, of: ["pi_1"]),
            ],
            end: .day(60),
            ended: .expired
        ),
        MergeCase(
            sentence: "what was paid beside a period that stays paid ends nothing",
            facts: [
                first, payment, web.paid("p2", ids: ["pi_2"], at: 5, amount: 300),
                web.refund("e3", id: "re", at: 9, of: ["pi_2"]),
            ],
            end: .day(30),
            ended: .expired
        ),
        MergeCase(
            sentence: "of two payments for one period the smaller is beside it",
            facts: [
                first, payment, web.paid("p2", ids: ["pi_2"], at: 5, from: 0, to: 30, amount: 300),
                web.refund("e3", id: "re", at: 9, of: ["pi_2"]),
            ],
            end: .day(30),
            ended: .expired
        ),
        MergeCase(
            sentence: "and the larger is the period's own",
            facts: [
                first, payment, web.paid("p2", ids: ["pi_2"], at: 5, from: 0, to: 30, amount: 300),
                web.refund("e3", id: "re", at: 9, of: ["pi_1"]),
            ],
            end: .day(9),
            ended: .refunded
        ),
        MergeCase(
            sentence: "both payments of a period given back: its own ends it",
            facts: [
                first, payment, web.paid("p2", ids: ["pi_2"], at: 5, amount: 300),
                web.refund("e3", id: "re_1", at: 9, of: ["pi_2"]), web.refund("e4", id: "re_2", at: 12, of: ["pi_1"]),
            ],
            end: .day(12),
            ended: .refunded
        ),
        MergeCase(
            sentence: "running totals of two charges of one payment add up",
            facts: [
                first, payment, web.paid("p2", ids: ["in_1", "pi_2"], at: nil),
                web.refund("e3", id: "ch_1", at: 9, .effective, .soFar(400), of: ["pi_2"], total: 400),
                web.refund("e4", id: "ch_2", at: 11, .effective, .soFar(600), of: ["pi_1"]),
            ],
            end: .day(11),
            ended: .refunded
        ),
        MergeCase(
            sentence: "a running total told again after the refund failed is another refund",
            facts: [
                first, payment, web.refund("e3", id: "ch", at: 9, .effective, .soFar(1000), of: ["pi_1"]),
                web.refund("e4", id: "re", at: 12, .withdrawn, .part(1000), of: ["pi_1"]),
                web.refund("e5", id: "ch", at: 20, .effective, .soFar(1000), of: ["pi_1"]),
            ],
            end: .day(20),
            ended: .refunded
        ),
        MergeCase(
            sentence: "a refund that is told before its period began still ends the purchase's only period",
            facts: [web.state("e1", period: 5, at: 0, end: 30), web.refund("e2", id: "re", at: 1)],
            end: .day(1)
        ),
    ])
    func refundsAndDisputes(_ merge: MergeCase) { merge.check() }
}
