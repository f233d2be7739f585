public import Crypto
public import Entitlements
public import ProviderKit

/// The App Store Server API of one environment: how subscriptions stand, and which notifications Apple has sent.
///
/// What it answers is signed like a notification and believed for the same reasons. Production and sandbox are two addresses
/// with limits of their own, so there is one of these for each.
///
/// Source: https://developer.apple.com/documentation/appstoreserverapi
public struct AppStoreAPI: ProviderAPI {
    public static let defaultBase = "https://api.storekit.apple.com"
    public static let defaultSandboxBase = "https://api.storekit-sandbox.apple.com"

    /// The key that makes access tokens.
    public struct Credentials: Sendable {
        let keyID: String
        let issuerID: String
        let key: PrivateKey

        /// - Throws: When the key is no P-256 key.
        public init(keyID: String, issuerID: String, key: PrivateKey) throws(KeyError) {
            guard key.fits(.es256) else { throw KeyError("the key is no P-256 key") }
            (self.keyID, self.issuerID, self.key) = (keyID, issuerID, key)
        }
    }

    public let base: String
    public let environment: StoreEnvironment
    private let credentials: Credentials
    let adapter: AppStoreAdapter

    public init(base: String, environment: StoreEnvironment, credentials: Credentials, adapter: AppStoreAdapter) {
        var base = base
        while base.hasSuffix("/") { base.removeLast() }
        self.base = base
        self.environment = environment
        self.credentials = credentials
        self.adapter = adapter
    }

    public var provider: ProviderID { AppStoreAdapter.name }
    public var headers: [(name: String, value: String)] { [] }
    /// Below the lowest limit of what is asked often, 20 a second, of which the sandbox has a tenth.
    ///
    /// Source: https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits
    public var requestsPerMinute: Int { isSandbox ? 100 : 1000 }

    var isSandbox: Bool { environment == .sandbox }

    // MARK: - Access

    /// Apple takes tokens of up to an hour; a short one is worth little to whoever sees it.
    private static let tokenSeconds: Int64 = 300

    /// Source: https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests
    public func token(at now: UnixMillis) throws(KeyError) -> APIToken? {
        let seconds = now.value / 1000
        let claims: JSON = .object([
            "iss": .string(credentials.issuerID), "iat": .integer(seconds),
            "exp": .integer(seconds + Self.tokenSeconds),
            "aud": .string("appstoreconnect-v1"), "bid": .string(adapter.verifier.app.bundleID),
        ])
        let header = ["kid": credentials.keyID, "typ": "JWT"]
        let text = try CompactJWS.sign(claims.bytes, header: header, by: credentials.key, with: .es256)
        return APIToken(value: text, seconds: Self.tokenSeconds)
    }

    // MARK: - Questions

    public func takes(_ question: APIQuestion) -> Bool {
        switch question {
        case .send(let request): request.isSandbox == isSandbox
        case .page(let page): lists.contains { $0.name == page.list }
        case .delivery(_, let body): AppStoreLookup(body)?.environment == environment
        case .purchase, .customer: true
        }
    }

    public func questions(about person: KnownPerson) -> [APIQuestion] {
        person.purchases.filter { $0.environment == environment }.flatMap(\.ids)
            .filter { $0.id.namespace == provider.name && $0.rank != .reference }
            .map { .purchase($0.id) }
    }

    public func next(_ question: APIQuestion, _ answers: [APIRequest: APIAnswer]) -> APIStep {
        do throws(Stop) {
            switch question {
            case .page(let page): return .done(try history(page, answers))
            case .purchase(let id): return .done(try purchase(id.value, answers))
            case .delivery(_, let body):
                guard let lookup = AppStoreLookup(body) else { return .done(APIReading()) }
                return .done(try purchase(lookup.originalTransactionID, answers))
            case .customer, .send: return .done(APIReading())
            }
        } catch {
            switch error {
            case .ask(let request): return .ask([request])
            case .failure(let failure): return .failed(failure)
            }
        }
    }

    /// Everything the same customer subscribes to; of something else that was bought, the transaction.
    private func purchase(_ id: String, _ answers: [APIRequest: APIAnswer]) throws(Stop) -> APIReading {
        let signers = VerifiedSignerCache()
        let statuses = try answer(to: APIRequest("/inApps/v1/subscriptions/\(APIRequest.encode(id))"), answers)
        var readings: [AppStoreReading] = []
        if statuses.status < 300 {
            do throws(VerificationFailure) {
                readings = try adapter.verifier.statuses(in: statuses.body, signers, now: statuses.at)
            } catch {
                throw .failure(.notUnderstood(Self.unbelieved))
            }
        }
        if !readings.contains(where: { $0.isOf(id) }) {
            let single = try answer(to: APIRequest("/inApps/v1/transactions/\(APIRequest.encode(id))"), answers)
            if single.status < 300 {
                do throws(VerificationFailure) {
                    readings.append(try adapter.verifier.transaction(in: single.body, signers, now: single.at))
                } catch {
                    throw .failure(.notUnderstood(Self.unbelieved))
                }
            }
        }
        return APIReading(readings.map { adapter.event(VerifiedDelivery(verified: $0.body)) })
    }

    // MARK: - Notifications that were sent

    private static let list = "notifications"
    private static let sandboxList = "sandbox-notifications"
    /// A day less than Apple keeps them: what is older than that is refused.
    private static let (listDays, sandboxListDays) = (179, 29)

    public var lists: [APIList] {
        isSandbox
            ? [APIList(name: Self.sandboxList, days: Self.sandboxListDays)]
            : [APIList(name: Self.list, days: Self.listDays)]
    }

    /// Source: https://developer.apple.com/documentation/appstoreserverapi/get-notification-history
    private func history(_ page: APIListPage, _ answers: [APIRequest: APIAnswer]) throws(Stop) -> APIReading {
        let body = JSON.object(["startDate": .integer(page.from.value), "endDate": .integer(page.until.value)])
        let query = page.token.map { "?paginationToken=" + APIRequest.encode($0) } ?? ""
        let request = APIRequest(
            "/inApps/v1/notifications/history" + query,
            json: String(decoding: body.bytes, as: UTF8.self)
        )
        let answer = try answer(to: request, answers)
        // Empty is a list without its member, or without entries.
        guard answer.status < 300, let body = answer.body, body.object != nil,
            let items = body["notificationHistory"].map({ $0.isNull ? [] : $0.array }) ?? []
        else { throw .failure(.notUnderstood("the App Store's list of notifications cannot be understood")) }
        let signers = VerifiedSignerCache()
        var events: [APIEvent] = []
        for item in items {
            guard let text = item["signedPayload"]?.string else { continue }
            let delivery = WebhookDelivery(
                body: JSON.object(["signedPayload": .string(text)]).bytes,
                signers: signers
            ) { _ in nil }
            guard let verified = try? adapter.verify(delivery, now: answer.at ?? UnixMillis(0)) else { continue }
            events.append(adapter.event(verified))
        }
        // One that is not to be believed is nothing; none that is means that something else is wrong.
        guard items.isEmpty || !events.isEmpty else { throw .failure(.notUnderstood(Self.unbelieved)) }
        guard body["hasMore"]?.bool == true else { return APIReading(events) }
        guard let next = body["paginationToken"]?.string, !next.isEmpty, next != page.token else {
            throw .failure(.notUnderstood("the App Store says that there are more notifications, but not where"))
        }
        return APIReading(events, nextPage: next)
    }

    // MARK: - Answers

    private enum Stop: Error {
        case ask(APIRequest)
        case failure(APIFailure)
    }

    private static let unbelieved = "what the App Store answered is not signed by Apple for this app"

    private func answer(to request: APIRequest, _ answers: [APIRequest: APIAnswer]) throws(Stop) -> APIAnswer {
        guard let answer = answers[request] else { throw .ask(request) }
        if let failure = failure(of: answer) { throw .failure(failure) }
        return answer
    }

    /// Codes that say that there is no such thing, which is an answer.
    private static let unknownCodes: Set<Int64> = [4_000_006, 4_040_001, 4_040_005, 4_040_008, 4_040_010]
    /// Codes of a 404 that may be gone the next time.
    private static let passingCodes: Set<Int64> = [4_040_002, 4_040_004, 4_040_006]
    private static let unknownAppCode: Int64 = 4_040_003

    /// Source: https://developer.apple.com/documentation/appstoreserverapi/error-codes
    public func failure(of answer: APIAnswer) -> APIFailure? {
        let code = answer.body?["errorCode"]?.integer
        switch answer.status {
        case 400, 404:
            guard let code else { return .notUnderstood("app_store answered \(answer.status) without an error code") }
            if Self.unknownCodes.contains(code) { return nil }
            if Self.passingCodes.contains(code) {
                return .passing("app_store answered \(code)", retryAfterMillis: nil)
            }
            if code == Self.unknownAppCode { return .refused("the App Store does not know the app (\(code))") }
            return .notUnderstood("app_store answered \(code)")
        case 429: return failure(of: answer, retryAfterMillis: waitMillis(answer))
        default: return failure(of: answer, retryAfterMillis: nil)
        }
    }

    /// Apple tells the moment from which it may be asked again, in milliseconds since 1970; anything smaller can only be a
    /// number of seconds.
    private func waitMillis(_ answer: APIAnswer) -> Int64? {
        guard let told = answer.retryAfterSeconds, told >= Self.firstMoment else { return nil }
        guard let at = answer.at else { return Self.waitMillisUnknown }
        return max(0, told - at.value)
    }

    /// 2001, in milliseconds.
    private static let firstMoment: Int64 = 1_000_000_000_000
    /// How long to wait for a moment when it is not known how far away it is.
    private static let waitMillisUnknown: Int64 = 60_000
}

/// What is to be looked up once more, as it waits: `{"original_transaction_id", "environment"}`.
struct AppStoreLookup {
    let originalTransactionID: String
    let environment: StoreEnvironment

    init(_ originalTransactionID: String, _ environment: StoreEnvironment) {
        (self.originalTransactionID, self.environment) = (originalTransactionID, environment)
    }

    init?(_ body: [UInt8]) {
        guard let document = JSON(body), let id = document["original_transaction_id"]?.string, !id.isEmpty else {
            return nil
        }
        self.init(id, document["environment"]?.string == StoreEnvironment.sandbox.name ? .sandbox : .production)
    }

    var body: [UInt8] {
        JSON.object([
            "original_transaction_id": .string(originalTransactionID), "environment": .string(environment.name),
        ]).bytes
    }
}
