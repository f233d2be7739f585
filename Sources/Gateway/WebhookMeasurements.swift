internal import Entitlements
internal import Platform

/// What became of one provider's deliveries since the start. Any loop adds.
final class WebhookMeasurements: Sendable {
    private let outcomes = EventOutcome.allCases.map { _ in Counter() }
    /// Deliveries that were not believed, and those that could not be stored.
    let unauthorized = Counter()
    let failed = Counter()
    /// Milliseconds since 1970 of the newest delivery that was believed; 0 for none.
    private let newest = Gauge()

    func took(_ outcome: EventOutcome, at moment: UnixMillis) {
        outcomes[Int(outcome.rawValue)].add()
        newest.set(Int(moment.value))
    }

    func count(_ outcome: EventOutcome) -> Int { outcomes[Int(outcome.rawValue)].value }

    var lastDelivery: UnixMillis? { newest.value == 0 ? nil : UnixMillis(Int64(newest.value)) }
}
