internal import Entitlements
internal import Platform
internal import SQLStorage

/// What a command needs to speak to the gateway that this configuration starts.
extension GatewayConfiguration {
    /// Where administrators call: `http://127.0.0.1:8080`. An address that stands for every one is called on this machine.
    public var adminURL: String { url(of: adminListen ?? listen) }

    /// Where everyone else calls.
    public var publicURL: String { url(of: listen) }

    private func url(of address: String) -> String {
        var address = address
        for (every, own) in [("0.0.0.0:", "127.0.0.1:"), ("[::]:", "[::1]:")] where address.hasPrefix(every) {
            address = own + address.dropFirst(every.count)
        }
        let isPlain = environment["GATEWAY_TLS_CERTIFICATE"] == nil
        return (isPlain ? "http://" : "https://") + address
    }

    /// The first of `GATEWAY_ADMIN_KEY`; nil when it is not set.
    ///
    /// - Throws: For a list with an empty part.
    public var adminKey: String? {
        get throws(ConfigurationError) { try environment.list("GATEWAY_ADMIN_KEY").first }
    }

    /// Where the first start has written the keys it made.
    public var keyFile: String { KeyStore.file(beside: location.besides) }

    /// The database as it may be shown: without a password.
    public var databaseName: String { location.name }
}

/// Until when a grant lasts, as the API takes it.
public struct GrantTerm: Sendable {
    /// RFC 3339; nil is for life.
    public var until: String?

    public static let forLife = GrantTerm(until: nil)

    private init(until: String?) {
        self.until = until
    }

    /// Nil when the text is no time.
    public init?(until text: String) {
        guard let moment = UnixMillis(rfc3339: text) else { return nil }
        until = moment.rfc3339
    }

    /// So many days of 24 hours from now.
    public init(days: Int) {
        until = UnixMillis(wallClockMillis()).adding(days: days).rfc3339
    }
}
