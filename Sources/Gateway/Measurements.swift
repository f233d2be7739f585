internal import Entitlements
internal import Platform
internal import Synchronization

/// Everything the gateway measures of itself, shared by its threads for as long as it runs.
final class Measurements: Sendable {
    /// One for each loop.
    let requests: [RequestMeasurements]
    let startedAt = UnixMillis(wallClockMillis())

    private struct State {
        var webhooks: [String: WebhookMeasurements] = [:]
        var connections: @Sendable () -> Int = { 0 }
    }

    private let state = Mutex(State())

    init(loops: Int) {
        requests = (0..<loops).map { _ in RequestMeasurements() }
    }

    /// The measurements of these providers; a provider that is turned off and on again goes on counting.
    func webhooks(of providers: some Sequence<String>) -> [String: WebhookMeasurements] {
        state.withLock { state in
            for provider in providers where state.webhooks[provider] == nil {
                state.webhooks[provider] = WebhookMeasurements()
            }
            return state.webhooks
        }
    }

    var allWebhooks: [String: WebhookMeasurements] { state.withLock(\.webhooks) }

    /// How connections are counted, known once the server runs.
    func setConnections(_ count: @escaping @Sendable () -> Int) {
        state.withLock { $0.connections = count }
    }

    var openConnections: Int { state.withLock(\.connections)() }
}
