internal import Entitlements
internal import ProviderKit

extension APIStep {
    /// The events of a reading that came to its end; nil for one that did not.
    var events: [NormalizedEvent]? {
        guard case .done(let reading) = self else { return nil }
        return reading.events.map(\.event)
    }
}
