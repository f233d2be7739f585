internal import Entitlements
internal import Platform
internal import Synchronization

/// Everything the gateway measures of itself, shared by its threads for as long as it runs.
final class Measurements: Sendable {
    /// One for each loop.
    let requests: [RequestMeasurements]
    let startedAt = UnixMillis(wallClockMillis())

    /// Seconds since 1970 at which the certificate ends; 0 where no TLS is spoken.
    private let certificateSeconds = Gauge()

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

    /// When the TLS certificate ends; nil where no TLS is spoken.
    var certificateEnd: UnixMillis? {
        let seconds = certificateSeconds.value
        return seconds == 0 ? nil : UnixMillis(Int64(seconds) * 1000)
    }

    /// - Parameter secondsLeft: Until the certificate that is in use from now on ends.
    func setCertificate(secondsLeft: Int64) {
        certificateSeconds.set(Int(wallClockMillis() / 1000 + secondsLeft))
    }
}
