internal import Entitlements
internal import ProviderKit
internal import Testing

@testable internal import Providers

/// What is asked of RevenueCat's API, and what its answers come to.
struct RevenueCatAPITests {
    private let api = RevenueCatAPI(base: "https://api.example.com/v2/", key: "sk", project: "proj 1")
    private static let at = UnixMillis(1_796_000_000_000)
    private static let day: Int64 = 86_400_000
    private let folder = "/v2/projects/proj%201/customers/"

    private func answer(_ text: String, status: Int = 200, at: UnixMillis? = Self.at) -> APIAnswer {
        APIAnswer(status: status, body: JSON(Array(text.utf8)), at: at)
    }

    private func list(_ items: String..., next: String? = nil) -> APIAnswer {
        answer(#"{"items":[\#(items.joined(separator: ","))],"next_page":\#(next.map { "\"\($0)\"" } ?? "null")}"#)
    }

    private func subscription(_ changes: [String: String] = [:]) -> String {
        var fields = [
            "id": #""sub1""#, "product_id": #""prod1""#, "status": #""active""#, "gives_access": "true",
            "current_period_starts_at": "\(Self.at.value - 20 * Self.day)",
            "current_period_ends_at": "\(Self.at.value + 10 * Self.day)",
            "ends_at": "\(Self.at.value + 10 * Self.day)", "auto_renewal_status": #""will_renew""#,
            "environment": #""production""#, "store": #""app_store""#, "store_subscription_identifier": #""t9""#,
            "entitlements": #"{"items":[{"id":"entl1","lookup_key":"pro"}]}"#,
        ]
        fields.merge(changes) { $1 }
        return "{" + fields.map { "\"\($0.key)\":\($0.value)" }.sorted().joined(separator: ",") + "}"
    }

    /// Everything that is asked for one customer and answered.
    private func play(
        _ customer: String,
        subscriptions: APIAnswer,
        purchases: APIAnswer? = nil,
        more: [String: APIAnswer] = [:]
    ) -> (step: APIStep, asked: [String]) {
        let encoded = APIRequest.encode(customer)
        var known = [
            folder + encoded + "/subscriptions?limit=100": subscriptions,
            folder + encoded + "/purchases?limit=100": purchases ?? list(),
            "/v2/projects/proj%201/products/prod1": answer(#"{"store_identifier":"com.example.monthly"}"#),
        ]
        known.merge(more) { $1 }
        var answers: [APIRequest: APIAnswer] = [:]
        var asked: [String] = []
        for _ in 0..<20 {
            let step = api.next(.customer(customer), answers)
            guard case .ask(let requests) = step else { return (step, asked) }
            for request in requests {
                asked.append(request.path)
                answers[request] = known[request.path] ?? answer("{}", status: 500)
            }
        }
        return (.failed(.notUnderstood("it never ends")), asked)
    }

    private func state(_ changes: [String: String]) throws -> PurchaseState? {
        guard let events = play("u1", subscriptions: list(subscription(changes))).step.events else {
            Issue.record("not done")
            return nil
        }
        #expect(events.count <= 1)
        return events.flatMap(\.states).first
    }

    @Test("a subscription becomes a state, five seconds older than the answer, of the store's own transaction")
    func active() throws {
        let (step, _) = play("u1", subscriptions: list(subscription()))
        guard let events = step.events, let event = events.first,
            case .facts(let reference, let facts)? = event.effects.first
        else { return #expect(Bool(false), "\(step)") }
        #expect(event.eventID.hasPrefix("api:"))
        #expect(reference.isSecondHand)
        #expect(reference.environment == .production)
        #expect(
            reference.ids.map(\.id) == [
                ExternalID(namespace: "app_store", value: "t9"),
                ExternalID(namespace: "revenuecat:subscription", value: "sub1"),
            ]
        )
        let state = try #require(event.states.first)
        #expect(state.version == Self.at.adding(millis: -5000))
        #expect(state.items == [.init(products: ["com.example.monthly"], end: Self.at.adding(days: 10))])
        #expect(state.entitlements == ["pro"])
        #expect(state.willRenew == true)
        #expect(state.condition == .active)
        #expect(facts.count == 2)
        #expect(event.users.map(\.value) == ["u1"])
    }

    struct Status: Sendable {
        var fields: [String: String]
        var condition: PurchaseState.Condition?
        var renews: Bool? = true
    }

    @Test(
        "every status",
        arguments: [
            Status(fields: ["status": #""trialing""#], condition: .trialing),
            Status(
                fields: ["status": #""in_grace_period""#, "ends_at": "\(at.value + 16 * day)"],
                condition: .failing(.init(grace: .store(until: at.adding(days: 16)), periodIsUnpaid: false))
            ),
            Status(
                fields: ["status": #""in_grace_period""#],
                condition: .failing(.init(grace: .configured, periodIsUnpaid: false))
            ),
            Status(
                fields: ["status": #""in_billing_retry""#, "gives_access": "false"],
                condition: .failing(.init(grace: .store(until: nil), periodIsUnpaid: false))
            ),
            Status(
                fields: ["status": #""paused""#, "gives_access": "false", "auto_renewal_status": #""will_pause""#],
                condition: .paused(at: at.adding(millis: -5000)),
                renews: false
            ),
            Status(
                fields: [
                    "status": #""expired""#, "gives_access": "false", "ends_at": "\(at.value - day)",
                    "auto_renewal_status": #""will_not_renew""#,
                ],
                condition: .ended(at: at.adding(days: -1)),
                renews: false
            ),
            Status(fields: ["status": #""something_new""#], condition: .active),
            Status(
                fields: ["status": #""something_new""#, "gives_access": "false"],
                condition: .ended(at: at.adding(millis: -5000))
            ),
            Status(
                fields: ["status": #""unknown""#, "gives_access": "false"],
                condition: .ended(at: at.adding(millis: -5000))
            ),
            Status(fields: ["status": #""incomplete""#, "gives_access": "false"], condition: .incomplete),
            Status(fields: ["environment": #""moon""#], condition: nil),
            Status(fields: ["current_period_ends_at": "null", "ends_at": "null"], condition: nil),
        ]
    )
    func statuses(_ status: Status) throws {
        let state = try state(status.fields)
        #expect(state?.condition == status.condition)
        if status.condition != nil { #expect(state?.willRenew == status.renews) }
    }

    @Test("a purchase is for life while it is owned, and refunded when it is refunded")
    func purchases() throws {
        let item =
            #"{"id":"pur1","product_id":"prod1","purchased_at":1700000000000,"status":"owned","environment":"production","store":"play_store","store_purchase_identifier":"GPA.1","entitlements":{"items":[{"lookup_key":"pro"}]}}"#
        let owned = play("u1", subscriptions: list(), purchases: list(item)).step
        guard let events = owned.events, let state = events.first?.states.first else {
            return #expect(Bool(false), "\(owned)")
        }
        #expect(state.isOneTime)
        #expect(state.items == [.init(products: ["com.example.monthly"], end: nil)])
        let refunded = play(
            "u1",
            subscriptions: list(),
            purchases: list(item.replacing("owned", with: "refunded"))
        ).step
        guard let ended = refunded.events, case .facts(_, let facts)? = ended.first?.effects.first,
            case .adjustment(let refund)? = facts.first
        else { return #expect(Bool(false), "\(refunded)") }
        #expect(refund.size == .full)
        #expect(refund.standing == .effective)
    }

    @Test("all pages are read before anything is said")
    func pages() {
        let more = folder + "u1/subscriptions?limit=100&starting_after=sub1"
        let (step, asked) = play(
            "u1",
            subscriptions: list(subscription(), next: more),
            more: [more: list(subscription(["id": #""sub2""#, "store_subscription_identifier": #""t10""#]))]
        )
        guard let events = step.events else { return #expect(Bool(false), "\(step)") }
        #expect(events.first?.states.count == 2)
        #expect(asked.contains(more))
        let broken = play("u1", subscriptions: list(subscription(), next: more)).step
        guard case .failed(.passing) = broken else { return #expect(Bool(false), "\(broken)") }
        let elsewhere = play("u1", subscriptions: list(subscription(), next: "https://evil.example.com/v2/x")).step
        guard case .failed(.notUnderstood) = elsewhere else { return #expect(Bool(false), "\(elsewhere)") }
        let forEver = play(
            "u1",
            subscriptions: list(subscription(), next: more),
            more: [more: list(next: more)]
        ).step
        guard case .failed(.notUnderstood) = forEver else { return #expect(Bool(false), "\(forEver)") }
    }

    @Test("an entitlement that is told by its id only is looked up by its name")
    func names() {
        let names = "/v2/projects/proj%201/entitlements?limit=100"
        let item = subscription(["entitlements": #"{"items":[{"id":"entl1"},{"id":"entl_unknown"}]}"#])
        let (step, asked) = play(
            "u1",
            subscriptions: list(item),
            more: [names: list(#"{"id":"entl1","lookup_key":"pro"}"#)]
        )
        guard let events = step.events else { return #expect(Bool(false), "\(step)") }
        #expect(events.first?.states.first?.entitlements == ["pro"])
        #expect(asked.contains(names))
    }

    @Test("answers that are none")
    func failures() {
        func step(_ answer: APIAnswer) -> APIStep { play("u1", subscriptions: answer).step }
        let missing = answer(#"{"object":"error","type":"resource_missing"}"#, status: 404)
        guard let events = step(missing).events, events.isEmpty else { return #expect(Bool(false)) }
        let backoff = step(answer(#"{"backoff_ms":1700}"#, status: 429))
        guard case .failed(.passing(_, retryAfterMillis: 1700)) = backoff else { return #expect(Bool(false)) }
        guard case .failed(.passing) = step(answer(#"{}"#, status: 423)) else { return #expect(Bool(false)) }
        guard case .failed(.passing) = step(answer("", status: 503)) else { return #expect(Bool(false)) }
        guard case .failed(.refused) = step(answer("{}", status: 401)) else { return #expect(Bool(false)) }
        // A wrong address answers 404, too; that says nothing about a customer.
        guard case .failed(.notUnderstood) = step(answer("<html>", status: 404)) else { return #expect(Bool(false)) }
        guard case .failed(.notUnderstood) = step(answer("<html>")) else { return #expect(Bool(false)) }
        guard case .failed(.notUnderstood) = step(answer(#"{"items":[]}"#, at: nil)) else {
            return #expect(Bool(false))
        }
    }

    @Test("who is asked about: every id of the person, and every anonymous one")
    func questions() {
        let known = KnownPerson(
            users: [UserID(unchecked: "u1"), UserID(unchecked: "a/b")],
            customers: [
                CustomerID(provider: ProviderID("stripe"), value: "cus_1"),
                CustomerID(provider: ProviderID("revenuecat"), value: "$RCAnonymousID:1"),
            ],
            purchases: []
        )
        #expect(api.questions(about: known) == [.customer("u1"), .customer("$RCAnonymousID:1")])
        #expect(api.base == "https://api.example.com")
        let (_, asked) = play("$RCAnonymousID:1", subscriptions: list())
        #expect(asked.first == folder + "%24RCAnonymousID%3A1/subscriptions?limit=100")
    }
}
