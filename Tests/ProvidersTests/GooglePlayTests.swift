internal import Crypto
internal import Entitlements
internal import ProviderKit
internal import TestSupport
internal import Testing

@testable internal import Providers

/// What Google Play's API is asked, and what its answers come to; no network.
@Suite("Google Play") struct GooglePlayTests {
    private static let at = UnixMillis(1_796_000_000_000)

    private static func api() throws -> GooglePlayAPI {
        let key = SigningKey(.rsa)
        let file = JSON.object([
            "type": .string("service_account"), "client_email": .string("a@example.com"),
            "private_key": .string(key.pem), "token_uri": .string("https://oauth2.example.com/token"),
        ])
        return GooglePlayAPI(
            base: "https://play.example.com/",
            adapter: GooglePlayAdapter(package: "com.example.app"),
            account: try GoogleServiceAccount(file: file.bytes)
        )
    }

    private static func push(_ notification: String) -> [UInt8] {
        let data = Base64.encode(Array(notification.utf8))
        return Array(#"{"message":{"messageId":"m1","data":"\#(data)"},"subscription":"s"}"#.utf8)
    }

    private static func renewed(_ token: String, type: Int = 2) -> APIQuestion {
        let text =
            #"{"packageName":"com.example.app","eventTimeMillis":"1795999990000","subscriptionNotification":"#
            + #"{"notificationType":\#(type),"purchaseToken":"\#(token)"}}"#
        return .delivery(id: "m1", body: push(text))
    }

    private static func subscription(
        _ state: String,
        user: String? = "u1",
        linked: String? = nil,
        end: String = "2027-01-01T00:00:00Z",
        acknowledged: Bool = true
    ) -> JSON {
        var members: [String: JSON] = [
            "subscriptionState": .string("SUBSCRIPTION_STATE_" + state), "startTime": .string("2026-11-01T00:00:00.5Z"),
            "acknowledgementState": .string("ACKNOWLEDGEMENT_STATE_" + (acknowledged ? "ACKNOWLEDGED" : "PENDING")),
            "lineItems": .array([
                .object([
                    "productId": .string("pro_monthly"), "expiryTime": .string(end),
                    "latestSuccessfulOrderId": .string("GPA.1-2-3..7"),
                    "autoRenewingPlan": .object(["autoRenewEnabled": .bool(true)]),
                    "offerDetails": .object(["basePlanId": .string("p1m")]),
                ])
            ]),
        ]
        if let user {
            members["externalAccountIdentifiers"] = .object(["obfuscatedExternalAccountId": .string(user)])
        }
        members["linkedPurchaseToken"] = linked.map { .string($0) }
        return .object(members)
    }

    /// Plays a reading to its end, answering by the token in the path.
    private static func play(
        _ question: APIQuestion,
        _ answers: [String: (status: Int, body: JSON)]
    ) throws -> (events: [NormalizedEvent], asked: [String], followUps: [APIFollowUp], failure: APIFailure?) {
        let api = try api()
        var known: [APIRequest: APIAnswer] = [:]
        var asked: [String] = []
        while true {
            switch api.next(question, known) {
            case .ask(let requests):
                for request in requests {
                    asked.append(request.path)
                    let answer = answers.first { request.path.hasSuffix($0.key) }?.value ?? (404, .object([:]))
                    known[request] = APIAnswer(status: answer.status, body: answer.body, at: at)
                }
            case .done(let reading): return (reading.events.map(\.event), asked, reading.followUps, nil)
            case .failed(let failure): return ([], asked, [], failure)
            }
        }
    }

    @Test("a notification is read by its token; the event has the message's id and what Google says")
    func delivery() throws {
        let played = try Self.play(
            Self.renewed("t/1"),
            ["subscriptionsv2/tokens/t%2F1": (200, Self.subscription("ACTIVE"))]
        )
        #expect(
            played.asked == [
                "/androidpublisher/v3/applications/com.example.app/purchases/subscriptionsv2/tokens/t%2F1"
            ]
        )
        let event = try #require(played.events.first)
        #expect(event.eventID == "m1" && event.type == "SUBSCRIPTION_RENEWED" && event.verdict == nil)
        #expect(event.occurredAt == UnixMillis(1_795_999_990_000))
        #expect(event.users == ["u1", "u1"].compactMap { UserID($0) })
        let state = try #require(event.states.first)
        #expect(state.version == Self.at && state.periodStart == nil && state.willRenew == true)
        #expect(state.items.first?.products == ["pro_monthly:p1m", "pro_monthly"])
        guard case .facts(let reference, _)? = event.effects.first else { throw TestFailure() }
        #expect(reference.ids.map(\.id.value) == ["t/1", "GPA.1-2-3"])
        #expect(reference.ids.map(\.rank) == [.subscription, .reference])
        #expect(played.followUps.isEmpty)
    }

    /// Even who may push says only that something has changed: what an API has said is not taken from a push.
    @Test("a push that holds what looks like Google's answer gives nothing")
    func forgedReading() throws {
        let played = try Self.play(Self.renewed("t"), ["t": (200, Self.subscription("ACTIVE"))])
        #expect(try #require(played.events.first).effects.isEmpty == false)
        let reading = GooglePlayReading(
            id: "m1",
            at: Self.at,
            token: "t",
            kind: .subscription,
            notification: nil,
            status: 200,
            answer: Self.subscription("ACTIVE"),
            chain: []
        )
        let adapter = GooglePlayAdapter(package: "com.example.app")
        #expect(adapter.normalize(VerifiedDelivery(verified: reading.body)).effects.isEmpty == false)
        let test = #"{"packageName":"com.example.app","eventTimeMillis":"1","testNotification":{"version":"1.0"}}"#
        for push in [JSON.object([:]), try #require(JSON(Self.push(test)))] {
            guard case .object(var members) = push, case .object(let own)? = JSON(reading.body) else {
                throw TestFailure()
            }
            members.merge(own) { $1 }
            let delivery = GooglePlayPush(JSON.object(members).bytes).delivery
            let event = adapter.normalize(delivery)
            #expect(event.effects.isEmpty && event.verdict != nil, "\(event)")
            #expect(adapter.redact(delivery).map { !String(decoding: $0, as: UTF8.self).contains("answer") } == true)
        }
        // Any other push is taken as it came.
        #expect(GooglePlayPush(Self.push(test)).delivery.body == Self.push(test))
    }

    private struct TestFailure: Error {}

    @Test(
        "each state of Google's is what it means",
        arguments: [
            ("ACTIVE", "active"), ("CANCELED", "active"), ("IN_GRACE_PERIOD", "failing"), ("ON_HOLD", "failing"),
            ("PAUSED", "paused"), ("EXPIRED", "ended"),
        ]
    )
    func states(word: String, meaning: String) throws {
        let answer = Self.subscription(word, end: "2026-11-01T00:00:00Z")
        let event = try #require(try Self.play(Self.renewed("t"), ["t": (200, answer)]).events.first)
        let condition = "\(try #require(event.states.first).condition)"
        #expect(condition.hasPrefix(meaning), "\(condition)")
        #expect(event.states.first?.willRenew == !["CANCELED", "EXPIRED"].contains(word))
    }

    @Test(
        "what is not paid, not known, or of a new kind changes nothing",
        arguments: [
            "PENDING", "PENDING_PURCHASE_CANCELED", "UNSPECIFIED", "OF_TOMORROW",
        ]
    )
    func nothing(word: String) throws {
        let answer = Self.subscription(word, linked: "old")
        let event = try #require(try Self.play(Self.renewed("t"), ["t": (200, answer)]).events.first)
        #expect(event.effects.isEmpty && !event.isQuarantined && event.verdict != nil)
    }

    @Test("a subscription without an end is kept for people to look at")
    func withoutEnd() throws {
        var answer = Self.subscription("ACTIVE")
        answer = .object((answer.object ?? [:]).merging(["lineItems": .array([])]) { $1 })
        let event = try #require(try Self.play(Self.renewed("t"), ["t": (200, answer)]).events.first)
        #expect(event.isQuarantined && event.effects.isEmpty)
    }

    @Test("a token that Google does not know is observed; busy, down and refused conclude nothing")
    func failures() throws {
        for status in [400, 404, 410] {
            let played = try Self.play(Self.renewed("t"), ["t": (status, .object([:]))])
            #expect(played.events.first?.effects.isEmpty == true && played.events.first?.isQuarantined == false)
        }
        for status in [401, 403, 429, 500, 503] {
            let played = try Self.play(Self.renewed("t"), ["t": (status, .object([:]))])
            #expect(played.events.isEmpty && played.failure != nil, "\(status)")
        }
        let id = ExternalID(namespace: GooglePlayAdapter.tokenNamespace, value: "t")
        #expect(try Self.play(.purchase(id), [:]).events.isEmpty)
    }

    @Test("a newer token supersedes the one it is linked to, and belongs to whoever had the earlier ones")
    func chain() throws {
        let played = try Self.play(
            Self.renewed("t3", type: 4),
            [
                "t3": (200, Self.subscription("ACTIVE", user: nil, linked: "t2")),
                "t2": (200, Self.subscription("EXPIRED", user: nil, linked: "t1")),
                "t1": (200, Self.subscription("EXPIRED", user: "u1")),
            ]
        )
        #expect(played.asked.count == 3)
        let event = try #require(played.events.first)
        var customers: Set<String> = []
        var superseded: [String] = []
        for case .facts(let reference, let facts) in event.effects {
            for fact in facts {
                if case .customer(let customer) = fact { customers.insert(customer.value) }
                if case .superseded = fact { superseded += reference.ids.map(\.id.value) }
            }
        }
        #expect(customers == ["t1", "t2", "t3"] && superseded == ["t2"])
        let link = Effect.link(CustomerID(provider: GooglePlayAdapter.name, value: "t1"), try #require(UserID("u1")))
        #expect(event.effects.contains(link))
    }

    @Test("what is not acknowledged is acknowledged, once it is paid")
    func acknowledgement() throws {
        let open = Self.subscription("ACTIVE", acknowledged: false)
        let follow = try Self.play(Self.renewed("t", type: 4), ["t": (200, open)]).followUps
        guard case .acknowledge(let request)? = follow.first else { throw TestFailure() }
        #expect(request.path.hasSuffix("/purchases/subscriptions/pro_monthly/tokens/t:acknowledge"))
        #expect(follow.count == 1 && request.json == "{}")
        let pending = Self.subscription("PENDING", acknowledged: false)
        #expect(try Self.play(Self.renewed("t", type: 4), ["t": (200, pending)]).followUps.isEmpty)
    }

    @Test("an event can be read again from what is kept of it, and holds nothing of the buyer's")
    func kept() throws {
        var members = Self.subscription("CANCELED").object ?? [:]
        members["subscribeWithGoogleInfo"] = .object(["emailAddress": .string("someone@example.com")])
        members["canceledStateContext"] = .object([
            "userInitiatedCancellation": .object([
                "cancelSurveyResult": .object(["reasonUserInput": .string("my doctor said so")])
            ])
        ])
        let api = try Self.api()
        let question = Self.renewed("t", type: 3)
        guard case .ask(let requests) = api.next(question, [:]), let request = requests.first else {
            throw TestFailure()
        }
        let answers = [request: APIAnswer(status: 200, body: .object(members), at: Self.at)]
        guard case .done(let reading) = api.next(question, answers), let read = reading.events.first else {
            throw TestFailure()
        }
        let payload = try #require(read.payload)
        let text = String(decoding: payload, as: UTF8.self)
        #expect(!text.contains("someone") && !text.contains("doctor"))
        let again = GooglePlayAdapter(package: "com.example.app").normalize(VerifiedDelivery(verified: payload))
        #expect(again.effects == read.event.effects && again.eventID == "m1")
    }

    @Test("what is no message, no notification, or about no purchase")
    func pushes() throws {
        let adapter = GooglePlayAdapter(package: "com.example.app")
        func event(_ body: [UInt8]) -> NormalizedEvent { adapter.normalize(VerifiedDelivery(verified: body)) }
        #expect(event(Array("no JSON".utf8)).isQuarantined)
        #expect(event(Self.push("no JSON")).isQuarantined)
        #expect(event(Self.push("[]")).eventID == "m1")
        let test = event(Self.push(#"{"testNotification":{"version":"1.0"}}"#))
        #expect(test.type == "TEST" && !test.isQuarantined && test.effects.isEmpty)
        let future = event(Self.push(#"{"eventTimeMillis":1,"walletNotification":{"x":1}}"#))
        #expect(future.type == "walletNotification" && !future.isQuarantined)
        let empty = event(Self.push(#"{"eventTimeMillis":1,"subscriptionNotification":{"notificationType":2}}"#))
        #expect(empty.isQuarantined)
    }
}
