internal import Foundation
internal import TestSupport
internal import Testing

/// The endpoints of the stores with a user token: a person acts for themselves and for nobody else (contract section 5).
@Suite("Store endpoints with user tokens", .ownThread)
struct StoreUserTokenTests {
    private static let apple = AppleSigner()
    private static let user = AppStoreTests.user
    private static let other = "c2a9e7d4-8f16-4b03-a5c8-1d3f6e9b7a22"

    private static func gateway(_ issuer: TestIssuer, more: String = "") throws -> RunningGateway {
        let gateway = try RunningGateway(
            [
                "APP_STORE_BUNDLE_ID": "com.example.app", "APP_STORE_APP_APPLE_ID": "1234567890",
                "APP_STORE_ROOT_CERTIFICATES": "root.pem", "APP_STORE_OFFER_KEY_ID": "KEY1",
                "APP_STORE_OFFER_PRIVATE_KEY": "offer.p8", "APP_STORE_ISSUER_ID": "issuer-1",
            ],
            config: issuer.config(more: more)
        )
        try gateway.write(apple.root.pem, to: "root.pem")
        try gateway.write(SigningKey().pem, to: "offer.p8")
        return try gateway.start()
    }

    private static func transaction(_ id: String = "7001", token: String? = nil) -> String {
        let now = Clock.millis
        let owner = token.map { "\"appAccountToken\":\"\($0)\"," } ?? ""
        let text = """
            {"transactionId":"\(id)","originalTransactionId":"\(id)","bundleId":"com.example.app","productId":"monthly",\
            \(owner)"purchaseDate":\(now - 1000),"expiresDate":\(now + Clock.dayMillis),"environment":"Production",\
            "type":"Auto-Renewable Subscription","signedDate":\(now),"inAppOwnershipType":"PURCHASED"}
            """
        return apple.jws(Array(text.utf8))
    }

    private static func submit(
        _ gateway: RunningGateway,
        _ token: String?,
        _ signed: String,
        _ members: String = "",
        headers: [HTTPHeader] = []
    ) throws -> HTTPAnswer {
        try gateway.ask(
            "POST",
            "/v1/app_store/transactions",
            key: token,
            body: "{\"signed_transaction\":\"\(signed)\"\(members)}",
            headers: headers
        )
    }

    @Test func aPurchaseThatSomebodyHandsInIsTheirs() throws {
        let issuer = try TestIssuer()
        let gateway = try Self.gateway(issuer)
        let token = issuer.token(["sub": .string(Self.user)])
        let row = try Self.submit(gateway, token, Self.transaction())
        #expect(row.status == 200, "\(row.text)")
        #expect(try row.json()["user_id"]?.string == Self.user && row.json()["entitled"] == true)
        // Their own name beside it changes nothing, in any case of letters; another name is refused.
        let named = try Self.submit(gateway, token, Self.transaction(), ",\"user_id\":\"\(Self.user.uppercased())\"")
        #expect(named.status == 200, "\(named.text)")
        let foreign = try Self.submit(gateway, token, Self.transaction("7002"), ",\"user_id\":\"\(Self.other)\"")
        #expect(try foreign.status == 400 && foreign.json()["code"] == "bad_request")
        #expect(try gateway.entitlement(of: Self.other)["version"] == 0)
        // Whoever the purchase names: it is handed in by its bearer, and is theirs.
        let claimed = try Self.submit(gateway, token, Self.transaction("7003", token: Self.other))
        #expect(try claimed.json()["user_id"]?.string == Self.user)
        #expect(try gateway.entitlement(of: Self.other)["entitled"] == false)
        let audit = try gateway.ask("GET", "/v1/audit").json()["audit"]?.array ?? []
        #expect(audit.contains { $0["action"] == "submit" && $0["key_id"] == "user-token" })
    }

    @Test func whatIsSomebodyElsesStaysTheirsWhenItIsSaidSo() throws {
        let issuer = try TestIssuer()
        let gateway = try Self.gateway(issuer, more: #","restore":"keep""#)
        let signed = Self.transaction()
        #expect(try Self.submit(gateway, issuer.token(["sub": .string(Self.user)]), signed).status == 200)
        let taken = try Self.submit(gateway, issuer.token(["sub": .string(Self.other)]), signed)
        #expect(try taken.status == 409 && taken.json()["code"] == "owned_by_another")
        #expect(try gateway.entitlement(of: Self.user)["entitled"] == true)
    }

    @Test func offersAreForTheBearer() throws {
        let issuer = try TestIssuer()
        let gateway = try Self.gateway(issuer)
        let token = issuer.token(["sub": .string(Self.user)])
        func offer(_ account: String?) throws -> Int {
            let member = account.map { ",\"app_account_token\":\"\($0)\"" } ?? ""
            let body = "{\"product_id\":\"p\",\"offer_id\":\"o\"\(member)}"
            return try gateway.ask("POST", "/v1/app_store/promotional-offers", key: token, body: body).status
        }
        #expect(try offer(nil) == 200 && offer(Self.user) == 200 && offer(Self.user.uppercased()) == 200)
        #expect(try offer(Self.other) == 400)
        let jws = try gateway.ask(
            "POST",
            "/v1/app_store/offer-jws",
            key: token,
            body: #"{"product_id":"p","offer_id":"o","transaction_id":"7"}"#
        )
        #expect(try jws.status == 200 && jws.json()["key_id"] == "KEY1")
        for (isAllowed, status) in [(true, 403), (false, 200)] {
            let body = "{\"product_id\":\"p\",\"allow_introductory_offer\":\(isAllowed),\"transaction_id\":\"7\"}"
            let answer = try gateway.ask("POST", "/v1/app_store/offer-jws", key: token, body: body)
            #expect(answer.status == status, "nobody gives themselves a free month")
        }
        // Nobody asks without end.
        let many = try (0..<40).map { _ in try offer(nil) }
        #expect(many.contains(429) && many.first == 200)
        #expect(
            try gateway.ask(
                "POST",
                "/v1/app_store/offer-jws",
                key: issuer.token(["sub": "u2"]),
                body: #"{"product_id":"p","offer_id":"o"}"#
            ).status == 200,
            "others are not held up"
        )
    }

    @Test func nobodyElseIsLetIn() throws {
        let issuer = try TestIssuer()
        let gateway = try Self.gateway(issuer)
        let now = Clock.millis / 1000
        let wrong = [
            nil, "nonsense", issuer.token(["exp": .integer(now - 100)]), issuer.token(signedBy: SigningKey(.rsa)),
            issuer.token(["aud": "other"]), issuer.token(["sub": "null"]),
        ]
        for path in ["transactions", "promotional-offers", "offer-jws"] {
            for token in wrong {
                let answer = try gateway.ask("POST", "/v1/app_store/" + path, key: token, body: "{}")
                #expect(try answer.status == 401 && answer.json()["code"] == "unauthorized", "\(path)")
            }
            // A cookie is sent by foreign pages as well.
            let cookie = HTTPHeader("Cookie", "session=" + issuer.token())
            let answer = try gateway.ask("POST", "/v1/app_store/" + path, key: nil, body: "{}", headers: [cookie])
            #expect(answer.status == 401)
        }
        let long = String(repeating: "x", count: 70_000)
        #expect(try Self.submit(gateway, issuer.token(), long).status == 400)
        #expect(try Self.submit(gateway, issuer.token(), String(repeating: "x", count: 40_000)).status == 401)
    }

    /// Google Play's own checks are those of its cases; here: who may name whom.
    @Test func aPlayPurchaseIsTheBearersToo() throws {
        let issuer = try TestIssuer()
        let api = try FakeAPI([:])
        let gateway = try RunningGateway(
            [
                "GOOGLE_PLAY_PACKAGE_NAME": "com.example.app", "GOOGLE_PLAY_SERVICE_ACCOUNT": "account.json",
                "GOOGLE_PLAY_API_BASE": api.base,
            ],
            config: issuer.config()
        )
        let key = SigningKey(.rsa).pem.replacing("\n", with: "\\n")
        try gateway.write(
            """
            {"type":"service_account","client_email":"a@example.com","private_key":"\(key)",\
            "token_uri":"\(api.base)/token"}
            """,
            to: "account.json"
        )
        api.set("/token", .body(200, #"{"access_token":"t","expires_in":3600}"#))
        let path = "/androidpublisher/v3/applications/com.example.app/purchases/subscriptionsv2/tokens/play-1"
        api.set(
            path,
            .body(
                200,
                #"{"subscriptionState":"SUBSCRIPTION_STATE_ACTIVE","startTime":"2026-11-01T00:00:00Z","#
                    + #""acknowledgementState":"ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED","#
                    + #""lineItems":[{"productId":"pro","expiryTime":"2099-01-01T00:00:00Z"}]}"#
            )
        )
        try gateway.start()
        func hand(_ token: String?, _ members: String = "") throws -> HTTPAnswer {
            let body = "{\"purchase_token\":\"play-1\"\(members)}"
            return try gateway.ask("POST", "/v1/google_play/purchases", key: token, body: body)
        }
        let row = try hand(issuer.token())
        #expect(try row.status == 200 && row.json()["user_id"] == "u1" && row.json()["entitled"] == true, "\(row.text)")
        #expect(try hand(issuer.token(), ",\"user_id\":\"u2\"").status == 400)
        #expect(try hand(issuer.token(), ",\"user_id\":\"null\"").json()["code"] == "invalid_user_id")
        #expect(try hand("nonsense").status == 401 && hand(nil).status == 401)
        #expect(try hand(RunningGateway.readKey, ",\"user_id\":\"u2\"").json()["user_id"] == "u2")
    }
}
