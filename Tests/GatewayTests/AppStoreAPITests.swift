internal import Foundation
internal import TestSupport
internal import Testing

/// The App Store Server API from outside: what is read when nobody tells, and what failures come to.
@Suite("App Store Server API, from outside", .ownThread)
struct AppStoreAPITests {
    private static let apple = AppleSigner()
    private static let user = AppStoreTests.user
    private static let day = Clock.dayMillis

    /// A gateway that asks `store`.
    private static func gateway(
        _ store: FakeAppStore,
        _ changes: [String: String] = [:],
        config: String? = nil
    ) throws -> RunningGateway {
        let settings = [
            "APP_STORE_BUNDLE_ID": "com.example.app", "APP_STORE_APP_APPLE_ID": "1234567890",
            "APP_STORE_ROOT_CERTIFICATES": "root.pem",
        ].merging(store.environment) { $1 }.merging(changes) { $1 }
        let gateway = try RunningGateway(settings, config: config)
        try gateway.write(apple.root.pem, to: "root.pem")
        try gateway.write(store.key.pem, to: "api.p8")
        return gateway
    }

    private static func transaction(
        _ id: String = "7001",
        token: String? = user,
        bought: Int64,
        expires: Int64,
        signed: Int64? = nil,
        environment: String = "Production",
        more: String = ""
    ) -> String {
        let owner = token.map { "\"appAccountToken\":\"\($0)\"," } ?? ""
        let text = """
            {"transactionId":"\(id)","originalTransactionId":"\(id)","bundleId":"com.example.app","productId":"monthly",\
            \(owner)\(more)"purchaseDate":\(bought),"expiresDate":\(expires),"type":"Auto-Renewable Subscription",\
            "environment":"\(environment)","signedDate":\(signed ?? bought),"inAppOwnershipType":"PURCHASED"}
            """
        return apple.jws(Array(text.utf8))
    }

    /// A notification as Apple signs it.
    private static func notification(
        _ type: String,
        _ uuid: String,
        _ transaction: String,
        status: Int? = 1,
        at: Int64,
        environment: String = "Production"
    ) -> String {
        let told = status.map { "\"status\":\($0)," } ?? ""
        let text = """
            {"notificationType":"\(type)","notificationUUID":"\(uuid)","signedDate":\(at),"data":{\
            "bundleId":"com.example.app","appAppleId":1234567890,"environment":"\(environment)",\(told)\
            "signedTransactionInfo":"\(transaction)"}}
            """
        return apple.jws(Array(text.utf8))
    }

    private static func submit(_ gateway: RunningGateway, _ signed: String, _ members: String = "") throws {
        let answer = try gateway.ask(
            "POST",
            "/v1/app_store/transactions",
            body: "{\"signed_transaction\":\"\(signed)\"\(members)}"
        )
        guard answer.status == 200 else { throw GatewayTestError("\(answer.status) \(answer.text)") }
    }

    /// Somebody whose period ended an hour ago, and was renewed without anybody telling.
    private static func lapsed(_ store: FakeAppStore, _ gateway: RunningGateway) throws -> Int64 {
        let now = Clock.millis
        try submit(
            gateway,
            transaction(bought: now - 30 * day, expires: now - 3_600_000, signed: now - 30 * day)
        )
        let renewed = now + 30 * day
        store.set("7001", .init(expires: renewed, purchased: now - 3_600_000, transaction: "7002"))
        return renewed
    }

    private static func sync(_ gateway: RunningGateway, _ user: String = user) throws -> JSONValue {
        let answer = try gateway.ask("POST", "/v1/users/\(user)/sync", key: RunningGateway.readKey)
        guard answer.status == 200 else { throw GatewayTestError("\(answer.status) \(answer.text)") }
        return try answer.json()
    }

    @Test func aSyncReadsHowTheSubscriptionStands() throws {
        let store = try FakeAppStore(Self.apple)
        let gateway = try Self.gateway(store).start()
        let renewed = try Self.lapsed(store, gateway)
        #expect(try Self.sync(gateway)["unreachable"]?.array.isEmpty == true)
        try Stress.eventually("the renewal counts") {
            try gateway.entitlement(of: Self.user)["access_until"]?.string == Clock.text(renewed)
        }
        let row = try gateway.entitlement(of: Self.user)
        #expect(row["entitled"] == true && row["provider"] == "app_store" && row["will_renew"] == true)
        let request = try #require(store.seen.first { $0.target == "/inApps/v1/subscriptions/7001" })
        #expect(request.claims["bid"] == "com.example.app" && request.claims["iss"] == "issuer-1")
        let claims = request.claims
        #expect((claims["exp"]?.integer ?? 0) - (claims["iat"]?.integer ?? 0) <= 3600)
        // One token serves for several requests.
        _ = try Self.sync(gateway)
        let tokens = Set(store.seen.map { $0.claims["iat"]?.integer ?? 0 })
        #expect(tokens.count == 1 && store.seen.count > 1)
        // The record can be read again, and comes to the same.
        let events = try gateway.ask("GET", "/v1/events?provider=app_store").json()["events"]?.array ?? []
        let read = try #require(events.first { $0["type"] == "api.subscription" }?["event_id"]?.string)
        #expect(try gateway.ask("POST", "/v1/events/app_store/\(read)/replay").status == 200)
        #expect(try gateway.entitlement(of: Self.user)["access_until"]?.string == Clock.text(renewed))
        try gateway.stop()
        #expect(try gateway.run(["rebuild", "--check"]).status == .exited(0))
    }

    @Test(arguments: ["silence", "500", "429", "garbage", "half", "401", "404", "forged"])
    func aStoreThatFailsTakesNothingAway(_ kind: String) throws {
        let store = try FakeAppStore(Self.apple)
        let gateway = try Self.gateway(store).start()
        let now = Clock.millis
        try Self.submit(gateway, Self.transaction(bought: now - Self.day, expires: now + Self.day))
        let before = try gateway.entitlement(of: Self.user)
        let forged = #"{"environment":"Production","bundleId":"com.other","data":[]}"#
        let answers: [String: FakeAPI.Answer] = [
            "500": .body(500, #"{"errorCode":5000000}"#), "garbage": .body(200, "<html>"),
            "429": .body(429, "{}", headers: ["Retry-After: \(now + 120_000)"]), "401": .body(401, "Unauthenticated"),
            "half": .halfBody(forged), "404": .body(404, "<html>"), "forged": .body(200, forged),
        ]
        store.fail("/inApps/", answers[kind] ?? .silence)
        let answer = try Self.sync(gateway)
        let named = (answer["unreachable"]?.array ?? []) + (answer["pending"]?.array ?? [])
        #expect(named.contains("app_store"), "\(answer)")
        #expect(try gateway.entitlement(of: Self.user) == before)
        #expect(try gateway.ask("GET", "/v1/events?provider=app_store").json()["events"]?.array.count == 1)
    }

    @Test func whoAsksForAPauseIsLeftAloneMeanwhile() throws {
        let store = try FakeAppStore(Self.apple)
        let gateway = try Self.gateway(store).start()
        let now = Clock.millis
        try Self.submit(gateway, Self.transaction(bought: now - Self.day, expires: now + Self.day))
        store.fail("/inApps/", .body(429, "{}", headers: ["Retry-After: \(now + 600_000)"]))
        try Stress.eventually("it was told") {
            try Self.sync(gateway)["unreachable"]?.array.contains("app_store") == true
        }
        let count = store.seen.count
        for _ in 0..<3 { #expect(try Self.sync(gateway)["unreachable"]?.array.contains("app_store") == true) }
        #expect(store.seen.count == count)
    }

    @Test func aRefundIsLookedUpWithoutAnybodyAsking() throws {
        let store = try FakeAppStore(Self.apple)
        let gateway = try Self.gateway(store).start()
        let now = Clock.millis
        let (bought, expires) = (now - 3 * Self.day, now + 27 * Self.day)
        try Self.submit(gateway, Self.transaction(bought: bought, expires: expires))
        // The notification tells of an older transaction and says nothing of the present one, which is gone as well.
        store.set(
            "7001",
            .init(status: 5, expires: expires, purchased: bought, transaction: "7001", revoked: now - 1000)
        )
        let older = Self.transaction(
            bought: now - 33 * Self.day,
            expires: bought,
            signed: now,
            more: "\"revocationDate\":\(now - 1000),"
        )
        let body = "{\"signedPayload\":\"\(Self.notification("REFUND", "n-1", older, at: now))\"}"
        #expect(
            try gateway.ask("POST", "/v1/webhooks/app_store", key: nil, body: body).json()["outcome"] != "duplicate"
        )
        #expect(try gateway.entitlement(of: Self.user)["entitled"] == true)
        // It outlives a stop: the look is kept with the notification.
        try gateway.stop()
        try gateway.start()
        try Stress.eventually("Apple's answer counts", seconds: 60) {
            try gateway.entitlement(of: Self.user)["entitled"] == false
        }
        #expect(try gateway.entitlement(of: Self.user)["status"] == "refunded")
        #expect(try SQLDatabase(gateway.database).text("SELECT count(*) FROM provider_task") == "0")
    }

    @Test func appleIsToldWhoseAPurchaseIs() throws {
        let store = try FakeAppStore(Self.apple)
        let gateway = try Self.gateway(store).start()
        let now = Clock.millis
        let signed = Self.transaction(token: nil, bought: now - Self.day, expires: now + Self.day)
        for _ in 0..<2 { try Self.submit(gateway, signed, ",\"user_id\":\"\(Self.user)\"") }
        try Self.submit(
            gateway,
            Self.transaction("7005", token: nil, bought: now - Self.day, expires: now + Self.day),
            ",\"user_id\":\"no-uuid\""
        )
        try Stress.eventually("it is told", seconds: 60) { store.seen.contains { $0.method == "PUT" } }
        let told = store.seen.filter { $0.method == "PUT" }
        #expect(told.map(\.target) == ["/inApps/v1/transactions/7001/appAccountToken"], "once, and no other")
        #expect(told.first?.body == "{\"appAccountToken\":\"\(Self.user)\"}")
        try Stress.eventually("nothing is left to do", seconds: 60) {
            try SQLDatabase(gateway.database).text("SELECT count(*) FROM provider_task") == "0"
        }
    }

    @Test func whatAppleWasToBeToldOfSomebodyErasedIsForgotten() throws {
        let store = try FakeAppStore(Self.apple)
        store.fail("/appAccountToken", .body(503, "{}"))
        let gateway = try Self.gateway(store).start()
        let now = Clock.millis
        let signed = Self.transaction(token: nil, bought: now - Self.day, expires: now + Self.day)
        try Self.submit(gateway, signed, ",\"user_id\":\"\(Self.user.uppercased())\"")
        let waiting = "SELECT count(*) FROM provider_task"
        #expect(try SQLDatabase(gateway.database).text(waiting) == "1")
        #expect(try gateway.ask("DELETE", "/v1/users/\(Self.user)").status == 204)
        #expect(try SQLDatabase(gateway.database).text(waiting) == "0")
    }

    // MARK: - Notifications that were sent and did not arrive

    private static func reconcile(_ gateway: RunningGateway, _ words: String...) throws -> (ProcessEnd, JSONValue) {
        let result = try gateway.run(["reconcile", "--json"] + words, seconds: 120)
        guard let json = try? JSONValue(parsing: result.output) else {
            throw GatewayTestError("\(result.status): \(result.output) \(result.errors)")
        }
        return (result.status, json)
    }

    /// Purchases that Apple has told of, and nobody heard.
    private static func lost(_ count: Int, _ expires: Int64) -> [String] {
        (1...count).map { number in
            let bought = Clock.millis - day
            let signed = transaction("8\(number)", token: token(number), bought: bought, expires: expires)
            return notification("SUBSCRIBED", "lost-\(number)", signed, at: bought)
        }
    }

    private static func token(_ number: Int) -> String {
        let digits = String(number)
        return "6f1d2c8a-3b47-4e59-9c0d-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    private static func histories(_ store: FakeAppStore) -> [FakeAppStore.Seen] {
        store.seen.filter { $0.target.contains("/history") }
    }

    @Test func whatGotLostIsFoundInTheHistory() throws {
        let store = try FakeAppStore(Self.apple)
        let gateway = try Self.gateway(store).start()
        let expires = Clock.millis / 1000 * 1000 + 20 * Self.day
        let lost = Self.lost(45, expires)
        // One of them has arrived.
        let body = "{\"signedPayload\":\"\(lost[0])\"}"
        #expect(try gateway.ask("POST", "/v1/webhooks/app_store", key: nil, body: body).json()["outcome"] == "applied")
        store.add(lost)
        let (dryStatus, dry) = try Self.reconcile(gateway, "--dry-run")
        #expect(dryStatus == .exited(0) || dry["unread"] != 0)
        #expect(dry["different"] == 44, "\(dry)")
        #expect(try gateway.entitlement(of: Self.token(45))["version"] == 0)
        let before = Self.histories(store).count
        let (_, report) = try Self.reconcile(gateway)
        // Three pages of production, and the sandbox list of the same fake.
        #expect(report["different"] == 44 && report["complete"] == true, "\(report)")
        let asked = Self.histories(store).dropFirst(before)
        #expect(asked.count == 6 && Set(asked.map(\.body)).count <= 2, "the same words for every page")
        try Stress.eventually("the running gateway knows") {
            try gateway.entitlement(of: Self.token(45))["access_until"]?.string == Clock.text(expires)
        }
        let outcomes = try gateway.ask("GET", "/v1/events?provider=app_store&limit=100").json()["events"]?.array ?? []
        #expect(outcomes.filter { $0["type"] == "SUBSCRIBED" }.count == 45)
        // The next look begins where this one ended.
        let first = try #require(asked.first.flatMap { try? JSONValue(parsing: Array($0.body.utf8)) })
        #expect(try Self.reconcile(gateway).1["different"] == 0)
        let again = try #require(Self.histories(store).last.flatMap { try? JSONValue(parsing: Array($0.body.utf8)) })
        let (ended, began) = (try #require(first["endDate"]?.integer), try #require(again["startDate"]?.integer))
        #expect(began < ended && began > ended - 2 * 3_600_000)
        let firstBegan = try #require(first["startDate"]?.integer)
        #expect(ended - firstBegan > 178 * Self.day && ended - firstBegan < 180 * Self.day)
    }

    @Test(arguments: ["500", "429", "garbage", "half", "401"])
    func aListThatCannotBeReadIsGoneOnWithLater(_ kind: String) throws {
        let store = try FakeAppStore(Self.apple)
        let gateway = try Self.gateway(store, ["APP_STORE_SANDBOX_API_BASE": "http://127.0.0.1:1"]).start()
        let expires = Clock.millis / 1000 * 1000 + 20 * Self.day
        store.add(Self.lost(45, expires))
        let answers: [String: FakeAPI.Answer] = [
            "500": .body(500, "{}"), "garbage": .body(200, "<html>"), "401": .body(401, "Unauthenticated"),
            "429": .body(429, "{}", headers: ["Retry-After: \(Clock.millis + 90_000)"]),
            "half": .halfBody(#"{"notificationHistory":[]}"#),
        ]
        store.fail("paginationToken=40", try #require(answers[kind]))
        let (status, report) = try Self.reconcile(gateway, "--patience", "0")
        #expect(status == .exited(1))
        let left = report["left_out"]?.array.compactMap { $0["list"]?.string } ?? []
        #expect(left.contains("app_store notifications"), "\(report)")
        #expect(try gateway.entitlement(of: Self.token(40))["entitled"] == true)
        #expect(try gateway.entitlement(of: Self.token(41))["entitled"] == false)
        let count = Self.histories(store).count
        store.recover()
        _ = try Self.reconcile(gateway, "--patience", "0")
        #expect(try gateway.entitlement(of: Self.token(45))["entitled"] == true)
        let asked = Self.histories(store).dropFirst(count)
        #expect(asked.map { $0.target.hasSuffix("=40") } == [true], "it went on where it was")
    }

    @Test func aPlaceThatAppleHasForgottenIsBegunAgain() throws {
        let store = try FakeAppStore(Self.apple)
        let gateway = try Self.gateway(store, ["APP_STORE_SANDBOX_API_BASE": "http://127.0.0.1:1"]).start()
        store.add(Self.lost(25, Clock.millis + Self.day))
        store.fail("paginationToken=20", .body(500, "{}"))
        _ = try Self.reconcile(gateway, "--patience", "0")
        store.recover()
        store.fail("paginationToken=20", .body(400, #"{"errorCode":4000014}"#), times: 1)
        let (_, report) = try Self.reconcile(gateway, "--patience", "0")
        #expect(report["pages"] == 2, "\(report)")
        #expect(try gateway.entitlement(of: Self.token(25))["entitled"] == true)
    }

    // MARK: - The test notification

    @Test func aTestNotificationIsFollowedToItsEnd() throws {
        let store = try FakeAppStore(Self.apple)
        let gateway = try Self.gateway(store)
        store.setAttempts(#"[{"attemptDate":1796000000000,"sendAttemptResult":"SUCCESS"}]"#)
        let good = try gateway.run(["app-store", "test-notification", "--json"])
        #expect(good.status == .exited(0), "\(good.errors)")
        let report = try JSONValue(parsing: good.output)
        #expect(report["delivered"] == true && report["token"] == "test-1" && report["environment"] == "production")
        #expect(report["attempts"]?.array.first?["at"] == "2026-11-30T00:53:20.000Z")
        #expect(store.seen.map(\.method) == ["POST", "GET"])
        store.setAttempts(#"[{"attemptDate":1796000000000,"sendAttemptResult":"TLS_ISSUE"}]"#)
        let bad = try gateway.run(["app-store", "test-notification", "--sandbox"])
        #expect(bad.status == .exited(1) && bad.output.contains("TLS_ISSUE"))
        #expect(bad.errors.contains("sandbox") && bad.errors.contains("App Store Connect"))
        store.setAttempts("[]")
        let none = try gateway.run(["app-store", "test-notification", "--wait", "0"])
        #expect(none.status == .exited(1) && none.errors.contains("not tried yet"))
        store.fail("/test", .body(401, "Unauthenticated"))
        let refused = try gateway.run(["app-store", "test-notification", "--json"])
        #expect(refused.status == .exited(1) && refused.output.contains("does not accept the API key"))
        let unset = try gateway.run(
            ["app-store", "test-notification"],
            changes: ["APP_STORE_KEY_ID": nil, "APP_STORE_PRIVATE_KEY": nil]
        )
        #expect(unset.status == .exited(1) && unset.errors.contains("APP_STORE_KEY_ID"))
        for words in [["app-store"], ["app-store", "test"], ["app-store", "test-notification", "more"]] {
            #expect(try gateway.run(words).status == .exited(2))
        }
    }

    @Test(
        "what is half set, or cannot be used, stops the start by its name",
        arguments: [
            (["APP_STORE_KEY_ID": nil], "APP_STORE_KEY_ID"),
            (["APP_STORE_PRIVATE_KEY": nil], "APP_STORE_PRIVATE_KEY"),
            (["APP_STORE_ISSUER_ID": nil], "APP_STORE_ISSUER_ID"),
            (["APP_STORE_PRIVATE_KEY": "root.pem"], "APP_STORE_PRIVATE_KEY"),
            (["APP_STORE_PRIVATE_KEY": "nowhere.p8"], "APP_STORE_PRIVATE_KEY"),
            (["APP_STORE_API_BASE": "storekit"], "APP_STORE_API_BASE"),
            (["APP_STORE_SANDBOX_API_BASE": "storekit"], "APP_STORE_SANDBOX_API_BASE"),
            (["APP_STORE_BUNDLE_ID": nil, "APP_STORE_APP_APPLE_ID": nil], "APP_STORE_BUNDLE_ID"),
        ] as [([String: String?], String)]
    )
    func settings(_ changes: [String: String?], _ name: String) throws {
        let gateway = try Self.gateway(try FakeAppStore(Self.apple))
        let result = try gateway.run(["serve"], changes: changes)
        #expect(result.status == .exited(1) && result.errors.contains(name), "\(result.errors)")
    }
}
