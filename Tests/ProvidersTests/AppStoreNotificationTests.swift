internal import Entitlements
internal import Foundation
internal import ProviderKit
internal import Testing

@testable internal import Providers

/// What each notification means for access.
struct AppStoreNotificationTests {
    private typealias Fixture = AppStoreFixture
    private static let day: Int64 = 86_400_000
    private static let start: Int64 = 1_790_843_400_000

    private static func at(_ days: Int64) -> JSON { .integer(start + days * day) }
    private static func moment(_ days: Int64) -> UnixMillis { UnixMillis(start + days * day) }

    /// A notification signed on a day about the period of two days.
    private static func event(
        _ name: String,
        signed: Int64,
        period: ClosedRange<Int64>,
        _ changes: [String: JSON] = [:]
    ) throws -> NormalizedEvent {
        let base: [String: JSON] = [
            "/notificationUUID": .string("\(name) \(signed)"), "/signedDate": at(signed),
            "/data/transaction/purchaseDate": at(period.lowerBound),
            "/data/transaction/expiresDate": at(period.upperBound),
        ]
        return try Fixture.event(name, base.merging(changes) { $1 })
    }

    private static func bought() throws -> NormalizedEvent {
        try event("subscribed.initial_buy", signed: 0, period: 0...30)
    }

    @Test(
        "types that say nothing of a purchase are recorded and change nothing",
        arguments: [
            "consumption_request", "external_purchase_token.unreported", "future_type", "future_type.other_shape",
            "metadata_update", "migration", "price_change", "price_increase.accepted", "price_increase.pending",
            "refund_declined", "renewal_extension.failure", "renewal_extension.summary", "rescind_consent", "test",
        ]
    )
    func observed(_ name: String) throws {
        let event = try Fixture.event(name)
        guard case .observed = event.verdict else {
            Issue.record("\(String(describing: event.verdict))")
            return
        }
        #expect(event.effects.isEmpty)
    }

    @Test(
        "an authentic notification with a needed part missing or wrong is kept for later",
        arguments: [
            ["/data/transaction": JSON.null], ["/signedDate": .null], ["/notificationUUID": .null],
            ["/data/transaction/transactionId": .null], ["/data/transaction/productId": .null],
            ["/data/transaction/purchaseDate": .null], ["/data/transaction/expiresDate": .null],
            ["/data/transaction/expiresDate": .string("2027")],
            [
                "/data/transaction/originalTransactionId": .integer(3),
                "/data/renewalInfo/originalTransactionId": .integer(3),
            ],
            ["/data/status": .string("1")], ["/data/status": .integer(4)],
            ["/data/transaction/type": .string("Other"), "/data/transaction/expiresDate": .null],
            [
                "/data/environment": .string("Moon"), "/data/transaction/environment": .string("Moon"),
                "/data/renewalInfo/environment": .string("Moon"),
            ],
        ] as [[String: JSON]]
    )
    func quarantined(_ changes: [String: JSON]) throws {
        let event = try Fixture.event("subscribed.initial_buy", changes)
        #expect(event.isQuarantined && event.effects.isEmpty, "\(changes)")
    }

    @Test("a status nobody knows yet changes nothing")
    func unknownStatus() throws {
        let event = try Fixture.event("did_renew", ["/data/status": .integer(6)])
        #expect(event.effects.isEmpty && event.verdict != nil && !event.isQuarantined)
    }

    @Test("ids are those that RevenueCat gives as well")
    func namespace() throws {
        guard case .facts(let reference, _)? = try Fixture.event("did_renew").effects.first else {
            Issue.record("no facts")
            return
        }
        #expect(reference.ids.map(\.id.namespace) == ["app_store", "app_store"])
        #expect(reference.ids.map(\.id.value) == ["2000000910000001", "2000000910000002"])
        #expect(reference.ids.map(\.rank) == [.subscription, .reference] && !reference.isSecondHand)
    }

    @Test("the user is the account token, in any case of letters, from either part; the empty UUID is nobody")
    func user() throws {
        let token = "/data/transaction/appAccountToken"
        let renewal = "/data/renewalInfo/appAccountToken"
        #expect(
            try Fixture.event("did_renew", [token: .string(Fixture.user.uppercased())]).users.map(\.value) == [
                Fixture.user
            ]
        )
        #expect(try Fixture.event("did_renew", [token: .null]).users.map(\.value) == [Fixture.user])
        #expect(try Fixture.event("did_renew", [token: .null, renewal: .null]).users.isEmpty)
        let nobody = JSON.string("00000000-0000-0000-0000-000000000000")
        #expect(try Fixture.event("did_renew", [token: nobody, renewal: nobody]).users.isEmpty)
        #expect(try Fixture.event("did_renew", [token: .string("anna"), renewal: .null]).users.isEmpty)
    }

    @Test("Apple's own status wins over the type")
    func statusWins() throws {
        let expired = try Self.event("did_renew", signed: 31, period: 0...30, ["/data/status": .integer(2)])
        #expect(Fixture.outcome([expired])?.lines.first?.ended == .expired)
        #expect(Fixture.outcome([expired])?.willRenew == false)
        let active = try Self.event("expired.voluntary", signed: 20, period: 0...30, ["/data/status": .integer(1)])
        #expect(Fixture.outcome([active])?.lines.first?.end == Self.moment(30))
        let revoked = try Self.event("did_renew", signed: 20, period: 0...30, ["/data/status": .integer(5)])
        #expect(Fixture.outcome([revoked])?.lines.first?.end == Self.moment(20))
    }

    @Test("without a status the type speaks")
    func withoutStatus() throws {
        let none: [String: JSON] = ["/data/status": .null]
        let failed = try Self.event("did_fail_to_renew", signed: 30, period: 0...30, none)
        #expect(Fixture.outcome([failed])?.lines.first?.end == Self.moment(30))
        #expect(Fixture.outcome([failed])?.lines.first?.ended == .billingRetry)
        let until: [String: JSON] = ["/data/renewalInfo/gracePeriodExpiresDate": Self.at(46)]
        let grace = try Self.event(
            "did_fail_to_renew.grace_period",
            signed: 30,
            period: 0...30,
            none.merging(until) { $1 }
        )
        #expect(Fixture.outcome([try Self.bought(), grace])?.lines.first?.end == Self.moment(46))
        let over = try Self.event("grace_period_expired", signed: 40, period: 0...30, none)
        #expect(Fixture.outcome([grace, over])?.lines.first?.end == Self.moment(40), "a grace cut short is over")
        let ended = try Self.event("expired.voluntary", signed: 30, period: 0...30, none)
        #expect(Fixture.outcome([try Self.bought(), ended])?.lines.first?.end == Self.moment(30))
        // Only the wish to renew changed: the run of failures goes on.
        let off = try Self.event("did_change_renewal_status.auto_renew_disabled", signed: 31, period: 0...30, none)
        #expect(Fixture.outcome([grace, off])?.lines.first?.end == Self.moment(46))
        #expect(Fixture.outcome([grace, off])?.willRenew == false)
    }

    @Test("an upgrade takes the place of what it was made from, and the refund of the rest takes nothing from it")
    func upgrade() throws {
        let yearly = try Self.event("did_change_renewal_pref.upgrade", signed: 2, period: 2...367)
        let refundOfOld = try Self.event(
            "refund",
            signed: 3,
            period: 0...30,
            ["/data/status": .integer(1), "/data/transaction/revocationDate": Self.at(2)]
        )
        let flagged = try Self.event(
            "refund",
            signed: 3,
            period: 0...30,
            ["/data/status": .integer(1), "/data/transaction/isUpgraded": .bool(true)]
        )
        for events in [[try Self.bought(), yearly], [yearly, refundOfOld, try Self.bought()], [flagged, yearly]] {
            let outcome = try #require(Fixture.outcome(events))
            let line = try #require(outcome.lines.max { $0.end ?? .latest < $1.end ?? .latest })
            #expect(line.products == ["com.example.app.pro.yearly"] && line.end == Self.moment(367))
        }
    }

    @Test("in the sandbox a month lasts minutes: the refund of one leaves the next alone")
    func shortPeriods() throws {
        let minute: Int64 = 60_000
        func renewal(_ number: Int64) throws -> NormalizedEvent {
            let begin = Self.start + number * 5 * minute
            return try Fixture.event(
                "did_renew",
                [
                    "/notificationUUID": .string("\(number)"), "/signedDate": .integer(begin),
                    "/data/transaction/purchaseDate": .integer(begin),
                    "/data/transaction/expiresDate": .integer(begin + 5 * minute),
                    "/data/transaction/transactionId": .string("\(number)"),
                ]
            )
        }
        let refund = try Fixture.event(
            "refund",
            [
                "/signedDate": .integer(Self.start + 11 * minute), "/data/status": .integer(1),
                "/data/transaction/purchaseDate": .integer(Self.start),
                "/data/transaction/expiresDate": .integer(Self.start + 5 * minute),
                "/data/transaction/revocationDate": .integer(Self.start + 11 * minute),
                "/data/transaction/transactionId": .string("0"),
            ]
        )
        let outcome = Fixture.outcome([try renewal(0), try renewal(1), try renewal(2), refund])
        #expect(outcome?.lines.first?.end == UnixMillis(Self.start + 15 * minute))
    }

    @Test("a part of the money back changes nothing, unless Apple says that it is over")
    func proratedRefund() throws {
        let part: [String: JSON] = [
            "/data/transaction/revocationType": .string("REFUND_PRORATED"),
            "/data/transaction/revocationPercentage": .integer(40_000),
            "/data/transaction/revocationDate": Self.at(10),
        ]
        func end(_ changes: [String: JSON]) throws -> UnixMillis? {
            Fixture.outcome([
                try Self.bought(),
                try Self.event("refund", signed: 10, period: 0...30, part.merging(changes) { $1 }),
            ])?.lines.first?.end
        }
        #expect(try end(["/data/status": .integer(1)]) == Self.moment(30))
        #expect(try end(["/data/status": .null]) == Self.moment(30))
        #expect(try end(["/data/status": .integer(5)]) == Self.moment(10))
        #expect(
            try end(["/data/status": .null, "/data/transaction/revocationPercentage": .integer(100_000)])
                == Self.moment(10)
        )
    }

    @Test("the refund of an older transaction is no word about the present period, whoever told of that")
    func refundOfOlderAlone() throws {
        let refund = try Self.event(
            "refund",
            signed: 40,
            period: 0...30,
            ["/data/status": .integer(1), "/data/transaction/revocationDate": Self.at(40)]
        )
        #expect(refund.states.isEmpty && !refund.effects.isEmpty)
        let present = try Self.event("did_renew", signed: 30, period: 30...60)
        #expect(Fixture.outcome([refund, present])?.lines.first?.end == Self.moment(60))
        let ofPresent = try Self.event("refund", signed: 40, period: 30...60)
        #expect(ofPresent.states.count == 1)
    }

    @Test("only a purchase for life is for life")
    func oneTime() throws {
        let lifetime = try Fixture.event("one_time_charge.lifetime")
        #expect(lifetime.states.first?.isOneTime == true && lifetime.states.first?.entitlements == nil)
        for type in ["Consumable", "Non-Renewing Subscription"] {
            let state = try Fixture.event("one_time_charge.consumable", ["/data/transaction/type": .string(type)])
                .states.first
            #expect(state?.isOneTime == true && state?.entitlements == [])
        }
        // A kind nobody knows gives what it says, to the end it says.
        let odd = try Self.event("did_renew", signed: 0, period: 0...30, ["/data/transaction/type": .string("Other")])
        #expect(odd.states.first?.isOneTime == false && odd.states.first?.items.first?.end == Self.moment(30))
    }

    @Test("an introductory offer that costs nothing is a trial, whatever the payload's age")
    func trials() throws {
        let type = "/data/transaction/offerType"
        let discount = "/data/transaction/offerDiscountType"
        func condition(_ changes: [String: JSON]) throws -> PurchaseState.Condition? {
            try Fixture.event("subscribed.initial_buy.trial", changes).states.first?.condition
        }
        #expect(try condition([:]) == .trialing)
        #expect(try condition([discount: .null]) == .trialing)
        #expect(try condition([discount: .string("PAY_UP_FRONT")]) == .active)
        #expect(try condition([type: .integer(2)]) == .active)
        #expect(try condition([type: .integer(9), discount: .string("HALF_MOON")]) == .active)
    }

    @Test("times with fractions, as some signers write them, are times")
    func fractions() throws {
        let event = try Fixture.event("did_renew", ["/data/transaction/expiresDate": .number(1_796_113_800_000.4)])
        #expect(event.states.first?.items.first?.end == UnixMillis(1_796_113_800_000))
    }
}
