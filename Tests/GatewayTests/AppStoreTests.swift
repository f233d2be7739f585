internal import Foundation
internal import TestSupport
internal import Testing

/// The App Store from outside: what an app hands in, offers, and what the start refuses.
@Suite("App Store", .ownThread)
struct AppStoreTests {
    private static let apple = AppleSigner()
    static let user = "6f1d2c8a-3b47-4e59-9c0d-5a7e8b2f4c11"
    private static let other = "c2a9e7d4-8f16-4b03-a5c8-1d3f6e9b7a22"
    private static let day: Int64 = 86_400_000
    /// One moment for the whole run: a purchase told twice is the same purchase.
    private static let now = Int64(Date().timeIntervalSince1970 * 1000)

    private static func gateway(_ changes: [String: String] = [:], config: String? = nil) throws -> RunningGateway {
        let gateway = try RunningGateway(
            [
                "APP_STORE_BUNDLE_ID": "com.example.app", "APP_STORE_APP_APPLE_ID": "1234567890",
                "APP_STORE_ROOT_CERTIFICATES": "root.pem",
            ].merging(changes) { $1 },
            config: config
        )
        try gateway.write(apple.root.pem, to: "root.pem")
        return gateway
    }

    /// A subscription bought yesterday, for thirty days.
    private static func transaction(
        _ id: String = "7001",
        token: String? = user,
        environment: String = "Production",
        bundle: String = "com.example.app",
        signed: Int64 = now - day
    ) -> String {
        let owner = token.map { "\"appAccountToken\":\"\($0)\"," } ?? ""
        let text = """
            {"transactionId":"\(id)","originalTransactionId":"\(id)","bundleId":"\(bundle)","productId":"monthly",\(owner)\
            "purchaseDate":\(now - day),"expiresDate":\(now + 29 * day),"type":"Auto-Renewable Subscription",\
            "environment":"\(environment)","signedDate":\(signed),"inAppOwnershipType":"PURCHASED"}
            """
        return apple.jws(Array(text.utf8))
    }

    private static func submit(
        _ gateway: RunningGateway,
        _ signed: String,
        _ members: String = "",
        key: String? = RunningGateway.readKey
    ) throws -> HTTPAnswer {
        let body = "{\"signed_transaction\":\"\(signed)\"\(members.isEmpty ? "" : "," + members)}"
        return try gateway.ask("POST", "/v1/app_store/transactions", key: key, body: body)
    }

    private static func asking(_ user: String, _ restore: String? = nil) -> String {
        "\"user_id\":\"\(user)\"" + (restore.map { ",\"restore\":\"\($0)\"" } ?? "")
    }

    private static func expectProblem(
        _ answer: HTTPAnswer,
        _ status: Int,
        _ code: JSONValue,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(answer.status == status, "\(answer.text)", sourceLocation: sourceLocation)
        #expect(try answer.json()["code"] == code, sourceLocation: sourceLocation)
    }

    // MARK: - Submissions

    @Test func aSubmittedPurchaseIsAnsweredWithTheRow() throws {
        let gateway = try Self.gateway().start()
        let answer = try Self.submit(gateway, Self.transaction())
        #expect(answer.status == 200, "\(answer.text)")
        let row = try answer.json()
        #expect(row["user_id"]?.string == Self.user && row["entitled"] == true && row["provider"] == "app_store")
        #expect(row["product_id"] == "monthly" && row["purchase_id"] == "7001" && row["environment"] == "production")
        #expect(try gateway.entitlement(of: Self.user) == row)
        // The same words again are nothing new, after a restart as well.
        let version = row["version"]?.integer
        let again = Self.transaction(signed: Self.now)
        #expect(try Self.submit(gateway, again).status == 200)
        #expect(try Self.submit(gateway, again).status == 200)
        try gateway.stop()
        try gateway.start()
        #expect(try Self.submit(gateway, again).json()["version"]?.integer == version)
        let audit = try gateway.ask("GET", "/v1/events?provider=app_store").json()["events"]?.array.count
        #expect(audit == 2, "two texts, two events")
        #expect(try gateway.run(["rebuild", "--check"]).status == .exited(0))
    }

    @Test func itIsTheUsersWhoeverIsNamedInIt() throws {
        let gateway = try Self.gateway().start()
        let row = try Self.submit(gateway, Self.transaction(), Self.asking("u1")).json()
        #expect(row["user_id"] == "u1" && row["entitled"] == true)
        #expect(try gateway.entitlement(of: Self.user)["entitled"] == false)
        let free = try Self.submit(gateway, Self.transaction("7002", token: nil), Self.asking("u2")).json()
        #expect(free["user_id"] == "u2" && free["entitled"] == true)
    }

    @Test func aRestoreMovesThePurchaseThereAndBack() throws {
        let gateway = try Self.gateway().start()
        let signed = Self.transaction(token: nil)
        for user in ["u1", "u2", "u1"] {
            #expect(try Self.submit(gateway, signed, Self.asking(user)).json()["entitled"] == true)
            for one in ["u1", "u2"] {
                #expect(try gateway.entitlement(of: one)["entitled"] == .bool(one == user), "\(one) after \(user)")
            }
        }
    }

    @Test func whatIsKeptStaysWhoseItIs() throws {
        let gateway = try Self.gateway().start()
        let signed = Self.transaction(token: nil)
        #expect(try Self.submit(gateway, signed, Self.asking("u1", "keep")).status == 200)
        #expect(try Self.submit(gateway, signed, Self.asking("u1", "keep")).status == 200)
        let answer = try Self.submit(gateway, signed, Self.asking("u2", "keep"))
        try Self.expectProblem(answer, 409, "owned_by_another")
        #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
        #expect(try gateway.entitlement(of: "u2")["entitled"] == false)
        // The account token is a word of the owner's, too; the facts are true all the same.
        let named = try Self.submit(gateway, Self.transaction("7005", token: Self.other), Self.asking("u2", "keep"))
        try Self.expectProblem(named, 409, "owned_by_another")
        #expect(try gateway.entitlement(of: Self.other)["entitled"] == true)
    }

    @Test func theConfigurationSaysWhatCountsWhenTheAppDoesNot() throws {
        let gateway = try Self.gateway(config: #"{"restore":"keep"}"#).start()
        let signed = Self.transaction(token: nil)
        #expect(try Self.submit(gateway, signed, Self.asking("u1")).status == 200)
        #expect(try Self.submit(gateway, signed, Self.asking("u2")).status == 409)
        #expect(try Self.submit(gateway, signed, Self.asking("u2", "transfer")).status == 200)
        let wrong = try Self.gateway(config: #"{"restore":"sometimes"}"#).run(["serve"])
        #expect(wrong.status == .exited(1) && wrong.errors.contains("/restore"))
    }

    @Test func aSandboxPurchaseIsAnsweredFromItsOwnRow() throws {
        let gateway = try Self.gateway().start()
        let row = try Self.submit(gateway, Self.transaction(environment: "Sandbox")).json()
        #expect(row["environment"] == "sandbox" && row["entitled"] == true)
        #expect(try gateway.entitlement(of: Self.user)["entitled"] == false)
    }

    @Test func theNotificationAndTheSubmissionAreOnePurchase() throws {
        let gateway = try Self.gateway().start()
        #expect(try Self.submit(gateway, Self.transaction()).status == 200)
        let notification = """
            {"notificationType":"DID_CHANGE_RENEWAL_STATUS","subtype":"AUTO_RENEW_DISABLED","notificationUUID":"n1",\
            "signedDate":\(Self.now),"data":{"bundleId":"com.example.app","appAppleId":1234567890,\
            "environment":"Production","status":1,\
            "signedTransactionInfo":"\(Self.transaction())","signedRenewalInfo":"\(Self.apple.jws(Array("""
                {"originalTransactionId":"7001","autoRenewStatus":0,"environment":"Production","signedDate":\(Self.now)}
                """.utf8)))"}}
            """
        let body = "{\"signedPayload\":\"\(Self.apple.jws(Array(notification.utf8)))\"}"
        let answer = try gateway.ask("POST", "/v1/webhooks/app_store", key: nil, body: body)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try gateway.entitlement(of: Self.user)["will_renew"] == false)
        let view = try gateway.ask("GET", "/v1/users/\(Self.user)").json()
        #expect(view["purchases"]?.array.count == 1)
    }

    @Test func whatRevenueCatTellsOfItIsNotHeard() throws {
        let gateway = try Self.gateway().start()
        #expect(try Self.submit(gateway, Self.transaction()).status == 200)
        let before = try gateway.entitlement(of: Self.user)
        let expiration = """
            {"event":{"id":"rc1","type":"EXPIRATION","event_timestamp_ms":\(Self.now),"app_user_id":"\(Self.user)",\
            "environment":"PRODUCTION","store":"APP_STORE","product_id":"monthly","entitlement_ids":["pro"],\
            "transaction_id":"7001","original_transaction_id":"7001","purchased_at_ms":\(Self.now - Self.day),\
            "expiration_at_ms":\(Self.now - 1000),"expiration_reason":"UNSUBSCRIBE","period_type":"NORMAL"}}
            """
        try gateway.deliver("revenuecat", expiration)
        let after = try gateway.entitlement(of: Self.user)
        #expect(after["entitled"] == true && after["access_until"] == before["access_until"])
        #expect(after["provider"] == "app_store")
        #expect(try gateway.ask("GET", "/v1/users/\(Self.user)").json()["purchases"]?.array.count == 1)
    }

    @Test func whatIsNotBelievedIsRefusedAndStoredNowhere() throws {
        let gateway = try Self.gateway().start()
        let wrong = [
            Self.transaction(bundle: "com.example.other"), Self.transaction(environment: "Xcode"), "a.b.c",
            Self.apple.jws(Array("{}".utf8)), Self.transaction() + "A",
            Self.apple.jws(Array(#"{"bundleId":"com.example.app","environment":"Production"}"#.utf8), .wrongRoot),
        ]
        for text in wrong {
            try Self.expectProblem(try Self.submit(gateway, text, Self.asking("u1")), 401, "unauthorized")
        }
        let empty = Self.apple.jws(Array(#"{"bundleId":"com.example.app","environment":"Production"}"#.utf8))
        try Self.expectProblem(try Self.submit(gateway, empty, Self.asking("u1")), 400, "bad_request")
        for members in [
            #""restore":"sometimes""#, #""restore":3"#, #""signed_renewal_info":3"#, #""unknown":1"#,
        ] {
            try Self.expectProblem(try Self.submit(gateway, Self.transaction(), members), 400, "bad_request")
        }
        try Self.expectProblem(
            try Self.submit(gateway, Self.transaction(), Self.asking("null")),
            400,
            "invalid_user_id"
        )
        try Self.expectProblem(try Self.submit(gateway, Self.transaction(token: nil)), 400, "bad_request")
        for body in ["", "[]", "{}", #"{"signed_transaction":null}"#] {
            let answer = try gateway.ask("POST", "/v1/app_store/transactions", body: body)
            try Self.expectProblem(answer, 400, "bad_request")
        }
        let keyless = try Self.submit(gateway, Self.transaction(), key: nil)
        try Self.expectProblem(keyless, 401, "unauthorized")
        #expect(try gateway.ask("GET", "/v1/app_store/transactions").status == 405)
        #expect(try gateway.ask("POST", "/v1/app_store/other", body: "{}").status == 404)
        #expect(try gateway.ask("GET", "/v1/events?provider=app_store").json()["events"]?.array.isEmpty == true)
        #expect(try gateway.entitlement(of: "u1")["version"] == 0)
    }

    /// As one that a delivery tells of.
    @Test func whatIsHandedInBringsItsLicence() throws {
        let gateway = try Self.gateway(config: #"{"licenses":{"issue_on":["app_store"]}}"#).start()
        for _ in 0..<2 {
            #expect(try Self.submit(gateway, Self.transaction()).status == 200)
            let licenses = try gateway.ask("GET", "/v1/users/\(Self.user)").json()["licenses"]?.array ?? []
            #expect(licenses.map(\.["source"]) == ["purchase"])
        }
    }

    // MARK: - Offers

    @Test func offersAreSignedByTheKeyThatWasSet() throws {
        let key = SigningKey()
        let gateway = try Self.gateway([
            "APP_STORE_OFFER_KEY_ID": "KEY1", "APP_STORE_OFFER_PRIVATE_KEY": "offer.p8",
            "APP_STORE_ISSUER_ID": "issuer-1",
        ])
        try gateway.write(key.pem, to: "offer.p8")
        try gateway.start()
        func ask(_ path: String, _ body: String, key: String? = RunningGateway.readKey) throws -> HTTPAnswer {
            try gateway.ask("POST", "/v1/app_store/" + path, key: key, body: body)
        }
        for token in [nil, Self.user.uppercased()] as [String?] {
            let members = token.map { ",\"app_account_token\":\"\($0)\"" } ?? ""
            let answer = try ask("promotional-offers", "{\"product_id\":\"p\",\"offer_id\":\"o\"\(members)}").json()
            let nonce = try #require(answer["nonce"]?.string)
            let timestamp = try #require(answer["timestamp"]?.integer)
            #expect(answer["key_id"] == "KEY1" && UUID(uuidString: nonce) != nil && nonce == nonce.lowercased())
            #expect(abs(timestamp - Self.now) < Self.day)
            let signature = try #require(Data(base64Encoded: answer["signature"]?.string ?? ""))
            let parts = [
                "com.example.app", "KEY1", "p", "o", token?.lowercased() ?? "", nonce, String(timestamp),
            ]
            let text = parts.joined(separator: "\u{2063}")
            #expect(key.isSignature([UInt8](signature), of: Array(text.utf8)))
            #expect(!key.isSignature([UInt8](signature), of: Array((text + "x").utf8)))
        }
        let bodies = [
            #"{"product_id":"p","offer_id":"o"}"#: [
                "aud": "promotional-offer", "productId": "p", "offerIdentifier": "o",
            ],
            #"{"product_id":"p","offer_id":"o","transaction_id":"7"}"#: [
                "aud": "promotional-offer", "transactionId": "7",
            ],
            #"{"product_id":"p","allow_introductory_offer":false,"transaction_id":"7"}"#: [
                "aud": "introductory-offer-eligibility", "transactionId": "7",
            ],
        ]
        for (body, expected) in bodies {
            let answer = try ask("offer-jws", body).json()
            let parts = try #require(answer["jws"]?.string).split(separator: ".").map(String.init)
            let claims = try JSONValue(parsing: Self.decoded(parts[1]))
            for (name, value) in expected { #expect(claims[name]?.string == value, "\(body)") }
            #expect(claims["bid"] == "com.example.app" && claims["iss"] == "issuer-1" && claims["exp"] == nil)
            if body.contains("allow") { #expect(claims["allowIntroductoryOffer"] == false) }
            let header = try JSONValue(parsing: Self.decoded(parts[0]))
            #expect(header["alg"] == "ES256" && header["kid"] == "KEY1" && header["typ"] == "JWT")
            #expect(key.isRawSignature(Self.decoded(parts[2]), of: Array((parts[0] + "." + parts[1]).utf8)))
        }
        for body in [
            "{}", #"{"product_id":"p"}"#, #"{"product_id":"p","offer_id":""}"#,
            #"{"product_id":"p","offer_id":"a\u2063b"}"#, #"{"product_id":"p","offer_id":"o","app_account_token":"x"}"#,
        ] { try Self.expectProblem(try ask("promotional-offers", body), 400, "bad_request") }
        for body in [
            #"{"product_id":"p"}"#, #"{"product_id":"p","allow_introductory_offer":true}"#,
            #"{"product_id":"p","offer_id":"o","allow_introductory_offer":true,"transaction_id":"7"}"#,
        ] { try Self.expectProblem(try ask("offer-jws", body), 400, "bad_request") }
        let keyless = try ask("promotional-offers", "{}", key: nil)
        try Self.expectProblem(keyless, 401, "unauthorized")
    }

    private static func decoded(_ text: String) -> [UInt8] {
        let plain = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        return Array(Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4)) ?? Data())
    }

    @Test func withoutAKeyNoOfferIsSigned() throws {
        let gateway = try Self.gateway().start()
        for path in ["promotional-offers", "offer-jws"] {
            let answer = try gateway.ask("POST", "/v1/app_store/" + path, body: "{}")
            try Self.expectProblem(answer, 404, "provider_not_configured")
        }
    }

    // MARK: - Starting

    @Test func offWhenNothingIsSet() throws {
        let gateway = try RunningGateway().start()
        for path in ["/v1/webhooks/app_store", "/v1/app_store/transactions"] {
            let answer = try gateway.ask("POST", path, body: "{}")
            try Self.expectProblem(answer, 404, "provider_not_configured")
        }
        try gateway.stop()
        #expect(gateway.text(of: "gateway.log").contains("APP_STORE_BUNDLE_ID"))
    }

    @Test func rootsOfOnesOwnAreToldOf() throws {
        let gateway = try Self.gateway().start()
        // The log is written by a thread of its own; the end has waited for it.
        try gateway.stop()
        #expect(gateway.text(of: "gateway.log").contains("root that is not Apple's"))
        gateway.environment["APP_STORE_ROOT_CERTIFICATES"] = nil
        try gateway.write("", to: "gateway.log")
        try gateway.start()
        try Self.expectProblem(try Self.submit(gateway, Self.transaction()), 401, "unauthorized")
        try gateway.stop()
        #expect(!gateway.text(of: "gateway.log").contains("root that is not Apple's"))
    }

    @Test(
        arguments: [
            ["APP_STORE_ROOT_CERTIFICATES": "gateway.log"], ["APP_STORE_ROOT_CERTIFICATES": "none.pem"],
            ["APP_STORE_ROOT_CERTIFICATES": "root.pem,,"], ["APP_STORE_ROOT_CERTIFICATES": "leaf.pem"],
            ["APP_STORE_ROOT_CERTIFICATES": "root.pem,none.pem"],
            ["APP_STORE_APP_APPLE_ID": "com.example.app"], ["APP_STORE_APP_APPLE_ID": "-1"],
            ["APP_STORE_APP_APPLE_ID": nil], ["APP_STORE_BUNDLE_ID": nil],
            ["APP_STORE_OFFER_KEY_ID": "KEY1"], ["APP_STORE_OFFER_PRIVATE_KEY": "root.pem"],
            ["APP_STORE_OFFER_PRIVATE_KEY": "none.p8", "APP_STORE_OFFER_KEY_ID": "K"],
            ["APP_STORE_OFFER_PRIVATE_KEY": "root.pem", "APP_STORE_OFFER_KEY_ID": "K"],
            ["APP_STORE_OFFER_PRIVATE_KEY": "p384.p8", "APP_STORE_OFFER_KEY_ID": "K"],
        ] as [[String: String?]]
    )
    func whatCannotBeUsedStopsTheStart(_ changes: [String: String?]) throws {
        let gateway = try Self.gateway()
        try gateway.write(Self.apple.chain()[0].pem, to: "leaf.pem")
        try gateway.write(SigningKey(.p384).pem, to: "p384.p8")
        try gateway.write("{}", to: "gateway.log")
        let result = try gateway.run(["serve"], changes: changes)
        #expect(result.status == .exited(1), "\(result.errors)")
        let named = changes.keys.contains { result.errors.contains($0) }
        #expect(named && result.errors.contains("—"), "\(result.errors)")
    }
}
