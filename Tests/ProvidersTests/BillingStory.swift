internal import Entitlements
internal import Providers
internal import Testing

@testable internal import ProviderKit

/// A few deliveries of one web-billing provider about one purchase, made of its samples, and what they must come to.
struct BillingStory: Sendable, CustomTestStringConvertible {
    /// A sample with some values changed: JSON pointers and the JSON that stands there.
    struct Telling: Sendable {
        var sample: String
        var changes: [String: String]

        init(_ sample: String, _ changes: [String: String] = [:]) {
            self.sample = sample
            self.changes = changes
        }
    }

    var sentence: String
    var provider: String
    var tellings: [Telling]
    /// Product or price id → entitlement; empty: every product gives `pro`.
    var map: [String: String] = [:]
    /// Each entitlement's end, as an answer writes it; "never" for life. What is not named must not be there.
    var ends: [String: String]
    var status: Status?
    /// The status of some entitlements from their ends on.
    var statuses: [String: Status] = [:]

    var testDescription: String { "\(provider): \(sentence)" }

    /// The document of one telling.
    static func document(_ provider: String, _ telling: Telling) throws -> JSON {
        let body = try #require(BuiltInProviders.samples(of: provider)[telling.sample], "\(telling.sample)")
        var document = try #require(JSON(body))
        for (place, value) in telling.changes.sorted(by: { $0.key < $1.key }) {
            let pointer = try #require(JSONPointer(place))
            document = document.setting(try #require(JSON(Array(value.utf8)), "\(value)"), at: pointer.path)
        }
        return document
    }

    static func events(_ provider: String, _ tellings: [Telling]) throws -> [NormalizedEvent] {
        let adapter = try KnownProvider.adapter(provider)
        var events: [NormalizedEvent] = []
        for (index, telling) in tellings.enumerated() {
            let body = try document(provider, telling).bytes
            events.append(adapter.normalize(VerifiedDelivery(verified: body, eventID: "msg_\(index)")))
        }
        return events
    }

    func check() throws {
        var facts: [[RecordedFact]] = []
        for (index, event) in try Self.events(provider, tellings).enumerated() {
            #expect(!event.isQuarantined, "\(sentence), delivery \(index): \(String(describing: event.verdict))")
            facts.append(
                event.facts.map {
                    RecordedFact(
                        provider: ProviderID(provider),
                        eventID: event.eventID,
                        isSecondHand: false,
                        fact: $0
                    )
                }
            )
        }
        let outcome = MergeRule.outcome(of: facts.flatMap(\.self), pastDueDays: 14)
        var policy = EntitlementPolicy()
        if !map.isEmpty {
            policy.products = [ProviderID(provider): map.mapValues { EntitlementPolicy.Grant(entitlements: [$0]) }]
        }
        let row = policy.elect(outcome.map { [Candidate(purchaseID: "p", outcome: $0)] } ?? [])
        var found: [String: String] = [:]
        for entry in row.entitlements { found[entry.name] = entry.end.map(\.rfc3339) ?? "never" }
        #expect(found == ends.mapValues { $0.count == 10 ? $0 + "T09:00:00.000Z" : $0 }, "\(sentence)")
        for (name, status) in statuses {
            let entry = row.entitlements.first { $0.name == name }
            #expect(entry?.ended == status, "\(sentence): \(name)")
            #expect((entry?.graceFrom != nil) == (status == .billingRetry), "\(sentence): \(name)")
        }
        if let status { #expect(row.entitlements.map(\.ended) == [status], "\(sentence)") }
        for order in Self.permutations(of: facts) {
            let again = MergeRule.outcome(of: order.flatMap(\.self), pastDueDays: 14)
            #expect(again == outcome, "\(sentence), in another order")
        }
    }

    private static func permutations<Element>(of elements: [Element]) -> [[Element]] {
        guard elements.count > 1 else { return [elements] }
        return elements.indices.flatMap { index -> [[Element]] in
            var rest = elements
            let first = rest.remove(at: index)
            return permutations(of: rest).map { [first] + $0 }
        }
    }
}

extension NormalizedEvent {
    var facts: [Fact] {
        effects.flatMap { effect -> [Fact] in
            if case .facts(_, let facts) = effect { facts } else { [] }
        }
    }
}
