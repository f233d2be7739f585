internal import Foundation
internal import TestSupport

/// The App Store Server API on a loopback port: subscriptions that a test may change at any time, signed when they are asked
/// for, and a list of notifications in pages.
final class FakeAppStore: Sendable {
    /// A subscription as Apple knows it.
    struct Subscription: Sendable {
        var status = 1
        var expires: Int64
        var purchased: Int64
        var transaction: String
        var token: String? = AppStoreTests.user
        var revoked: Int64?
        var environment = "Production"
    }

    struct Seen: Sendable {
        var method: String
        var target: String
        var body: String
        var claims: JSONValue
    }

    private struct State {
        var subscriptions: [String: Subscription] = [:]
        var notifications: [String] = []
        /// Answers in the place of the right ones, by a part of the target; each is used so many times.
        var instead: [(part: String, answer: FakeAPI.Answer, times: Int)] = []
        var attempts = "[]"
        var seen: [Seen] = []
    }

    static let pageMax = 20

    let key = SigningKey()
    private let apple: AppleSigner
    private let state = Locked(State())
    private let server: LoopbackServer

    init(_ apple: AppleSigner) throws {
        self.apple = apple
        let (state, key) = (state, key)
        server = try LoopbackServer { peer in
            while let head = peer.readHead() {
                let words = head.split(separator: " ")
                let length = Self.field("content-length", head).flatMap { Int($0) } ?? 0
                let body = String(decoding: peer.read(count: length) ?? [], as: UTF8.self)
                let target = String(words.dropFirst().first ?? "")
                let claims = Self.claims(Self.field("authorization", head) ?? "", key)
                state.with {
                    $0.seen.append(
                        Seen(method: String(words.first ?? ""), target: target, body: body, claims: claims ?? .null)
                    )
                }
                FakeAPI.play(
                    claims == nil ? .body(401, "Unauthenticated") : Self.answer(target, body, state, apple),
                    peer
                )
            }
        }
    }

    var base: String { "http://127.0.0.1:\(server.port)" }
    var seen: [Seen] { state.with { $0.seen } }

    /// The settings of a gateway that asks here; the key file is written beside it.
    var environment: [String: String] {
        [
            "APP_STORE_API_BASE": base, "APP_STORE_KEY_ID": "KEY1", "APP_STORE_ISSUER_ID": "issuer-1",
            "APP_STORE_PRIVATE_KEY": "api.p8",
        ]
    }

    func set(_ id: String, _ subscription: Subscription?) {
        state.with { $0.subscriptions[id] = subscription }
    }

    func add(_ notifications: [String]) {
        state.with { $0.notifications += notifications }
    }

    /// - Parameter times: How many requests are answered so.
    func fail(_ part: String, _ answer: FakeAPI.Answer, times: Int = .max) {
        state.with { $0.instead.append((part, answer, times)) }
    }

    func recover() {
        state.with { $0.instead = [] }
    }

    /// What becomes of a test notification.
    func setAttempts(_ json: String) {
        state.with { $0.attempts = json }
    }

    private static func field(_ name: String, _ head: String) -> String? {
        for line in head.split(separator: "\r\n") where line.lowercased().hasPrefix(name + ":") {
            return line.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
        }
        return nil
    }

    /// The claims of a token that the key has signed; nil for any other.
    private static func claims(_ authorization: String, _ key: SigningKey) -> JSONValue? {
        guard authorization.hasPrefix("Bearer ") else { return nil }
        let parts = authorization.dropFirst(7).split(separator: ".").map(String.init)
        guard parts.count == 3, key.isRawSignature(decoded(parts[2]), of: Array("\(parts[0]).\(parts[1])".utf8)) else {
            return nil
        }
        return try? JSONValue(parsing: decoded(parts[1]))
    }

    private static func decoded(_ text: String) -> [UInt8] {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        return [UInt8](
            Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4)) ?? Data()
        )
    }

    private static func answer(
        _ target: String,
        _ body: String,
        _ state: Locked<State>,
        _ apple: AppleSigner
    ) -> FakeAPI.Answer {
        let other = state.with { state -> FakeAPI.Answer? in
            guard let place = state.instead.firstIndex(where: { target.contains($0.part) && $0.times > 0 }) else {
                return nil
            }
            state.instead[place].times -= 1
            return state.instead[place].answer
        }
        if let other { return other }
        let path = target.prefix { $0 != "?" }
        if path == "/inApps/v1/notifications/test" { return .body(200, #"{"testNotificationToken":"test-1"}"#) }
        if path == "/inApps/v1/notifications/test/test-1" {
            let attempts = state.with { $0.attempts }
            return attempts == "[]" ? unknown : .body(200, "{\"sendAttempts\":\(attempts)}")
        }
        if path == "/inApps/v1/notifications/history" { return history(target, body, state) }
        if path.hasSuffix("/appAccountToken") { return .body(200, "") }
        let id = String(path.split(separator: "/").last ?? "")
        guard path.hasPrefix("/inApps/v1/subscriptions/"), let found = state.with({ $0.subscriptions[id] }) else {
            return unknown
        }
        return .body(200, statuses(id, found, apple))
    }

    private static let unknown = FakeAPI.Answer.body(404, #"{"errorCode":4040010,"errorMessage":"not found"}"#)

    private static func history(_ target: String, _ body: String, _ state: Locked<State>) -> FakeAPI.Answer {
        let asked = try? JSONValue(parsing: Array(body.utf8))
        guard asked?["startDate"]?.integer != nil, asked?["endDate"]?.integer != nil else {
            return .body(400, #"{"errorCode":4000000}"#)
        }
        let all = state.with { $0.notifications }
        let start = target.split(separator: "=").last.flatMap { Int($0) } ?? 0
        let page = all.dropFirst(start).prefix(pageMax)
        let end = start + page.count
        let items = page.map { "{\"signedPayload\":\"\($0)\",\"sendAttempts\":[]}" }.joined(separator: ",")
        let more = end < all.count ? "true,\"paginationToken\":\"\(end)\"" : "false"
        return .body(200, "{\"notificationHistory\":[\(items)],\"hasMore\":\(more)}")
    }

    private static func statuses(_ id: String, _ found: Subscription, _ apple: AppleSigner) -> String {
        let now = Clock.millis
        let owner = found.token.map { "\"appAccountToken\":\"\($0)\"," } ?? ""
        let revoked = found.revoked.map { "\"revocationDate\":\($0),\"revocationReason\":0," } ?? ""
        let transaction = """
            {"transactionId":"\(found.transaction)","originalTransactionId":"\(id)","bundleId":"com.example.app",\(owner)\
            \(revoked)"productId":"monthly","purchaseDate":\(found.purchased),"expiresDate":\(found.expires),\
            "type":"Auto-Renewable Subscription","environment":"\(found.environment)","signedDate":\(now),\
            "inAppOwnershipType":"PURCHASED"}
            """
        let renewal = """
            {"originalTransactionId":"\(id)","autoRenewStatus":1,"environment":"\(found.environment)","signedDate":\(now)}
            """
        return """
            {"environment":"\(found.environment)","bundleId":"com.example.app","appAppleId":1234567890,"data":[{\
            "subscriptionGroupIdentifier":"g","lastTransactions":[{"status":\(found.status),\
            "originalTransactionId":"\(id)","signedTransactionInfo":"\(apple.jws(Array(transaction.utf8)))",\
            "signedRenewalInfo":"\(apple.jws(Array(renewal.utf8)))"}]}]}
            """
    }
}
