internal import Crypto
internal import Entitlements
internal import Foundation
internal import ProviderKit
internal import TestSupport
internal import Testing

@testable internal import Providers

/// What the App Store Server API is asked, and what its answers come to; no network.
@Suite("App Store Server API") struct AppStoreAPITests {
    private typealias Fixture = AppStoreFixture

    private static let key = SigningKey()
    private static let now = Fixture.now
    private static let day: Int64 = 86_400_000
    private static let id = "2000000910000001"

    private static func api(_ environment: StoreEnvironment = .production) throws -> AppStoreAPI {
        AppStoreAPI(
            base: "https://apple.example.com//",
            environment: environment,
            credentials: try .init(keyID: "KEY1", issuerID: "issuer-1", key: PrivateKey(pem: Array(key.pem.utf8))),
            adapter: try Fixture.adapter()
        )
    }

    private static func transaction(_ changes: [String: JSON] = [:]) -> JSON {
        var members: [String: JSON] = [
            "transactionId": .string("2000000910000002"), "originalTransactionId": .string(id),
            "bundleId": .string("com.example.app"), "productId": .string("monthly"),
            "purchaseDate": .integer(now.value - 10 * day), "expiresDate": .integer(now.value + 20 * day),
            "type": .string("Auto-Renewable Subscription"), "environment": .string("Production"),
            "signedDate": .integer(now.value), "appAccountToken": .string(Fixture.user),
            "inAppOwnershipType": .string("PURCHASED"),
        ]
        for (name, value) in changes { members[name] = value.isNull ? nil : value }
        return .object(members)
    }

    private static func renewal(_ changes: [String: JSON] = [:]) -> JSON {
        var members: [String: JSON] = [
            "originalTransactionId": .string(id), "autoRenewStatus": .integer(1), "productId": .string("monthly"),
            "environment": .string("Production"), "signedDate": .integer(now.value),
        ]
        for (name, value) in changes { members[name] = value.isNull ? nil : value }
        return .object(members)
    }

    private static func signed(_ content: JSON, _ mode: AppleSigner.Mode = .good) -> JSON {
        .string(Fixture.apple.jws(content.bytes, mode))
    }

    /// The answer about one subscription.
    private static func statuses(
        _ status: Int64 = 1,
        _ transaction: JSON = transaction(),
        _ renewal: JSON? = renewal(),
        mode: AppleSigner.Mode = .good,
        changes: [String: JSON] = [:]
    ) -> JSON {
        var item: [String: JSON] = [
            "status": .integer(status), "originalTransactionId": .string(id),
            "signedTransactionInfo": signed(transaction, mode),
        ]
        item["signedRenewalInfo"] = renewal.map { signed($0, mode) }
        var members: [String: JSON] = [
            "environment": .string("Production"), "bundleId": .string("com.example.app"),
            "appAppleId": .integer(1_234_567_890),
            "data": .array([
                .object(["subscriptionGroupIdentifier": .string("g"), "lastTransactions": .array([.object(item)])])
            ]),
        ]
        for (name, value) in changes { members[name] = value.isNull ? nil : value }
        return .object(members)
    }

    private static func error(_ code: Int64?) -> JSON {
        .object(code.map { ["errorCode": .integer($0), "errorMessage": .string("x")] } ?? [:])
    }

    private static let notFound = error(4_040_010)

    private struct Played {
        var reading: APIReading?
        var asked: [APIRequest] = []
        var failure: APIFailure?

        var events: [NormalizedEvent] { reading?.events.map(\.event) ?? [] }
        var state: PurchaseState? { events.flatMap(\.states).first }
        var adjustments: [Adjustment] { events.flatMap(\.adjustments) }
    }

    /// Plays a reading to its end; what is not given is answered as unknown.
    private static func play(
        _ answers: [String: (status: Int, body: JSON)],
        _ question: APIQuestion = .purchase(ExternalID(namespace: "app_store", value: id)),
        _ environment: StoreEnvironment = .production
    ) throws -> Played {
        let api = try api(environment)
        var known: [APIRequest: APIAnswer] = [:]
        var played = Played()
        while true {
            switch api.next(question, known) {
            case .ask(let requests):
                for request in requests {
                    played.asked.append(request)
                    let answer =
                        answers.first { request.path.contains($0.key) }?.value ?? (status: 404, body: notFound)
                    known[request] = APIAnswer(status: answer.status, body: answer.body, at: now)
                }
            case .done(let reading):
                played.reading = reading
                return played
            case .failed(let failure):
                played.failure = failure
                return played
            }
        }
    }

    // MARK: - Access

    @Test("the access token is signed by the key, names the team and the app, and is short-lived")
    func token() throws {
        let token = try #require(try Self.api().token(at: Self.now))
        let parts = token.value.split(separator: ".").map(String.init)
        let decoded = try parts.map { try #require(Base64.decodeURL(Array($0.utf8))) }
        let header = try #require(JSON(decoded[0]))
        #expect(header["alg"]?.string == "ES256" && header["kid"]?.string == "KEY1" && header["typ"]?.string == "JWT")
        let claims = try #require(JSON(decoded[1]))
        #expect(claims["iss"]?.string == "issuer-1" && claims["bid"]?.string == "com.example.app")
        #expect(claims["aud"]?.string == "appstoreconnect-v1")
        #expect(claims["iat"]?.integer == Self.now.value / 1000)
        #expect(claims["exp"]?.integer == Self.now.value / 1000 + token.seconds && token.seconds <= 3600)
        #expect(Self.key.isRawSignature(decoded[2], of: Array("\(parts[0]).\(parts[1])".utf8)))
        #expect(throws: KeyError.self) {
            try AppStoreAPI.Credentials(
                keyID: "K",
                issuerID: "i",
                key: PrivateKey(pem: Array(SigningKey(.rsa).pem.utf8))
            )
        }
    }

    // MARK: - Questions

    @Test("each environment is asked about its own purchases, by the id of the whole chain")
    func questions() throws {
        func purchase(_ environment: StoreEnvironment, _ value: String, _ namespace: String = "app_store")
            -> KnownPerson.Purchase
        {
            .init(
                environment: environment,
                ids: [
                    .init(id: ExternalID(namespace: namespace, value: value), rank: .subscription),
                    .init(id: ExternalID(namespace: namespace, value: value + "9"), rank: .reference),
                ]
            )
        }
        let person = KnownPerson(
            users: [],
            customers: [],
            purchases: [purchase(.production, "1"), purchase(.sandbox, "2"), purchase(.production, "3", "stripe")]
        )
        #expect(
            try Self.api().questions(about: person) == [.purchase(ExternalID(namespace: "app_store", value: "1"))]
        )
        #expect(
            try Self.api(.sandbox).questions(about: person)
                == [.purchase(ExternalID(namespace: "app_store", value: "2"))]
        )
        let production = try Self.api()
        let sandbox = try Self.api(.sandbox)
        for (environment, takes) in [(StoreEnvironment.production, true), (.sandbox, false)] {
            let lookup = APIQuestion.delivery(id: "l", body: AppStoreLookup("1", environment).body)
            #expect(production.takes(lookup) == takes && sandbox.takes(lookup) == !takes)
            let request = APIQuestion.send(APIRequest("/x", json: "{}", isSandbox: environment == .sandbox))
            #expect(production.takes(request) == takes && sandbox.takes(request) == !takes)
        }
        #expect(Set(production.lists.map(\.name)).isDisjoint(with: Set(sandbox.lists.map(\.name))))
    }

    // MARK: - Subscriptions

    @Test("a subscription is a state of its newest transaction, five seconds older than Apple's signature")
    func subscription() throws {
        let played = try Self.play(["/inApps/v1/subscriptions/\(Self.id)": (200, Self.statuses())])
        #expect(played.asked.map(\.path) == ["/inApps/v1/subscriptions/\(Self.id)"])
        let state = try #require(played.state)
        #expect(state.condition == .active && state.willRenew == true && state.tellsOfPayment)
        #expect(state.version == Self.now.adding(millis: -5000))
        #expect(state.items.first?.end == UnixMillis(Self.now.value + 20 * Self.day))
        #expect(played.events.first?.users.map(\.value) == [Fixture.user])
        guard case .facts(let reference, _)? = played.events.first?.effects.first else {
            return #expect(Bool(false), "no facts")
        }
        #expect(reference.ids.first?.id.value == Self.id && reference.environment == .production)
        // What is kept of it says the same when it is read again.
        let kept = try #require(played.reading?.events.first?.payload)
        let again = try Fixture.adapter().normalize(VerifiedDelivery(verified: kept))
        #expect(again.effects == played.events.first?.effects && again.type == "api.subscription")
    }

    @Test(
        "Apple's status is what it means",
        arguments: [(1, "active"), (2, "ended"), (3, "failing"), (4, "failing"), (5, "active")] as [(Int64, String)]
    )
    func statuses(_ status: Int64, _ meaning: String) throws {
        let grace = Self.renewal(["gracePeriodExpiresDate": .integer(Self.now.value + 3 * Self.day)])
        let revoked = status == 5 ? Self.transaction(["revocationDate": .integer(Self.now.value - Self.day)]) : nil
        let ended = Self.transaction(["expiresDate": .integer(Self.now.value - Self.day)])
        let isOver = status == 2 || status == 3 || status == 4
        let answer = Self.statuses(status, revoked ?? (isOver ? ended : Self.transaction()), grace)
        let played = try Self.play(["/subscriptions/": (200, answer)])
        let condition = "\(try #require(played.state).condition)"
        #expect(condition.hasPrefix(meaning), "\(condition)")
        switch status {
        case 1, 4: #expect(played.adjustments.map(\.standing) == [.withdrawn], "what goes on was not taken back")
        case 5: #expect(played.adjustments.map(\.standing) == [.effective])
        default: #expect(played.adjustments.isEmpty)
        }
        let outcome = try #require(Fixture.outcome(played.events))
        let isEntitled = outcome.lines.contains { $0.end.map { $0 > Self.now } ?? true }
        #expect(isEntitled == (status == 1 || status == 4), "\(outcome)")
    }

    @Test("that nothing is said of a refund takes one back that is older than an hour, and no younger one")
    func silence() throws {
        for (minutes, isEntitled) in [(50, false), (70, true)] as [(Int64, Bool)] {
            let told = UnixMillis(Self.now.value - minutes * 60_000)
            let refund = try Fixture.event(
                "refund",
                [
                    "/signedDate": .integer(told.value), "/data/status": .null, "/data/renewalInfo": .null,
                    "/data/transaction": Self.transaction([
                        "revocationDate": .integer(told.value), "revocationReason": .integer(0),
                        "signedDate": .integer(told.value),
                    ]),
                ]
            )
            let played = try Self.play(["/subscriptions/": (200, Self.statuses())])
            let outcome = try #require(Fixture.outcome([refund] + played.events))
            #expect(outcome.lines.contains { $0.end.map { $0 > Self.now } ?? true } == isEntitled, "\(minutes)")
        }
    }

    @Test("a period that is over stays over when it is read days later, and ends when it ended")
    func longOver() throws {
        let ended = UnixMillis(Self.now.value - 5 * Self.day)
        let transaction = Self.transaction(["expiresDate": .integer(ended.value)])
        let played = try Self.play(["/subscriptions/": (200, Self.statuses(2, transaction))])
        #expect(Fixture.outcome(played.events)?.lines.first?.end == ended)
    }

    @Test("a status that nobody knows yet changes nothing")
    func unknownStatus() throws {
        let played = try Self.play(["/subscriptions/": (200, Self.statuses(9))])
        #expect(played.events.first?.effects.isEmpty == true)
        #expect(played.events.first?.verdict == .observed("status 9 is not known"))
    }

    @Test("something bought once is read as a transaction; a refund of it counts, and one that was taken back does not")
    func oneTime() throws {
        func lifetime(_ changes: [String: JSON] = [:]) -> JSON {
            Self.transaction(
                ["type": .string("Non-Consumable"), "expiresDate": .null, "transactionId": .string(Self.id)]
                    .merging(changes) { $1 }
            )
        }
        func answer(_ transaction: JSON) -> JSON { .object(["signedTransactionInfo": Self.signed(transaction)]) }
        for statuses in [
            (404, Self.notFound), (400, Self.error(4_000_006)), (200, Self.statuses(changes: ["data": .array([])])),
        ] {
            let played = try Self.play([
                "/subscriptions/": statuses, "/inApps/v1/transactions/\(Self.id)": (200, answer(lifetime())),
            ])
            #expect(played.state?.isOneTime == true && played.events.first?.type == "api.transaction")
            #expect(played.adjustments.map(\.standing) == [.withdrawn])
        }
        let refunded = lifetime(["revocationDate": .integer(Self.now.value - Self.day)])
        let played = try Self.play(["/transactions/": (200, answer(refunded))])
        #expect(played.adjustments.map(\.standing) == [.effective])
        #expect(try Self.play([:]).reading?.events.isEmpty == true, "what Apple does not know is no fact")
    }

    @Test("nothing is believed that is not signed by Apple, for this app, environment and purchase")
    func believed() throws {
        var wrong = AppleSigner.Mode.allCases.filter { $0 != .good }.map { Self.statuses(mode: $0) }
        wrong += [
            Self.statuses(changes: ["bundleId": .string("com.example.other")]),
            Self.statuses(changes: ["appAppleId": .integer(5)]), Self.statuses(changes: ["data": .null]),
            Self.statuses(changes: ["environment": .string("Sandbox")]),
            Self.statuses(changes: ["environment": .string("Xcode")]),
            Self.statuses(1, Self.transaction(["bundleId": .string("com.example.other")])),
            Self.statuses(1, Self.transaction(["environment": .string("Sandbox")])),
            Self.statuses(1, Self.transaction(["originalTransactionId": .string("1"), "transactionId": .string("2")])),
            Self.statuses(1, Self.transaction(), Self.renewal(["originalTransactionId": .string("1")])),
            .array([]), .null,
        ]
        for answer in wrong {
            let played = try Self.play(["/subscriptions/": (200, answer)])
            guard case .notUnderstood? = played.failure else { return #expect(Bool(false), "\(answer)") }
        }
        for mode in AppleSigner.Mode.allCases where mode != .good {
            let answer = JSON.object(["signedTransactionInfo": Self.signed(Self.transaction(), mode)])
            #expect(try Self.play(["/transactions/": (200, answer)]).failure != nil)
        }
    }

    @Test("what is round the signed texts may be left out")
    func bareAnswer() throws {
        let none: [String: JSON] = ["bundleId": .null, "appAppleId": .null, "environment": .null]
        #expect(try Self.play(["/subscriptions/": (200, Self.statuses(changes: none))]).state != nil)
    }

    // MARK: - Failures

    @Test(
        "an answer of Apple's is a fact, a reason to wait, or a mistake of ours",
        arguments: [
            (404, 4_040_010, "nothing"), (404, 4_040_005, "nothing"), (404, 4_040_001, "nothing"),
            (400, 4_000_006, "nothing"), (404, 4_040_002, "passing"), (404, 4_040_004, "passing"),
            (404, 4_040_006, "passing"), (500, 5_000_000, "passing"), (500, 5_000_001, "passing"),
            (503, nil, "passing"), (429, 4_290_000, "passing"), (404, 4_040_003, "refused"), (401, nil, "refused"),
            (404, nil, "notUnderstood"), (400, 4_000_012, "notUnderstood"), (400, nil, "notUnderstood"),
            (302, nil, "notUnderstood"),
        ] as [(Int, Int64?, String)]
    )
    func failures(_ status: Int, _ code: Int64?, _ meaning: String) throws {
        let played = try Self.play([
            "/subscriptions/": (status, Self.error(code)), "/transactions/": (status, Self.error(code)),
        ])
        let found =
            switch played.failure {
            case nil: "nothing"
            case .passing?: "passing"
            case .refused?: "refused"
            case .notUnderstood?: "notUnderstood"
            }
        #expect(found == meaning, "\(String(describing: played.failure))")
        #expect(played.events.isEmpty)
    }

    @Test("Retry-After is a moment in milliseconds, and seconds when it is too small for one")
    func retryAfter() throws {
        let api = try Self.api()
        func wait(_ told: Int64?, at: UnixMillis? = Self.now) -> Int64? {
            let answer = APIAnswer(status: 429, body: Self.error(4_290_000), at: at, retryAfterSeconds: told)
            guard case .passing(_, let millis)? = api.failure(of: answer) else { return -1 }
            return millis
        }
        #expect(wait(Self.now.value + 4200) == 4200)
        #expect(wait(Self.now.value - 4200) == 0, "it is over already")
        #expect(wait(Self.now.value + 4200, at: nil) == 60_000, "nobody knows how far away it is")
        #expect(wait(7) == 7000)
        #expect(wait(nil) == nil)
        #expect(wait(.max, at: Self.now) != nil)
    }

    // MARK: - Notifications that were sent

    private static func page(_ token: String? = nil) -> APIQuestion {
        .page(APIListPage(list: "notifications", from: UnixMillis(1000), until: UnixMillis(2000), token: token))
    }

    private static func item(_ name: String, _ mode: AppleSigner.Mode = .good) throws -> JSON {
        let value = try JSONValue(parsing: try Fixture.payload(name).bytes)
        let body = JSON(Fixture.apple.body(value, mode))
        return .object(["signedPayload": body?["signedPayload"] ?? .null, "sendAttempts": .array([])])
    }

    @Test("a page of notifications is what deliveries would have been, with their ids")
    func history() throws {
        let list = JSON.object([
            "notificationHistory": .array([try Self.item("did_renew"), try Self.item("test")]),
            "hasMore": .bool(true), "paginationToken": .string("a b"),
        ])
        let played = try Self.play(["/notifications/history": (200, list)], Self.page())
        let request = try #require(played.asked.first)
        #expect(request.path == "/inApps/v1/notifications/history" && request.method == .post)
        #expect(
            JSON(Array((request.json ?? "").utf8)) == .object(["startDate": .integer(1000), "endDate": .integer(2000)])
        )
        let names = ["did_renew", "test"]
        #expect(played.events.map(\.eventID) == (try names.map { try Fixture.event($0).eventID }))
        #expect(played.events.map(\.effects) == (try names.map { try Fixture.event($0).effects }))
        #expect(played.reading?.nextPage == "a b" && played.reading?.events.first?.payload != nil)
        // The next page is asked for with the same words.
        let next = try Self.play(["paginationToken=a%20b": (200, .object(["hasMore": .bool(false)]))], Self.page("a b"))
        #expect(next.asked.first?.json == request.json && next.events.isEmpty && next.reading?.nextPage == nil)
    }

    @Test("what is forged in a list is left out, and a list of nothing but that is not believed")
    func forgedHistory() throws {
        let forged = try Self.item("did_renew", .wrongRoot)
        let mixed = JSON.object(["notificationHistory": .array([forged, try Self.item("test")])])
        #expect(try Self.play(["history": (200, mixed)], Self.page()).events.count == 1)
        let wrong: [JSON] = [
            .object(["notificationHistory": .array([forged])]), .object(["notificationHistory": .string("x")]),
            .array([]), .object(["hasMore": .bool(true)]),
            .object(["hasMore": .bool(true), "paginationToken": .string("same")]),
        ]
        for answer in wrong {
            #expect(try Self.play(["history": (200, answer)], Self.page("same")).failure != nil, "\(answer)")
        }
    }

    // MARK: - What follows

    @Test("a refund asks how the subscription stands now, and nothing else does")
    func lookups() throws {
        let adapter = try Fixture.adapter()
        for name in Fixture.payloads where name != "bare_transaction" {
            let verified = try adapter.verify(try Fixture.delivery(try Fixture.payload(name)), now: Self.now)
            let event = adapter.normalize(verified)
            let lookups = adapter.lookups(after: verified, event)
            let isRefund = ["REFUND", "REFUND_REVERSED", "REVOKE"].contains(event.type)
            #expect(lookups.count == (isRefund ? 1 : 0), "\(name)")
            guard case .read(let id, let body)? = lookups.first else { continue }
            #expect(id != event.eventID && AppStoreLookup(body)?.environment == event.environment)
        }
    }

    @Test("Apple is told whose a purchase is, where it does not know it yet")
    func accountToken() throws {
        let adapter = try Fixture.adapter()
        func told(_ user: String, _ changes: [String: JSON] = [:]) throws -> APIRequest? {
            let verified = try adapter.verify(
                transaction: Fixture.apple.jws(Self.transaction(changes).bytes),
                renewalInfo: nil,
                signers: nil,
                now: Self.now
            )
            guard case .tell(let request)? = adapter.accountToken(of: try #require(UserID(user)), in: verified) else {
                return nil
            }
            return request
        }
        let other = "C2A9E7D4-8F16-4B03-A5C8-1D3F6E9B7A22"
        let request = try #require(try told(other))
        #expect(request.path == "/inApps/v1/transactions/\(Self.id)/appAccountToken" && request.method == .put)
        #expect(request.json == "{\"appAccountToken\":\"\(other.lowercased())\"}" && !request.isSandbox)
        #expect(try told(other, ["appAccountToken": .null, "environment": .string("Sandbox")])?.isSandbox == true)
        #expect(try told(Fixture.user) == nil, "it knows")
        #expect(try told("u1", ["appAccountToken": .null]) == nil, "no UUID")
        #expect(try told(other, ["inAppOwnershipType": .string("FAMILY_SHARED")]) == nil)
        // It comes back from the disk as it was.
        for request in [
            request, APIRequest("/a/b:acknowledge", json: "{}"), APIRequest("/x", json: "{}", isSandbox: true),
        ] {
            #expect(APIRequest(key: request.key, json: request.json ?? "") == request)
        }
    }
}
