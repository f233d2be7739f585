internal import Foundation
internal import TestSupport
internal import Testing

/// Stories that RevenueCat tells in ways a reader of its documentation would not expect.
@Suite("Stories of RevenueCat", .ownThread)
struct RevenueCatStoryTests {
    /// A gateway and events with numbers of their own, a second apart from an hour ago on.
    private final class Story {
        let gateway: RunningGateway
        private(set) var at = Clock.millis - 3_600_000
        private var number = 0

        init() throws { gateway = try RunningGateway().start() }

        /// - Parameter fields: In place of those of a purchase of u1 that began a day ago and lasts a month.
        @discardableResult
        func tell(_ type: String, _ fields: [String: JSONValue] = [:]) throws -> String? {
            number += 1
            at += 1000
            let now = Clock.millis
            var event: [String: JSONValue] = [
                "type": .string(type), "id": .string("e\(number)"), "event_timestamp_ms": .integer(at),
                "app_user_id": "u1", "original_app_user_id": "u1", "aliases": ["u1"], "product_id": "monthly",
                "period_type": "NORMAL", "purchased_at_ms": .integer(now / 1_000_000 * 1_000_000 - Clock.dayMillis),
                "expiration_at_ms": .integer(now / 1_000_000 * 1_000_000 + 29 * Clock.dayMillis),
                "environment": "PRODUCTION", "entitlement_ids": ["pro"], "transaction_id": "t1",
                "original_transaction_id": "t1", "store": "APP_STORE",
            ]
            event.merge(fields) { $1 }
            let members = event.sorted { $0.key < $1.key }.map { (key: $0.key, value: $0.value) }
            let body = JSONValue.object(JSONObject([(key: "event", value: .object(JSONObject(members)))]))
            return try gateway.deliver("revenuecat", body.compact)
        }

        func read(_ user: String = "u1", _ query: String = "") throws -> JSONValue {
            try gateway.entitlement(of: user, query)
        }
    }

    @Test func aTemporaryGrantOfAnAbsurdTimeLastsADay() throws {
        let story = try Story()
        let absurd: [String: JSONValue] = [
            "event_timestamp_ms": 78_789_789_798_798, "expiration_at_ms": .null, "transaction_id": "tmp",
        ]
        #expect(try story.tell("TEMPORARY_ENTITLEMENT_GRANT", absurd) == "applied")
        let row = try story.read()
        #expect(row["entitled"] == true)
        let soon = Clock.text(Clock.millis + Clock.dayMillis + 60_000)
        #expect(row["access_until"]?.string ?? "9" < soon)
    }

    @Test func anEndFromNextWeekIsAnEndNow() throws {
        let story = try Story()
        try story.tell("INITIAL_PURCHASE")
        try story.tell("EXPIRATION", ["event_timestamp_ms": .integer(Clock.millis + 10 * Clock.dayMillis)])
        #expect(try story.read()["entitled"] == false)
    }

    /// An identity of RevenueCat may be a transaction: then nobody is anybody else.
    @Test func aTransactionIsNoPerson() throws {
        let story = try Story()
        func claim(_ user: String, _ id: String) throws {
            let body = #"{"provider":"revenuecat","external_id":"\#(id)"}"#
            #expect(try story.gateway.ask("POST", "/v1/users/\(user)/identities", body: body).status == 201)
        }
        try claim("z1", "t1")
        let nobody: JSONValue = "$RCAnonymousID:00000000000000000000000000000001"
        try story.tell(
            "INITIAL_PURCHASE",
            ["app_user_id": nobody, "original_app_user_id": nobody, "aliases": [nobody]]
        )
        #expect(try story.read("z1")["entitled"] == true)
        Thread.sleep(forTimeInterval: 0.003)
        try claim("z9", "t1")
        #expect(try story.read("z9")["entitled"] == true)
        #expect(try story.read("z1")["entitled"] == false)
        #expect(try story.read("t1")["entitled"] == false)
        // A user id that RevenueCat has not named yet is the same person when it does.
        try claim("a1", "a2")
        #expect(try story.read("a2")["entitled"] == false)
        try story.tell(
            "INITIAL_PURCHASE",
            [
                "app_user_id": "a2", "original_app_user_id": "a2", "aliases": ["a2"], "transaction_id": "t2",
                "original_transaction_id": "t2",
            ]
        )
        #expect(try story.read("a1")["entitled"] == true && story.read("a2")["entitled"] == true)
        // And one that it has named is the same person at once.
        try claim("a3", "a2")
        #expect(try story.read("a3")["entitled"] == true)
    }

    @Test func aReversedRefundGivesALifetimeBack() throws {
        let story = try Story()
        let lifetime: [String: JSONValue] = ["expiration_at_ms": .null]
        try story.tell("NON_RENEWING_PURCHASE", lifetime)
        try story.tell("CANCELLATION", lifetime.merging(["cancel_reason": "CUSTOMER_SUPPORT"]) { $1 })
        #expect(try story.read()["status"] == "refunded")
        try story.tell("EXPIRATION", lifetime)
        #expect(try story.read()["entitled"] == false)
        try story.tell("REFUND_REVERSED", lifetime)
        let row = try story.read()
        #expect(row["entitled"] == true && row["lifetime"] == true)
    }

    @Test(arguments: ["EXPIRATION", "CANCELLATION"])
    func anEventWithoutItsStoreIsOfTheSamePurchase(_ type: String) throws {
        let story = try Story()
        try story.tell("INITIAL_PURCHASE", ["store": "PLAY_STORE"])
        try story.tell(type, ["store": .null, "cancel_reason": "CUSTOMER_SUPPORT"])
        #expect(try story.read()["entitled"] == false)
        #expect(try story.gateway.ask("GET", "/v1/users/u1").json()["purchases"]?.array.count == 1)
    }

    @Test(
        "what does not give access does not unsay what was given",
        arguments: [("CANCELLATION", "UNSUBSCRIBE"), ("BILLING_ISSUE", ""), ("UNCANCELLATION", "")]
    )
    func namesAreKept(_ type: String, _ reason: String) throws {
        let story = try Story()
        try story.tell("INITIAL_PURCHASE")
        let fields: [String: JSONValue] = ["entitlement_ids": .null, "cancel_reason": .string(reason)]
        #expect(try story.tell(type, fields) != "unmapped")
        #expect(try story.read()["entitled"] == true)
    }

    @Test func aRefundWithoutNamesIsARefund() throws {
        let story = try Story()
        try story.tell("INITIAL_PURCHASE")
        try story.tell("CANCELLATION", ["entitlement_ids": .null, "cancel_reason": "CUSTOMER_SUPPORT"])
        #expect(try story.read()["status"] == "refunded")
    }

    @Test func thePriceIsLookedUpBeforeTheProduct() throws {
        let story = try Story()
        try story.gateway.write(
            #"{"products": {"revenuecat": {"price_X": ["team"], "*": ["other"]}}}"#,
            to: "gateway.json"
        )
        try story.gateway.reload()
        try story.tell("INITIAL_PURCHASE", ["price_id": "price_X"])
        #expect(try story.read("u1", "entitlement=team")["entitled"] == true)
        #expect(try story.read("u1", "entitlement=other")["entitled"] == false)
    }

    @Test func whoIsNamedTogetherIsOnePersonWhateverTheEvent() throws {
        let story = try Story()
        let nobody: JSONValue = "$RCAnonymousID:00000000000000000000000000000002"
        let anonymous: [String: JSONValue] = [
            "app_user_id": nobody, "original_app_user_id": nobody, "aliases": [nobody],
        ]
        #expect(try story.tell("INITIAL_PURCHASE", anonymous) == "parked")
        try story.tell("PRODUCT_CHANGE", ["aliases": ["u1", nobody]])
        #expect(try story.read()["entitled"] == true)
    }

    @Test func whatNobodyKnowsNeedsNoFields() throws {
        let story = try Story()
        for fields: [String: JSONValue] in [["environment": "MOON"], ["event_timestamp_ms": .null], ["environment": 3]]
        {
            #expect(try story.tell("BRAND_NEW", fields) == "observed")
        }
        #expect(try story.read()["version"] == 0)
    }

    @Test func nobodyPaysInTheTestStore() throws {
        let story = try Story()
        try story.tell("INITIAL_PURCHASE", ["store": "TEST_STORE"])
        #expect(try story.read()["entitled"] == false)
        #expect(try story.read("u1", "environment=sandbox")["entitled"] == true)
    }

    @Test func anAnonymousIDIsNobodyForAnyProvider() throws {
        let story = try Story()
        let id = "$RCAnonymousID:00000000000000000000000000000003"
        #expect(try story.gateway.deliver("creem", BrokenManifest.paid("evt_1", user: id)) == "parked")
        let body = #"{"until":null,"reason":"a test"}"#
        #expect(try story.gateway.ask("POST", "/v1/users/\(id)/grants", body: body).status == 400)
    }

    @Test func aUUIDIsForgottenInAnyCase() throws {
        let story = try Story()
        let id = "7D0C1F52-6A1E-4F0B-9B51-3E2F8F0A1CAA"
        let fields: [String: JSONValue] = ["app_user_id": .string(id), "product_id": .null]
        #expect(try story.tell("INITIAL_PURCHASE", fields) == "quarantined")
        #expect(try story.gateway.ask("DELETE", "/v1/users/\(id)").status == 204)
        let kept = try SQLDatabase(story.gateway.database).rows("SELECT CAST(payload AS TEXT) FROM event")
        #expect(!kept.joined().contains(id))
    }

    @Test func aReasonOfBlanksIsNone() throws {
        let story = try Story()
        let body = #"{"until":null,"reason":"  "}"#
        #expect(try story.gateway.ask("POST", "/v1/users/u1/grants", body: body).status == 400)
    }
}
