internal import Crypto
internal import Entitlements
internal import ProviderKit

/// What Google answered about one purchase, with the notification that made us ask: the event that is recorded.
///
/// As a document it is `{"google_play_reading": {"id", "at", "token", "kind", "notification"?, "status", "answer", "chain"}}`, so
/// that an answer nobody understood can be read again.
struct GooglePlayReading {
    static let name = "google_play_reading"

    /// Which of Google's resources the answer is.
    enum Kind: String {
        case subscription
        case product
    }

    struct Failure: Error {
        var reason: String
    }

    let document: JSON

    init(_ document: JSON) {
        self.document = document
    }

    init(
        id: String,
        at: UnixMillis,
        token: String,
        kind: Kind,
        notification: JSON?,
        status: Int,
        answer: JSON,
        chain: [(token: String, answer: JSON)]
    ) {
        document = .object([
            "id": .string(id), "at": .integer(at.value), "token": .string(token), "kind": .string(kind.rawValue),
            "notification": notification ?? .null, "status": .integer(Int64(status)), "answer": answer,
            "chain": .array(chain.map { .object(["token": .string($0.token), "answer": $0.answer]) }),
        ])
    }

    /// The event's body, without personal data.
    var body: [UInt8] { Self.withoutPersonalData(.object([Self.name: document])).bytes }

    /// What a buyer has written, and who they are at Google, is nobody's business here.
    static func withoutPersonalData(_ value: JSON) -> JSON {
        switch value {
        case .object(let members):
            .object(
                members.filter { $0.key != "subscribeWithGoogleInfo" && $0.key != "cancelSurveyResult" }
                    .mapValues(withoutPersonalData)
            )
        case .array(let elements): .array(elements.map(withoutPersonalData))
        default: value
        }
    }

    func event() -> NormalizedEvent {
        let notification = document["notification"].flatMap { value -> GooglePlayNotification? in
            value.isNull ? nil : try? GooglePlayNotification.read(value).get()
        }
        let at = UnixMillis(document["at"]?.integer ?? 0)
        var event = NormalizedEvent(
            eventID: document["id"]?.string ?? "",
            type: notification?.type ?? "api.\(document["kind"]?.string ?? "purchase")",
            occurredAt: notification?.at ?? at,
            environment: nil,
            effects: []
        )
        let status = document["status"]?.integer ?? 0
        guard status < 300 else {
            event.verdict = .observed("Google does not know this purchase token any more (\(status))")
            return event
        }
        do throws(Failure) {
            guard let answer = document["answer"], answer.object != nil, let token = document["token"]?.string else {
                throw Failure(reason: "the answer is no object")
            }
            let told = GooglePlayTold(notification: notification, at: at)
            switch document["kind"]?.string.flatMap(Kind.init(rawValue:)) {
            case .subscription:
                let subscription = GooglePlaySubscription(token: token, answer: answer, told: told)
                try subscription.translate(into: &event)
            case .product:
                try GooglePlayProduct(token: token, answer: answer, told: told).translate(into: &event)
            case nil: throw Failure(reason: "/kind is not known")
            }
            addChain(to: &event, token: token)
        } catch {
            event.effects = []
            event.verdict = .quarantined(error.reason)
        }
        return event
    }

    /// Whoever had one of the tokens before this one has this one, too, unless it says itself whose it is: each token is a
    /// customer of its own, and a later token belongs to the customers of the earlier ones.
    private func addChain(to event: inout NormalizedEvent, token: String) {
        guard case .facts(let reference, var facts)? = event.effects.first else { return }
        let isNamed = facts.contains { fact in
            if case .owner = fact { true } else { false }
        }
        let links = document["chain"]?.array ?? []
        let earlier = [document["answer"]].compactMap { $0 } + links.compactMap { $0["answer"] }
        if !isNamed {
            for ancestor in Set(earlier.compactMap(Self.predecessor)).sorted() {
                facts.append(.customer(Self.customer(ancestor)))
            }
            facts.append(.customer(Self.customer(token)))
            event.effects[0] = .facts(reference, facts)
        }
        for link in links {
            guard let known = link["token"]?.string, let answer = link["answer"],
                let user = GooglePlaySubscription.user(of: answer)
            else { continue }
            event.effects.append(.link(Self.customer(known), user))
        }
    }

    static func customer(_ token: String) -> CustomerID {
        CustomerID(provider: GooglePlayAdapter.name, value: token)
    }

    /// The token that this purchase goes on from: it took its place, or it was bought outside the app after its end.
    static func predecessor(of answer: JSON) -> String? {
        let token =
            answer["linkedPurchaseToken"]?.string ?? answer["outOfAppPurchaseContext"]?["expiredPurchaseToken"]?.string
        return token.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// When something was told, and by what.
struct GooglePlayTold {
    var notification: GooglePlayNotification?
    /// The moment of Google's answer, by Google's clock.
    var at: UnixMillis

    func isOf(_ type: String) -> Bool { notification?.type == type }

    /// When a change that the answer shows happened at the latest.
    var happenedAt: UnixMillis { min(notification?.at ?? at, at) }

    /// A full refund or chargeback, as the notification tells it.
    var isVoidedInFull: Bool {
        guard isOf(GooglePlayNotification.voidedType) else { return false }
        return notification?.document["voidedPurchaseNotification"]?["refundType"]?.integer ?? 1 == 1
    }
}
