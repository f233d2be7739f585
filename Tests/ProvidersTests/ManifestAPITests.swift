internal import Entitlements
internal import Foundation
internal import ProviderKit
internal import Testing

@testable internal import Providers

/// The APIs that manifests describe: an object that is read says the same as the event it would have come in.
struct ManifestAPITests {
    private static let at = UnixMillis(1_796_000_000_000)

    /// A sample, and where its object stands; `whole` when the API gives the object below a member.
    struct Example: Sendable {
        var provider: String
        var sample: String
        var object: String
        var member: String?
        var request: String
    }

    static let examples = [
        Example(
            provider: "stripe",
            sample: "customer.subscription.updated",
            object: "/data/object",
            request: "/v1/subscriptions/"
        ),
        Example(
            provider: "stripe",
            sample: "customer.subscription.updated.old_shape",
            object: "/data/object",
            request: "/v1/subscriptions/"
        ),
        Example(
            provider: "stripe",
            sample: "customer.subscription.updated.past_due",
            object: "/data/object",
            request: "/v1/subscriptions/"
        ),
        Example(
            provider: "creem",
            sample: "subscription.update",
            object: "/object",
            request: "/v1/subscriptions?subscription_id="
        ),
        Example(
            provider: "paddle",
            sample: "subscription.updated.cancel",
            object: "/data",
            member: "data",
            request: "/subscriptions/"
        ),
        Example(
            provider: "lemonsqueezy",
            sample: "subscription_updated",
            object: "/data",
            member: "data",
            request: "/v1/subscriptions/"
        ),
        Example(provider: "polar", sample: "subscription.updated", object: "/data", request: "/v1/subscriptions/"),
        Example(provider: "dodo", sample: "subscription.active", object: "/data", request: "/subscriptions/"),
    ]

    private static func manifest(_ name: String) throws -> Manifest {
        try #require(try BuiltInProviders.manifests().first { $0.provider.name == name })
    }

    private static func sample(_ provider: String, _ name: String) throws -> JSON {
        let url = KnownProvider.tree.appendingPathComponent("providers/\(provider)/samples/\(name).json")
        return try #require(JSON([UInt8](try Data(contentsOf: url))))
    }

    private func value(_ document: JSON, _ pointer: String) throws -> JSON {
        let pointer = try #require(JSONPointer(pointer))
        return try #require(pointer.values(in: document, element: nil).first)
    }

    private func purchase(of event: NormalizedEvent) -> PurchaseReference? {
        for case .facts(let reference, _) in event.effects { return reference }
        return nil
    }

    @Test("an object says what its event says, five seconds before the answer", arguments: examples)
    func sameAsEvent(_ example: Example) throws {
        let manifest = try Self.manifest(example.provider)
        let api = try #require(ManifestAPI(manifest: manifest, base: "http://127.0.0.1:1", key: "the_key"))
        #expect(api.headers.contains { $0.value.contains("the_key") })
        let event = try Self.sample(example.provider, example.sample)
        let told = ManifestAdapter(manifest: manifest, secrets: [])
            .normalize(VerifiedDelivery(verified: event.bytes, eventID: "msg"))
        let reference = try #require(purchase(of: told))
        let name = try #require(reference.ids.first { $0.rank == .subscription })
        let person = KnownPerson(
            users: [],
            customers: [],
            purchases: [.init(environment: reference.environment, ids: reference.ids)]
        )
        #expect(api.questions(about: person) == [.purchase(name.id)])
        guard case .ask(let requests) = api.next(.purchase(name.id), [:]), let request = requests.first else {
            return #expect(Bool(false), "nothing is asked")
        }
        #expect(request.path == example.request + APIRequest.encode(name.id.value))
        let object = try value(event, example.object)
        let body = example.member.map { JSON.object([$0: object]) } ?? object
        let step = api.next(.purchase(name.id), [request: APIAnswer(status: 200, body: body, at: Self.at)])
        guard let events = step.events, let read = events.first else { return #expect(Bool(false), "\(step)") }
        #expect(read.verdict == nil)
        #expect(read.eventID.hasPrefix("api:"))
        #expect(read.type.hasPrefix("api."))
        #expect(purchase(of: read) == reference)
        let (ours, theirs) = (try #require(read.states.first), try #require(told.states.first))
        #expect(ours.items == theirs.items)
        #expect(ours.willRenew == theirs.willRenew)
        #expect(ours.periodStart == theirs.periodStart)
        #expect(ours.limit == theirs.limit)
        #expect(read.users == told.users || example.provider == "lemonsqueezy")
        // The object's own version where it has one, else the time of the answer less five seconds.
        let hasOwn = ours.version == theirs.version
        #expect(hasOwn || ours.version == Self.at.adding(millis: -5000), "\(ours.version)")
    }

    @Test("every manifest that comes with the program can be read")
    func all() throws {
        let described = try BuiltInProviders.manifests().filter { $0.api != nil }
        #expect(Set(described.map(\.provider.name)) == Set(Self.examples.map(\.provider)))
        for manifest in described {
            let api = try #require(manifest.api)
            #expect(api.keyVariable == manifest.provider.name.uppercased() + "_API_KEY")
            #expect(api.baseVariable == manifest.provider.name.uppercased() + "_API_BASE")
        }
    }

    /// What a list of pages comes to.
    private func pages(_ provider: String, _ bodies: [String: String]) throws -> (APIStep, [String]) {
        let api = try #require(ManifestAPI(manifest: try Self.manifest(provider), base: "https://x.test", key: "k"))
        var answers: [APIRequest: APIAnswer] = [:]
        var asked: [String] = []
        for _ in 0..<8 {
            let step = api.next(.customer("cus 1"), answers)
            guard case .ask(let requests) = step else { return (step, asked) }
            for request in requests {
                asked.append(request.path)
                let body = bodies[request.path].flatMap { JSON(Array($0.utf8)) }
                answers[request] = APIAnswer(status: body == nil ? 500 : 200, body: body, at: Self.at)
            }
        }
        return (.failed(.notUnderstood("no end")), asked)
    }

    @Test("lists are read to their last page, whatever way they are divided")
    func lists() throws {
        let stripe = "/v1/subscriptions?customer=cus%201&status=all&limit=100"
        let object = #"{"id":"sub_1","livemode":true,"status":"active"}"#
        let (first, asked) = try pages(
            "stripe",
            [
                stripe: #"{"data":[\#(object)],"has_more":true}"#,
                stripe + "&starting_after=sub_1": #"{"data":[\#(object)],"has_more":false}"#,
            ]
        )
        guard let events = first.events else { return #expect(Bool(false), "\(first)") }
        #expect(events.count == 2)
        #expect(asked == [stripe, stripe + "&starting_after=sub_1"])

        let polar = "/v1/subscriptions?customer_id=cus%201&limit=100"
        let (second, numbered) = try pages(
            "polar",
            [
                polar: #"{"items":[{}],"pagination":{"max_page":2}}"#,
                polar + "&page=2": #"{"items":[],"pagination":{"max_page":2}}"#,
            ]
        )
        guard case .done = second else { return #expect(Bool(false), "\(second)") }
        #expect(numbered == [polar, polar + "&page=2"])

        let paddle = "/subscriptions?customer_id=cus%201&per_page=100"
        let next = #""https://x.test/subscriptions?after=sub_1""#
        let (third, followed) = try pages(
            "paddle",
            [
                paddle: #"{"data":[],"meta":{"pagination":{"next":\#(next)}}}"#,
                "/subscriptions?after=sub_1": #"{"data":[],"meta":{"pagination":{"next":null}}}"#,
            ]
        )
        guard case .done = third else { return #expect(Bool(false), "\(third)") }
        #expect(followed.count == 2)
        // The key never goes to a server that an answer names.
        let elsewhere = #""https://x.test.evil.example.com/subscriptions""#
        let (fourth, _) = try pages(
            "paddle",
            [paddle: #"{"data":[],"meta":{"pagination":{"next":\#(elsewhere)}}}"#]
        )
        guard case .failed(.notUnderstood) = fourth else { return #expect(Bool(false), "\(fourth)") }
        let (broken, _) = try pages("stripe", [stripe: #"{"data":[\#(object)],"has_more":true}"#])
        guard case .failed(.passing) = broken else { return #expect(Bool(false), "\(broken)") }
    }

    @Test("what cannot be understood says nothing")
    func failures() throws {
        let api = try #require(ManifestAPI(manifest: try Self.manifest("stripe"), base: nil, key: "k"))
        let question = APIQuestion.purchase(ExternalID(namespace: "stripe", value: "sub_1"))
        let request = APIRequest("/v1/subscriptions/sub_1")
        func step(_ status: Int, _ text: String, at: UnixMillis? = Self.at) -> APIStep {
            api.next(question, [request: APIAnswer(status: status, body: JSON(Array(text.utf8)), at: at)])
        }
        guard let none = step(404, #"{"error":{}}"#).events, none.isEmpty else { return #expect(Bool(false)) }
        guard case .failed(.passing) = step(429, "{}") else { return #expect(Bool(false)) }
        guard case .failed(.refused) = step(401, "{}") else { return #expect(Bool(false)) }
        guard case .failed(.notUnderstood) = step(200, "<html>") else { return #expect(Bool(false)) }
        guard case .failed(.notUnderstood) = step(200, "{}", at: nil) else { return #expect(Bool(false)) }
        // An object without what the rule needs is quarantined like an event.
        guard let events = step(200, #"{"id":"sub_1","livemode":true,"status":"active"}"#).events else {
            return #expect(Bool(false))
        }
        #expect(events.first?.isQuarantined == true)
    }
}
