internal import Crypto
internal import Entitlements
internal import Foundation
internal import ProviderKit
internal import TestSupport
internal import Testing

@testable internal import Providers

/// Which deliveries are believed to be the App Store's, for this app.
struct AppStoreVerifierTests {
    private typealias Fixture = AppStoreFixture

    private static func isBelieved(
        _ notification: JSON,
        _ mode: AppleSigner.Mode = .good,
        nested: AppleSigner.Mode? = nil
    ) throws -> Bool {
        let delivery = try Fixture.delivery(notification, mode, nested: nested)
        return (try? Fixture.adapter().verify(delivery, now: Fixture.now)) != nil
    }

    @Test("Apple Root CA - G3 is in the program, and is the one Apple publishes")
    func root() throws {
        let root = try AppleRoot.certificate()
        #expect(root.fingerprint == AppleRoot.fingerprint && root.isAuthority)
    }

    @Test(
        "every payload is believed when it is signed well, opened, and says the same after its removal of personal data",
        arguments: AppStoreFixture.payloads.filter { $0 != "bare_transaction" }
    )
    func believed(_ name: String) throws {
        let payload = try Fixture.payload(name)
        let adapter = try Fixture.adapter()
        let verified = try adapter.verify(try Fixture.delivery(payload), now: Fixture.now)
        #expect(JSON(verified.body) == payload, "opened, it is what was signed")
        let event = adapter.normalize(verified)
        #expect(!event.isQuarantined && !event.type.isEmpty)
        let kept = try #require(adapter.redact(verified))
        #expect(adapter.normalize(VerifiedDelivery(verified: kept)).effects == event.effects)
        #expect(!String(decoding: kept, as: UTF8.self).contains("signedTransactionInfo"))
    }

    @Test("a signature that is not Apple's is refused, outside and inside", arguments: AppleSigner.Mode.allCases)
    func forged(_ mode: AppleSigner.Mode) throws {
        let payload = try Fixture.payload("subscribed.initial_buy")
        #expect(try Self.isBelieved(payload, mode) == (mode == .good))
        #expect(try Self.isBelieved(payload, .good, nested: mode) == (mode == .good))
    }

    @Test("parts of texts that are good by themselves make no good text together")
    func swappedParts() throws {
        let apple = Fixture.apple
        let middle = apple.chain()[1]
        // Another leaf that Apple might have made, and one of a stranger's under Apple's name.
        let other = IssuedCertificate("leaf", issuer: middle, marker: AppleSigner.leafMarker)
        let stranger = IssuedCertificate(
            "leaf",
            issuer: IssuedCertificate("intermediate", isAuthority: true, marker: AppleSigner.intermediateMarker),
            marker: AppleSigner.leafMarker
        )
        let verifier = try Fixture.verifier()
        let payload = try Fixture.payload("test").bytes
        func header(_ leaf: IssuedCertificate, _ more: String = "") -> String {
            let list = [leaf, middle, apple.root].map { "\"\($0.base64)\"" }.joined(separator: ",")
            return "{\"alg\":\"ES256\",\"x5c\":[\(list)]\(more)}"
        }
        func isBelieved(_ text: String) -> Bool {
            (try? verifier.content(of: text, cache: nil, now: Fixture.now)) != nil
        }
        #expect(isBelieved(other.key.jws(header: header(other), payload: payload)))
        #expect(!isBelieved(other.key.jws(header: header(apple.chain()[0]), payload: payload)))
        #expect(!isBelieved(apple.chain()[0].key.jws(header: header(other), payload: payload)))
        #expect(!isBelieved(stranger.key.jws(header: header(stranger), payload: payload)))
        // A key that the header brings along is nobody's.
        let own = SigningKey()
        for more in [",\"jwk\":\(own.jwk(kid: "own"))", ",\"kid\":\"own\""] {
            #expect(!isBelieved(own.jws(header: header(other, more), payload: payload)))
        }
        // The payload of one text under the signature of another.
        let parts = [payload, try Fixture.payload("did_renew").bytes].map {
            apple.jws($0).split(separator: ".").map(String.init)
        }
        #expect(isBelieved(parts[0].joined(separator: ".")) && isBelieved(parts[1].joined(separator: ".")))
        for mixed in [[0, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0]] {
            let text = mixed.enumerated().map { parts[$1][$0] }.joined(separator: ".")
            // Two headers of the same chain are alike.
            #expect(isBelieved(text) == (mixed[1] == mixed[2]), "\(mixed)")
        }
    }

    @Test("what is inside is another's, or was changed: the whole is refused")
    func tamperedInside() throws {
        func signed(_ value: JSON) -> String { Fixture.apple.jws(value.bytes) }
        let payload = try Fixture.payload("did_renew")
        let data = try #require(payload["data"]?.object)
        let transaction = signed(try #require(data["transaction"]))
        let renewal = signed(try #require(data["renewalInfo"]))
        func isBelieved(_ transaction: String, _ renewal: String) throws -> Bool {
            var members = data
            (members["transaction"], members["renewalInfo"]) = (nil, nil)
            members["signedTransactionInfo"] = .string(transaction)
            members["signedRenewalInfo"] = .string(renewal)
            var root = payload.object ?? [:]
            root["data"] = .object(members)
            let body = JSON.object(["signedPayload": .string(signed(.object(root)))]).bytes
            return (try? Fixture.adapter().verify(WebhookDelivery(body: body) { _ in nil }, now: Fixture.now)) != nil
        }
        #expect(try isBelieved(transaction, renewal))
        for (place, part) in transaction.split(separator: ".").enumerated() {
            var parts = transaction.split(separator: ".").map(String.init)
            let middle = part.index(part.startIndex, offsetBy: part.count / 2)
            parts[place] = part[..<middle] + (part[middle] == "A" ? "B" : "A") + part[part.index(after: middle)...]
            #expect(try !isBelieved(parts.joined(separator: "."), renewal), "part \(place)")
        }
        #expect(try !isBelieved(renewal, transaction))
        #expect(try !isBelieved("", renewal) && !isBelieved(transaction, "a.b.c"))
    }

    @Test("a changed byte anywhere is refused")
    func changedByte() throws {
        let delivery = try Fixture.delivery(try Fixture.payload("test"))
        let adapter = try Fixture.adapter()
        let start = Array(#"{"signedPayload":""#.utf8).count
        let middle = try #require(delivery.body[start...].firstIndex(of: UInt8(ascii: ".")))
        let last = try #require(delivery.body.lastIndex(of: UInt8(ascii: ".")))
        for place in [start + 4, middle - 4, middle + 4, last - 4, last + 4] {
            var body = delivery.body
            body[place] = body[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let forged = WebhookDelivery(body: body) { _ in nil }
            #expect(throws: VerificationFailure.self) { try adapter.verify(forged, now: Fixture.now) }
        }
    }

    @Test(
        "what is no signed notification is refused",
        arguments: [
            "", "{}", "not json", "[]", #"{"signedPayload":3}"#, #"{"signedPayload":"a.b.c"}"#,
            #"{"signedPayload":"a.b.c.d"}"#, #"{"signedPayload":""}"#, #"{"signedpayload":"a.b.c"}"#,
        ]
    )
    func noNotification(_ body: String) throws {
        let delivery = WebhookDelivery(body: Array(body.utf8)) { _ in nil }
        #expect(throws: VerificationFailure.self) { try Fixture.adapter().verify(delivery, now: Fixture.now) }
    }

    @Test(
        "another app, another environment, another purchase: nothing inside may differ from what is round it",
        arguments: [
            ["/data/bundleId": JSON.string("com.example.other")],
            ["/data/bundleId": .null],
            ["/data/bundleId": .integer(3)],
            ["/data/transaction/bundleId": .string("com.example.other")],
            ["/data/transaction/bundleId": .null],
            ["/data/appAppleId": .integer(1_234_567_891)],
            ["/data/appAppleId": .null],
            ["/data/environment": .string("Sandbox")],
            [
                "/data/environment": .string("Xcode"), "/data/transaction/environment": .string("Xcode"),
                "/data/renewalInfo/environment": .string("Xcode"),
            ],
            [
                "/data/environment": .string("LocalTesting"), "/data/transaction/environment": .string("LocalTesting"),
                "/data/renewalInfo/environment": .string("LocalTesting"),
            ],
            ["/data/transaction/environment": .string("Sandbox")],
            ["/data/transaction/environment": .null],
            ["/data/renewalInfo/environment": .string("Sandbox")],
            ["/data/renewalInfo/originalTransactionId": .string("2000000910000099")],
            ["/notificationType": .null],
        ] as [[String: JSON]]
    )
    func disagreement(_ changes: [String: JSON]) throws {
        #expect(!(try Self.isBelieved(try Fixture.payload("subscribed.initial_buy", changes))), "\(changes)")
    }

    @Test("the number of the app is asked for in production only")
    func sandboxHasNoNumber() throws {
        let sandbox: [String: JSON] = [
            "/data/environment": .string("Sandbox"), "/data/transaction/environment": .string("Sandbox"),
            "/data/renewalInfo/environment": .string("Sandbox"), "/data/appAppleId": .null,
        ]
        let event = try Fixture.event("subscribed.initial_buy", sandbox)
        #expect(event.environment == .sandbox)
    }

    @Test(
        "parts of other kinds are the app's own as well",
        arguments: [
            ("renewal_extension.summary", "summary"), ("external_purchase_token.unreported", "externalPurchaseToken"),
            ("rescind_consent", "appData"), ("future_type.other_shape", "notice"),
        ]
    )
    func otherParts(_ name: String, _ part: String) throws {
        #expect(try Self.isBelieved(try Fixture.payload(name)))
        #expect(!(try Self.isBelieved(try Fixture.payload(name, ["/\(part)/bundleId": .string("com.other")]))))
        #expect(!(try Self.isBelieved(try Fixture.payload(name, ["/\(part)/bundleId": .null]))))
        #expect(!(try Self.isBelieved(try Fixture.payload(name, ["/\(part)/appAppleId": .integer(5)]))))
        if part == "externalPurchaseToken" {
            let token: [String: JSON] = [
                "/\(part)/externalPurchaseId": .string("SANDBOX_1"), "/\(part)/appAppleId": .null,
            ]
            #expect(try Self.isBelieved(try Fixture.payload(name, token)))
            let ofProduction: [String: JSON] = ["/\(part)/appAppleId": .null]
            #expect(!(try Self.isBelieved(try Fixture.payload(name, ofProduction))))
        }
    }

    @Test("a transaction is no notification, and what an app hands in cannot come by the webhook")
    func otherKinds() throws {
        #expect(!(try Self.isBelieved(try Fixture.payload("bare_transaction"))))
        let transaction = try #require(try Fixture.payload("subscribed.initial_buy")["data"]?["transaction"])
        let smuggled: JSON = .object(["environment": .string("Production"), "transaction": transaction])
        let event = try Fixture.event("test", ["/submission": smuggled])
        #expect(event.effects.isEmpty)
        // An opened part that was signed by nobody does not count.
        let adapter = try Fixture.adapter()
        let value = try JSONValue(parsing: try Fixture.payload("subscribed.initial_buy").bytes)
        let body = Array("{\"signedPayload\":\"\(Fixture.apple.jws(Array(value.compact.utf8)))\"}".utf8)
        let opened = adapter.normalize(try adapter.verify(WebhookDelivery(body: body) { _ in nil }, now: Fixture.now))
        #expect(opened.effects.isEmpty && opened.isQuarantined)
    }

    @Test("certificates are judged at the moment the payload was signed")
    func time() throws {
        let day: Int64 = 86_400_000
        func changes(_ daysAgo: Int64) -> [String: JSON] {
            let moment = JSON.integer(Fixture.now.value - daysAgo * day)
            return [
                "/signedDate": moment, "/data/transaction/signedDate": moment, "/data/renewalInfo/signedDate": moment,
            ]
        }
        let old = try Fixture.payload("subscribed.initial_buy", changes(3300))
        #expect(try Self.isBelieved(old, .expiredLeaf))
        let late = try Fixture.payload("subscribed.initial_buy", changes(1))
        #expect(!(try Self.isBelieved(late, .expiredLeaf)))
        // A time of its own inside: what is inside is judged by itself.
        let mixed = try Fixture.payload(
            "subscribed.initial_buy",
            changes(3300).merging(["/data/transaction/signedDate": .integer(Fixture.now.value)]) { $1 }
        )
        #expect(!(try Self.isBelieved(mixed, .expiredLeaf)))
        let without = try Fixture.payload("test", ["/signedDate": .null])
        #expect(!(try Self.isBelieved(without, .expiredLeaf)), "without a moment it is judged now")
    }

    @Test("what an app hands in is checked like the rest")
    func submissions() throws {
        let adapter = try Fixture.adapter()
        let data = try #require(try Fixture.payload("did_renew")["data"])
        let (transaction, renewal) = (try #require(data["transaction"]), try #require(data["renewalInfo"]))
        func believed(_ transaction: JSON, _ renewal: JSON?, _ mode: AppleSigner.Mode = .good) -> NormalizedEvent? {
            let verified = try? adapter.verify(
                transaction: Fixture.apple.jws(transaction.bytes, mode),
                renewalInfo: renewal.map { Fixture.apple.jws($0.bytes, mode) },
                signers: nil,
                now: Fixture.now
            )
            return verified.map(adapter.normalize)
        }
        func with(_ name: String, _ value: JSON, in part: JSON) -> JSON {
            var members = part.object ?? [:]
            members[name] = value
            return .object(members)
        }
        #expect(believed(transaction, nil)?.effects.count == 1)
        #expect(believed(transaction, renewal)?.effects.count == 1)
        for mode in AppleSigner.Mode.allCases where mode != .good { #expect(believed(transaction, nil, mode) == nil) }
        #expect(believed(with("bundleId", .string("x"), in: transaction), nil) == nil)
        #expect(believed(with("environment", .string("Xcode"), in: transaction), nil) == nil)
        #expect(believed(with("environment", .null, in: transaction), nil) == nil)
        #expect(believed(transaction, with("environment", .string("Sandbox"), in: renewal)) == nil)
        #expect(believed(transaction, with("originalTransactionId", .string("1"), in: renewal)) == nil)
        #expect(believed(try Fixture.payload("test"), nil) == nil, "a notification is no transaction")
        // The same words are one event, others are another.
        let (one, same) = (believed(transaction, nil)?.eventID, believed(transaction, nil)?.eventID)
        let other = believed(with("signedDate", .integer(Fixture.now.value), in: transaction), nil)?.eventID
        #expect(one == same && one != other)
    }
}
