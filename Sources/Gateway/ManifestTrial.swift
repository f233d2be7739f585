internal import Entitlements
internal import Foundation
internal import Platform
internal import ProviderKit

/// What a manifest makes of one delivery, told step by step by the engine that the gateway runs.
public struct ManifestTrial: Sendable {
    public struct Line: Sendable {
        public var step: String
        public var text: String
    }

    public private(set) var lines: [Line] = []
    /// Whether the manifest works, and the delivery, where there is one, would be believed and understood.
    public private(set) var isFine = true

    /// Reads a manifest and, where there is a body, delivers it: nothing is stored or sent.
    ///
    /// - Parameters:
    ///   - file: The manifest.
    ///   - body: Path of the body, byte for byte as it was delivered.
    ///   - headers: Lines such as `X-Signature: 5d41…`.
    ///   - moment: When it is delivered, in RFC 3339; nil is now.
    /// - Throws: A manifest that cannot work, a body that cannot be read, a header or a time that is none.
    public init(
        manifest file: String,
        body: String?,
        headers: [String],
        at moment: String?,
        _ configuration: GatewayConfiguration
    ) throws(ConfigurationError) {
        let manifest = try ManifestFolder.manifest(file)
        let secrets = try configuration.environment.list(manifest.secretVariable)
        add(
            "manifest",
            "\(manifest.title): \(manifest.rules.count) rules, webhooks at /v1/webhooks/\(manifest.provider.name)"
        )
        if secrets.isEmpty {
            add("secret", "\(manifest.secretVariable) is not set")
        } else if !secrets.allSatisfy(manifest.check.canUse) {
            add("secret", "\(manifest.secretVariable) cannot be used: \(manifest.check.secretShape)")
            isFine = false
        }
        guard let body else { return }
        guard let data = FileManager.default.contents(atPath: body) else {
            throw ConfigurationError(body, "it cannot be read", hint: "--deliver names the file of a delivery's body")
        }
        var now = UnixMillis(wallClockMillis())
        if let moment {
            guard let time = UnixMillis(rfc3339: moment) else {
                throw ConfigurationError("--at", "this is no time", hint: "such as 2027-01-01T00:00:00Z")
            }
            now = time
        }
        let read = try Self.headers(headers)
        let delivery = WebhookDelivery(body: [UInt8](data)) { read[$0.lowercased()] }
        let adapter = ManifestAdapter(manifest: manifest, secrets: secrets)
        let trace = ManifestTrace()
        let (event, isBelieved) = adapter.explain(delivery, now: now, into: trace)
        for note in trace.notes { add(note.step.rawValue, note.text) }
        if !isBelieved { isFine = false }
        tell(event, of: manifest, configuration.policy, now)
        if !isBelieved { add("answer", "401: nothing would be stored") }
    }

    private mutating func add(_ step: String, _ text: String) {
        lines.append(Line(step: step, text: text))
    }

    private static func headers(_ lines: [String]) throws(ConfigurationError) -> [String: String] {
        var headers: [String: String] = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
                throw ConfigurationError("--header \(line)", "no NAME:VALUE")
            }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            headers[line[..<colon].trimmingCharacters(in: .whitespaces).lowercased()] = value
        }
        return headers
    }

    /// What the event comes to by itself: other events of the same purchase may say more.
    private mutating func tell(
        _ event: NormalizedEvent,
        of manifest: Manifest,
        _ policy: EntitlementPolicy,
        _ now: UnixMillis
    ) {
        switch event.verdict {
        case .quarantined(let reason):
            add("effect", "quarantined: \(reason)")
            isFine = false
            return
        case .observed(let reason):
            add("effect", "observed, changes nothing: \(reason)")
            return
        case .counted, nil: break
        }
        var purchases: [(reference: PurchaseReference, facts: [RecordedFact])] = []
        for effect in event.effects {
            guard case .facts(let reference, let facts) = effect else { continue }
            let recorded = facts.map { fact in
                RecordedFact(provider: manifest.provider, eventID: event.eventID, isSecondHand: false, fact: fact)
            }
            let place = purchases.firstIndex {
                !Set($0.reference.ids.map(\.id)).isDisjoint(with: reference.ids.map(\.id))
            }
            if let place {
                purchases[place].facts += recorded
            } else {
                purchases.append((reference, recorded))
            }
        }
        for purchase in purchases { tell(purchase.reference, purchase.facts, policy, now) }
    }

    private mutating func tell(
        _ reference: PurchaseReference,
        _ facts: [RecordedFact],
        _ policy: EntitlementPolicy,
        _ now: UnixMillis
    ) {
        let id = reference.ids.min { $0.rank < $1.rank }?.id.value ?? ""
        guard let outcome = MergeRule.outcome(of: facts, pastDueDays: policy.pastDueDays) else {
            add("effect", "\(id): kept, and counts when more is known of the purchase")
            return
        }
        if policy.isUnmapped(outcome) { add("effect", "\(id): unmapped, the product is not in the product map") }
        if outcome.lines.isEmpty { add("effect", "\(id): gives nothing yet") }
        for line in outcome.lines {
            let status = Gate.status(
                end: line.end,
                graceFrom: line.graceFrom,
                live: line.live,
                ended: line.ended,
                at: now
            )
            let answer = Gate.isEntitled(end: line.end, at: now) ? "entitled" : "not entitled"
            let renews = outcome.willRenew ? ", renews" : ""
            add("effect", "\(id): \(answer), \(status.name), until \(line.end?.rfc3339 ?? "ever")\(renews)")
        }
    }
}
