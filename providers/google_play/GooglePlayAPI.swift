public import Crypto
public import Entitlements
public import ProviderKit

/// The Google Play Developer API: what a purchase token stands for now, and the acknowledgement of purchases.
///
/// Source: https://developers.google.com/android-publisher
public struct GooglePlayAPI: ProviderAPI {
    public static let defaultBase = "https://androidpublisher.googleapis.com"

    public let base: String
    let adapter: GooglePlayAdapter
    private let account: GoogleServiceAccount

    /// Tokens that one purchase may go on from, each by the one before it; nobody has changed plans so often.
    private static let chainMax = 16

    public init(base: String, adapter: GooglePlayAdapter, account: GoogleServiceAccount) {
        var base = base
        while base.hasSuffix("/") { base.removeLast() }
        self.base = base
        self.adapter = adapter
        self.account = account
    }

    public var provider: ProviderID { GooglePlayAdapter.name }
    public var headers: [(name: String, value: String)] { [] }
    /// Google allows 3000.
    public var requestsPerMinute: Int { 2400 }

    public func exchange(at now: UnixMillis) throws(KeyError) -> APICredentialExchange? {
        try account.exchange(seconds: now.value / 1000)
    }

    public func questions(about person: KnownPerson) -> [APIQuestion] {
        person.purchases.flatMap(\.ids)
            .filter { $0.id.namespace == GooglePlayAdapter.tokenNamespace && $0.rank != .reference }
            .map { .purchase($0.id) }
    }

    public func next(_ question: APIQuestion, _ answers: [APIRequest: APIAnswer]) -> APIStep {
        do throws(Stop) {
            if case .page(let page) = question { return .done(try voided(page, answers)) }
            guard let found = try find(question, answers) else { return .done(APIReading()) }
            let verified = VerifiedDelivery(verified: found.reading.body)
            let event = APIEvent(adapter.normalize(verified), payload: adapter.redact(verified))
            return .done(APIReading([event], followUps: acknowledgement(of: found).map { [.acknowledge($0)] } ?? []))
        } catch {
            switch error {
            case .ask(let request): return .ask([request])
            case .failure(let failure): return .failed(failure)
            }
        }
    }

    /// A purchase that is not acknowledged within three days is paid back.
    ///
    /// Source: https://developer.android.com/google/play/billing/integrate#process
    private func acknowledgement(of found: Found) -> APIRequest? {
        guard found.status < 300, found.answer["acknowledgementState"]?.string == "ACKNOWLEDGEMENT_STATE_PENDING" else {
            return nil
        }
        let token = APIRequest.encode(found.token)
        switch found.kind {
        case .subscription:
            let words = ["ACTIVE", "IN_GRACE_PERIOD", "CANCELED"].map { "SUBSCRIPTION_STATE_" + $0 }
            guard let word = found.answer["subscriptionState"]?.string, words.contains(word),
                let product = found.answer["lineItems"]?.array?.compactMap({ $0["productId"]?.string }).first
            else { return nil }
            return acknowledgement("subscriptions/\(APIRequest.encode(product))/tokens/\(token)")
        case .product:
            guard found.answer["purchaseStateContext"]?["purchaseState"]?.string == "PURCHASED",
                let product = found.answer["productLineItem"]?.array?.compactMap({ $0["productId"]?.string }).first
            else { return nil }
            return acknowledgement("products/\(APIRequest.encode(product))/tokens/\(token)")
        }
    }

    // MARK: - Reading

    enum Stop: Error {
        case ask(APIRequest)
        case failure(APIFailure)
    }

    private struct Found {
        var token: String
        var kind: GooglePlayReading.Kind
        var status: Int
        var answer: JSON
        var reading: GooglePlayReading
    }

    func path(_ rest: String) -> String {
        "/androidpublisher/v3/applications/\(APIRequest.encode(adapter.package))/purchases/\(rest)"
    }

    private func acknowledgement(_ rest: String) -> APIRequest {
        APIRequest(path(rest) + ":acknowledge", json: "{}")
    }

    private func request(_ kind: GooglePlayReading.Kind, _ token: String) -> APIRequest {
        let resource = kind == .subscription ? "subscriptionsv2" : "productsv2"
        return APIRequest(path("\(resource)/tokens/\(APIRequest.encode(token))"))
    }

    /// Nil for a question about nothing, or a purchase that nobody told us of and Google does not know.
    private func find(_ question: APIQuestion, _ answers: [APIRequest: APIAnswer]) throws(Stop) -> Found? {
        var kinds: [GooglePlayReading.Kind] = [.subscription, .product]
        let token: String
        var notification: GooglePlayNotification?
        var eventID: String?
        switch question {
        case .customer, .send, .page: return nil
        case .purchase(let id): token = id.value
        case .delivery(let id, let body):
            guard let told = try? GooglePlayPush(body).content.get(),
                case .purchase(let value, let isSubscription) = told.subject
            else { return nil }
            token = value
            notification = told
            eventID = id
            if let isSubscription { kinds = isSubscription ? [.subscription] : [.product] }
        }
        var last: (kind: GooglePlayReading.Kind, answer: APIAnswer)?
        for kind in kinds {
            let answer = try self.answer(to: request(kind, token), answers)
            last = (kind, answer)
            if answer.status < 300 { break }
        }
        guard let (kind, answer) = last, answer.status < 300 || notification != nil else { return nil }
        guard let at = answer.at else { throw .failure(.notUnderstood("Google's answer tells no time")) }
        let body = answer.body ?? .null
        return Found(
            token: token,
            kind: kind,
            status: answer.status,
            answer: body,
            reading: GooglePlayReading(
                id: eventID
                    ?? "api:\(Hex.encode(Array(Digest.sha256(body.bytes + Array(token.utf8)).prefix(12)))):\(at.value)",
                at: at,
                token: token,
                kind: kind,
                notification: notification?.document,
                status: answer.status,
                answer: body,
                chain: answer.status < 300 ? try chain(from: body, token, answers) : []
            )
        )
    }

    /// The purchases that this one goes on from, as long as nobody on the way says whose it is.
    private func chain(
        from answer: JSON,
        _ token: String,
        _ answers: [APIRequest: APIAnswer]
    ) throws(Stop) -> [(token: String, answer: JSON)] {
        var chain: [(token: String, answer: JSON)] = []
        var current = answer
        var seen: Set = [token]
        while GooglePlaySubscription.user(of: current) == nil, chain.count < Self.chainMax,
            let before = GooglePlayReading.predecessor(of: current), seen.insert(before).inserted
        {
            let answer = try self.answer(to: request(.subscription, before), answers)
            guard answer.status < 300, let body = answer.body else { break }
            chain.append((before, body))
            current = body
        }
        return chain
    }

    /// 400, 404 and 410 are answers, too: such a token means nothing, or nothing any more.
    func answer(
        to request: APIRequest,
        _ answers: [APIRequest: APIAnswer]
    ) throws(Stop) -> APIAnswer {
        guard let answer = answers[request] else { throw .ask(request) }
        if answer.status == 400 || answer.status == 410 { return answer }
        if let failure = failure(of: answer) { throw .failure(failure) }
        guard answer.status == 404 || answer.body?.object != nil else {
            throw .failure(.notUnderstood("Google answered no JSON object"))
        }
        return answer
    }
}
