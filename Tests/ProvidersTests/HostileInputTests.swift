internal import Entitlements
internal import ProviderKit
internal import Testing

@testable internal import Providers

/// Authentic deliveries with one thing wrong in them: never a trap, never for life, never a user who is nobody.
struct HostileInputTests {
    enum Place { case key(String), index(Int) }

    /// Every place in a document.
    private static func places(in value: JSON, _ path: [Place] = []) -> [[Place]] {
        switch value {
        case .object(let members):
            members.sorted { $0.key < $1.key }.flatMap {
                [path + [.key($0.key)]] + places(in: $0.value, path + [.key($0.key)])
            }
        case .array(let elements):
            elements.enumerated().flatMap {
                [path + [.index($0.offset)]] + places(in: $0.element, path + [.index($0.offset)])
            }
        default: []
        }
    }

    private static func replacing(_ path: ArraySlice<Place>, in value: JSON, by new: JSON?) -> JSON {
        guard let step = path.first else { return new ?? .null }
        let rest = path.dropFirst()
        switch (step, value) {
        case (.key(let key), .object(var members)):
            if rest.isEmpty, new == nil {
                members[key] = nil
            } else {
                members[key] = replacing(rest, in: members[key] ?? .null, by: new)
            }
            return .object(members)
        case (.index(let index), .array(var elements)):
            if rest.isEmpty, new == nil {
                elements.remove(at: index)
            } else {
                elements[index] = replacing(rest, in: elements[index], by: new)
            }
            return .array(elements)
        default: return value
        }
    }

    /// What every field is replaced by.
    private static let wrong: [JSON?] = [
        nil, .null, .integer(-7), .array([.string("x"), .null]),
        .object(["id": .integer(3), "x": .array([.object([:])])]),
        .string(String(repeating: "9", count: 2000)),
    ]

    /// What every field of some sample is replaced by, in turn.
    private static let odd: [JSON] = [
        .bool(true), .integer(.max), .number(1e300), .number(0.5), .array([]), .object([:]), .string(""),
        .string("9999-12-31T23:59:59.999Z"), .integer(.min), .integer(0),
    ]

    private static let samples: [(provider: String, name: String, body: [UInt8])] = KnownProvider.names.flatMap {
        provider in
        BuiltInProviders.samples(of: provider).sorted { $0.key < $1.key }.map { (provider, $0.key, $0.value) }
    }

    // EVIDENCE MERGE-5
    @Test("one field wrong at a time", arguments: samples.indices)
    func oneFieldWrong(_ index: Int) throws {
        let sample = Self.samples[index]
        let adapter = try KnownProvider.adapter(sample.provider)
        let document = try #require(JSON(sample.body))
        let original = adapter.normalize(VerifiedDelivery(verified: sample.body, eventID: "msg"))
        let wasOneTime = original.states.contains { $0.isOneTime }
        for (turn, path) in Self.places(in: document).enumerated() {
            // Where taking a field away changes nothing, nobody reads it: one odd value is enough there.
            let without = adapter.normalize(
                VerifiedDelivery(verified: Self.replacing(path[...], in: document, by: nil).bytes, eventID: "msg")
            )
            let isRead = without.effects != original.effects || without.verdict != original.verdict
            let odd = Self.odd[(turn + index) % Self.odd.count]
            for value in (isRead ? Self.wrong : []) + [odd] {
                let body = Self.replacing(path[...], in: document, by: value).bytes
                let event = adapter.normalize(VerifiedDelivery(verified: body, eventID: "msg"))
                let place =
                    "\(sample.provider) \(sample.name) \(path) = \(value.map { String(describing: $0).prefix(60) } ?? "gone")"
                for state in event.states {
                    let gives = state.condition.severity < 5 && state.condition != .incomplete
                    if state.isOneTime, gives, !wasOneTime { Issue.record("for life: \(place)") }
                    if !state.isOneTime, gives, state.items.isEmpty || state.items.contains(where: { $0.end == nil }) {
                        Issue.record("without an end: \(place)")
                    }
                }
                if event.users.contains(where: { UserID($0.value) != $0 }) { Issue.record("no user: \(place)") }
                if event.isQuarantined, !event.effects.isEmpty { Issue.record("quarantined with effects: \(place)") }
                _ = MergeRule.outcome(of: Self.recorded(event, adapter.provider), pastDueDays: 14)
            }
        }
    }

    private static func recorded(_ event: NormalizedEvent, _ provider: ProviderID) -> [RecordedFact] {
        event.effects.flatMap { effect -> [RecordedFact] in
            guard case .facts(let reference, let facts) = effect else { return [] }
            return facts.map {
                RecordedFact(provider: provider, eventID: event.eventID, isSecondHand: reference.isSecondHand, fact: $0)
            }
        }
    }

    @Test("words that stand for nobody name no user", arguments: KnownProvider.names)
    func blockedWords(_ provider: String) throws {
        let adapter = try KnownProvider.adapter(provider)
        let words = [
            "null", "None", "NIL", "undefined", "Unknown", "anonymous", "guest", "0", "-1", "[]", "{}",
            "[object Object]", "NaN",
            "(null)", "no_user", "unidentified", " ", ".", "..", "a\u{0}", provider == "revenuecat" ? "a/b" : "\n",
        ]
        for (name, body) in BuiltInProviders.samples(of: provider) {
            let document = try #require(JSON(body))
            let people = Set(adapter.normalize(VerifiedDelivery(verified: body, eventID: "msg")).users.map(\.value))
            guard !people.isEmpty else { continue }
            for word in words {
                // Whoever is named is named by this word now, wherever they stood.
                let changed = Self.mapTexts(document) {
                    people.contains($0.lowercased()) || people.contains($0) ? word : $0
                }
                let event = adapter.normalize(VerifiedDelivery(verified: changed.bytes, eventID: "msg"))
                #expect(event.users.isEmpty, "\(provider) \(name) \(word): \(event.users.map(\.value))")
            }
        }
    }

    private static func mapTexts(_ value: JSON, _ change: (String) -> String) -> JSON {
        switch value {
        case .string(let text): .string(change(text))
        case .array(let elements): .array(elements.map { mapTexts($0, change) })
        case .object(let members): .object(members.mapValues { mapTexts($0, change) })
        default: value
        }
    }

    @Test(
        "what is no document at all is quarantined under the digest of its bytes",
        arguments: KnownProvider.names
    )
    func noDocument(_ provider: String) throws {
        let adapter = try KnownProvider.adapter(provider)
        let bodies: [[UInt8]] = [
            [], [0], [0xff, 0xfe], Array("null".utf8), Array("[]".utf8), Array("3".utf8), Array("\"text\"".utf8),
            Array("{}".utf8),
            Array("{\"event\":[]}".utf8), Array(String(repeating: "[", count: 100_000).utf8), Array("{\"a\":1".utf8),
            Array("{\"data\":{\"object\":null},\"type\":null}".utf8),
        ]
        for body in bodies {
            let event = adapter.normalize(VerifiedDelivery(verified: body, eventID: "msg"))
            #expect(event.isQuarantined, "\(provider): \(String(decoding: body.prefix(40), as: UTF8.self))")
            #expect(event.effects.isEmpty)
        }
    }
}
