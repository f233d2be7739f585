internal import Entitlements
internal import ProviderKit
internal import Providers

extension FuzzTarget {
    /// `adapter-stripe` and so on: every adapter that comes with the program.
    static let adapters = Adapters.all.map { adapter in
        let known = Adapters.Known(adapter)
        return FuzzTarget(name: "adapter-\(adapter.provider.name)") { known.check($0) }
    }
}

private enum Adapters {
    static let all: [any ProviderAdapter] = {
        var adapters: [any ProviderAdapter] = [
            RevenueCatAdapter(secrets: .init(authorization: "a", signing: ["s"])),
            GooglePlayAdapter(package: "com.example.app"),
        ]
        let app = AppStoreVerifier.App(bundleID: "com.example.app", appAppleID: 1_234_567_890)
        if let root = try? AppleRoot.certificate(), let verifier = try? AppStoreVerifier(app: app, roots: [root]) {
            adapters.append(AppStoreAdapter(verifier: verifier))
        }
        for manifest in (try? BuiltInProviders.manifests()) ?? [] {
            let secret = manifest.check == .basic ? "user:password" : "whsec_c2VjcmV0"
            adapters.append(ManifestAdapter(manifest: manifest, secrets: [secret]))
        }
        return adapters
    }()

    struct Known: Sendable {
        let adapter: any ProviderAdapter
        /// Sample events, and every place in each of them.
        let samples: [(document: JSON, places: [[Step]])]

        init(_ adapter: any ProviderAdapter) {
            self.adapter = adapter
            samples = BuiltInProviders.samples(of: adapter.provider.name).sorted { $0.key < $1.key }.compactMap {
                JSON($0.value).map { ($0, Adapters.places(in: $0)) }
            }
        }

        /// An input that begins like an object is a body; any other says what is changed in which sample.
        func check(_ input: [UInt8]) {
            guard let first = input.first else { return }
            if first == UInt8(ascii: "{") || samples.isEmpty {
                Adapters.check(input, adapter)
                return
            }
            var choices = Choices(input)
            let sample = samples[choices.index(samples.count)]
            var document = sample.document
            while !choices.isEmpty {
                let place = sample.places[choices.index(sample.places.count)]
                document = Adapters.replacing(place[...], in: document, by: Adapters.value(&choices, sample.document))
            }
            Adapters.check(document.bytes, adapter)
        }
    }

    // MARK: Changes of a sample

    enum Step: Sendable { case key(String), index(Int) }

    private static func places(in value: JSON, _ path: [Step] = []) -> [[Step]] {
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

    private static func replacing(_ path: ArraySlice<Step>, in value: JSON, by new: JSON?) -> JSON {
        guard let step = path.first else { return new ?? .null }
        let rest = path.dropFirst()
        switch (step, value) {
        case (.key(let key), .object(var members)):
            members[key] = rest.isEmpty && new == nil ? nil : replacing(rest, in: members[key] ?? .null, by: new)
            return .object(members)
        case (.index(let index), .array(var elements)) where elements.indices.contains(index):
            elements[index] = replacing(rest, in: elements[index], by: new)
            return .array(elements)
        default: return value
        }
    }

    private static let words = [
        "", "null", "0", "active", "canceled", "refunded", "9999-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z",
        "2027-02-29T00:00:00+14:00", "1e999", "-9223372036854775808", "18446744073709551616", "$RCAnonymousID:1", "a/b",
        "ann@example.com", "+4915112345678",
    ]

    private static func value(_ choices: inout Choices, _ sample: JSON) -> JSON? {
        switch choices.byte() % 16 {
        case 0: nil
        case 1: .null
        case 2: .bool(choices.byte() % 2 == 0)
        case 3: .integer(Int64(choices.byte()) - 128)
        case 4: .integer(choices.bytes(8).reduce(0) { $0 << 8 | Int64($1) })
        case 5: .number(Double(choices.byte() << 8 | choices.byte()) / 64 - 512)
        case 6: .integer([.min, .max, 253_402_300_799_999, 253_402_300_800][choices.byte() % 4])
        case 7: .array([])
        case 8: .object([:])
        case 9: .array([.string("x"), .null, .object(["id": .integer(3)])])
        case 10: .object(["id": .string("x"), "user_id": .string("u2")])
        case 11, 12: .string(words[choices.byte() % words.count])
        case 13: .string(String(decoding: choices.bytes(choices.byte() % 24), as: UTF8.self))
        case 14: .string(String(repeating: "9", count: choices.byte() * 16))
        default: sample
        }
    }

    // MARK: Properties

    private static func check(_ body: [UInt8], _ adapter: any ProviderAdapter) {
        let delivery = VerifiedDelivery(verified: body, eventID: "message")
        // What an API has said the gateway itself puts in words, with the id that it asked under.
        if adapter is GooglePlayAdapter, JSON(body)?["google_play_reading"].map({ $0["id"]?.string ?? "" }) == "" {
            return
        }
        let event = adapter.normalize(delivery)
        let second = adapter.normalize(delivery)
        require(event.effects == second.effects && event.verdict == second.verdict, "an event says the same twice")
        require(event.eventID == second.eventID && !event.eventID.isEmpty, "an event has one id")
        require(!event.effects.isEmpty || event.verdict != nil, "what says nothing has a reason")
        if case .quarantined(let reason) = event.verdict {
            require(event.effects.isEmpty && !reason.isEmpty, "what cannot be understood says nothing, and why")
        }
        checkMeaning(event, adapter.provider)
        checkRedaction(event, delivery, adapter)
    }

    /// Nobody is entitled without an end unless they paid for good, and the rule takes every fact.
    private static func checkMeaning(_ event: NormalizedEvent, _ provider: ProviderID) {
        var recorded: [RecordedFact] = []
        for case .facts(let reference, let facts) in event.effects {
            require(!reference.ids.isEmpty, "facts are about a purchase")
            for fact in facts {
                recorded.append(
                    RecordedFact(
                        provider: provider,
                        eventID: event.eventID,
                        isSecondHand: reference.isSecondHand,
                        fact: fact
                    )
                )
                if case .owner(let statement) = fact {
                    for user in statement.users { require(UserID(user.value) == user, "an owner can be a user") }
                }
                guard case .state(let state) = fact, !state.isOneTime else { continue }
                let gives = state.condition.severity < 5 && state.condition != .incomplete
                require(
                    !gives || (!state.items.isEmpty && state.items.allSatisfy { $0.end != nil }),
                    "what is paid again and again has an end"
                )
            }
        }
        let outcome = MergeRule.outcome(of: recorded, pastDueDays: 14)
        require(outcome == MergeRule.outcome(of: recorded.reversed(), pastDueDays: 14), "order makes no difference")
    }

    /// What is kept of a body can be read again and means the same, and nothing more can be taken out of it.
    private static func checkRedaction(
        _ event: NormalizedEvent,
        _ delivery: VerifiedDelivery,
        _ adapter: any ProviderAdapter
    ) {
        guard let redacted = adapter.redact(delivery) else {
            return require(JSON(delivery.body) == nil, "a document can be redacted")
        }
        let kept = VerifiedDelivery(verified: redacted, eventID: delivery.eventID)
        guard !hasExponent(delivery.body), !hasExponent(redacted) else { return }
        require(adapter.redact(kept) == redacted, "what is redacted stays as it is")
        let text = String(decoding: delivery.body, as: UTF8.self)
        // An id that looks like somebody's address is not kept, whatever it was for.
        guard !text.contains("@"), !text.contains("%40"), !text.contains("\u{FF20}"), !text.contains("+"),
            !text.contains("\\u")
        else { return }
        let again = adapter.normalize(kept)
        require(again.effects == event.effects, "what is redacted means the same")
        require(
            kind(again.verdict) == kind(event.verdict) && again.type == event.type,
            "what is redacted is the same event"
        )
        require(again.occurredAt == event.occurredAt, "what is redacted has the same time")
    }

    /// A reason may count bytes, of which there are fewer then.
    private static func kind(_ verdict: NormalizedEvent.Verdict?) -> Int {
        switch verdict {
        case nil: 0
        case .observed: 1
        case .quarantined: 2
        case .counted: 3
        }
    }
}
