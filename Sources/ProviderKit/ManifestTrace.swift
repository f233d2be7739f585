public import Entitlements

/// What the engine found in one delivery, in the order in which it looked: for the person who writes a manifest.
///
/// Filled by the engine itself while it works, so that it can tell nothing but what the gateway would do.
public final class ManifestTrace {
    public enum Step: String, Sendable {
        case signature, id, type, environment, time, rule, user, customer, purchase, status, end, money, effect
    }

    public struct Note: Hashable, Sendable {
        public var step: Step
        public var text: String
    }

    public private(set) var notes: [Note] = []

    public init() {}

    func note(_ step: Step, _ text: String) {
        notes.append(Note(step: step, text: text))
    }
}

extension ManifestAdapter {
    /// What a delivery would do, told step by step; the signature is checked against the adapter's secrets, and the rest is told
    /// whatever came of that.
    ///
    /// - Returns: What the delivery says, and whether it would be believed.
    public func explain(
        _ delivery: WebhookDelivery,
        now: UnixMillis,
        into trace: ManifestTrace
    ) -> (event: NormalizedEvent, isBelieved: Bool) {
        var isBelieved = false
        do throws(VerificationFailure) {
            _ = try verify(delivery, now: now)
            isBelieved = true
            trace.note(.signature, "believed")
        } catch {
            trace.note(.signature, "refused with 401: " + reason(error, delivery))
        }
        var signedID: String?
        if case .signature(let scheme) = manifest.check { signedID = scheme.idHeader.flatMap(delivery.header) }
        let verified = VerifiedDelivery(verified: delivery.body, eventID: signedID)
        return (normalize(verified, trace: trace), isBelieved)
    }

    private func reason(_ failure: VerificationFailure, _ delivery: WebhookDelivery) -> String {
        let needed: [String]
        switch manifest.check {
        case .basic: needed = ["Authorization"]
        case .signature(let scheme):
            needed = [scheme.header, scheme.timestampHeader, scheme.idHeader].compactMap(\.self)
        }
        switch failure {
        case .unsigned:
            let missing = needed.filter { delivery.header($0) == nil }
            return missing.isEmpty
                ? "\(needed.joined(separator: ", ")) cannot be read as the manifest says"
                : "no header \(missing.joined(separator: ", "))"
        case .badSignature: return "no secret that is set gives what \(needed[0]) says"
        case .stale: return "the time of the signature is too far from now"
        }
    }
}

extension ManifestReading {
    /// Where a value was found and what stands there.
    func found(_ value: ManifestValue) -> String {
        guard let found = first(value) else {
            let places = value.places.map(\.text).joined(separator: " or ")
            return "nothing at " + (value.each.map { "\(places) in \($0.text)" } ?? places)
        }
        let place = value.places.first { $0.first(in: document, element: element) != nil } ?? value.places.first
        return "\((place ?? value.each)?.text ?? "") = \(String(decoding: found.json.bytes, as: UTF8.self).prefix(120))"
    }
}
