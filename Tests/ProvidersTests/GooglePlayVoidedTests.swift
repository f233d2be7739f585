internal import Crypto
internal import Entitlements
internal import ProviderKit
internal import TestSupport
internal import Testing

@testable internal import Providers

/// Google's list of voided purchases, and what its entries come to; no network.
@Suite("Voided purchases of Google Play") struct GooglePlayVoidedTests {
    private static let at = UnixMillis(1_796_000_000_000)
    private let adapter = GooglePlayAdapter(package: "com.example.app")

    private func api() throws -> GooglePlayAPI {
        let file = JSON.object([
            "type": .string("service_account"), "client_email": .string("a@example.com"),
            "private_key": .string(SigningKey(.rsa).pem), "token_uri": .string("https://oauth2.example.com/token"),
        ])
        return GooglePlayAPI(
            base: "https://play.example.com",
            adapter: adapter,
            account: try GoogleServiceAccount(file: file.bytes)
        )
    }

    private static func page(_ token: String? = nil) -> APIQuestion {
        .page(APIListPage(list: "voidedpurchases", from: UnixMillis(1000), until: UnixMillis(2000), token: token))
    }

    private static func entry(_ token: String, quantity: Int64? = nil) -> JSON {
        var members: [String: JSON] = [
            "purchaseToken": .string(token), "orderId": .string("GPA.1"),
            "voidedTimeMillis": .string("1795999000000"), "purchaseTimeMillis": .string("1795000000000"),
            "voidedSource": .integer(0), "voidedReason": .integer(7),
        ]
        members["voidedQuantity"] = quantity.map { .integer($0) }
        return .object(members)
    }

    /// The step after every request was answered by a part of its path.
    private func play(_ question: APIQuestion, _ answers: [String: (Int, JSON)]) throws -> (APIStep, [String]) {
        let api = try api()
        var known: [APIRequest: APIAnswer] = [:]
        var asked: [String] = []
        while case .ask(let requests) = api.next(question, known) {
            for request in requests {
                asked.append(request.path)
                let (status, body) = answers.first { request.path.contains($0.key) }?.value ?? (404, .object([:]))
                known[request] = APIAnswer(status: status, body: body, at: Self.at)
            }
        }
        return (api.next(question, known), asked)
    }

    private func entries(_ answer: JSON) throws -> [(id: String, body: [UInt8])] {
        guard case .done(let reading) = try play(Self.page(), ["voided": (200, answer)]).0 else { return [] }
        #expect(reading.events.isEmpty)
        return reading.followUps.compactMap { followUp in
            guard case .read(let id, let body) = followUp else { return nil }
            return (id, body)
        }
    }

    @Test("a page is asked for with its bounds, subscriptions included, and names the next one")
    func page() throws {
        let next = JSON.object(["nextPageToken": .string("n 1")])
        let answer = JSON.object(["voidedPurchases": .array([Self.entry("t1")]), "tokenPagination": next])
        let (step, asked) = try play(Self.page("a b"), ["voided": (200, answer)])
        let path = try #require(asked.first)
        #expect(path.hasPrefix("/androidpublisher/v3/applications/com.example.app/purchases/voidedpurchases?"))
        for part in [
            "startTime=1000", "endTime=2000", "type=1", "token=a%20b", "includeQuantityBasedPartialRefund=true",
        ] {
            #expect(path.contains(part), "\(path)")
        }
        guard case .done(let reading) = step else { return #expect(Bool(false), "\(step)") }
        #expect(reading.nextPage == "n 1" && reading.followUps.count == 1)
        #expect(try api().lists == [APIList(name: "voidedpurchases", days: 30)])
    }

    @Test("an entry is one thing to look at, however often it is listed; one without a purchase is none")
    func entries() throws {
        let answer = JSON.object([
            "voidedPurchases": .array([Self.entry("t1"), Self.entry("t2"), .object([:]), .string("x"), Self.entry("")])
        ])
        let found = try entries(answer)
        #expect(found.count == 2 && Set(found.map(\.id)).count == 2)
        #expect(try entries(answer).map(\.id) == found.map(\.id))
        #expect(try entries(.object([:])).isEmpty)
    }

    @Test("a voided subscription is over only when Google says so; its end is the moment it was voided")
    func subscription() throws {
        let found = try #require(try entries(.object(["voidedPurchases": .array([Self.entry("t1")])])).first)
        func subscription(_ state: String, _ end: String) -> JSON {
            .object([
                "subscriptionState": .string("SUBSCRIPTION_STATE_" + state),
                "startTime": .string("2026-11-01T00:00:00Z"),
                "lineItems": .array([.object(["productId": .string("pro"), "expiryTime": .string(end)])]),
            ])
        }
        for (state, isOver) in [("EXPIRED", true), ("ACTIVE", false)] {
            let answer = (200, subscription(state, "2027-01-01T00:00:00Z"))
            let (step, _) = try play(.delivery(id: found.id, body: found.body), ["subscriptionsv2": answer])
            let event = try #require(step.events?.first)
            #expect(event.eventID == found.id && event.type == "VOIDED_PURCHASE")
            #expect(
                event.adjustments.contains { $0.kind == .refund && $0.standing == .effective } == isOver,
                "\(state)"
            )
            if isOver { #expect(event.adjustments.first?.at == UnixMillis(1_795_999_000_000)) }
        }
    }

    @Test("what was bought once is looked for as well, for the list does not say what was voided")
    func product() throws {
        let product = JSON.object([
            "purchaseStateContext": .object(["purchaseState": .string("CANCELLED")]),
            "purchaseCompletionTime": .string("2026-11-01T00:00:00Z"),
            "productLineItem": .array([.object(["productId": .string("lifetime")])]),
        ])
        for (quantity, isWhole) in [(nil, true), (2, false)] as [(Int64?, Bool)] {
            let list = JSON.object(["voidedPurchases": .array([Self.entry("t9", quantity: quantity)])])
            let found = try #require(try entries(list).first)
            let answer =
                isWhole
                ? product
                : JSON.object(
                    product.object?.merging(
                        ["purchaseStateContext": .object(["purchaseState": .string("PURCHASED")])]
                    ) { $1 } ?? [:]
                )
            let (step, asked) = try play(.delivery(id: found.id, body: found.body), ["productsv2": (200, answer)])
            #expect(asked.count == 2 && asked[0].contains("subscriptionsv2"))
            let event = try #require(step.events?.first)
            #expect(event.adjustments.contains { $0.kind == .refund } == isWhole, "\(String(describing: quantity))")
        }
    }

    @Test("a list that is none is not believed", arguments: [400, 404, 410, 500, 403, 200])
    func failures(_ status: Int) throws {
        let body = status == 200 ? JSON.object(["voidedPurchases": .string("x")]) : .object([:])
        guard case .failed = try play(Self.page(), ["voided": (status, body)]).0 else {
            return #expect(Bool(false), "\(status)")
        }
    }
}

extension NormalizedEvent {
    var adjustments: [Adjustment] {
        effects.flatMap { effect -> [Adjustment] in
            guard case .facts(_, let facts) = effect else { return [] }
            return facts.compactMap { if case .adjustment(let adjustment) = $0 { adjustment } else { nil } }
        }
    }
}
