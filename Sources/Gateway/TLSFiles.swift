internal import Platform
internal import TLS

/// The certificate and the key of `--tls-certificate` and `--tls-key`.
public struct TLSFiles: Sendable, Equatable {
    /// The server's certificate and those between it and the root, in PEM form.
    public var certificate: String
    /// Its private key in PEM form, not encrypted.
    public var key: String

    /// Below this many days the start and each renewal say how many are left.
    static let daysWarned: Int64 = 14

    /// Nil when neither is named.
    ///
    /// - Throws: When one is named without the other.
    init?(certificate: String?, key: String?) throws(ConfigurationError) {
        if certificate == nil && key == nil { return nil }
        guard let certificate else {
            throw ConfigurationError(
                "--tls-certificate (GATEWAY_TLS_CERTIFICATE)",
                "it is not set, and --tls-key is",
                hint: "name both to speak TLS, neither for plain HTTP behind a proxy"
            )
        }
        guard let key else {
            throw ConfigurationError(
                "--tls-key (GATEWAY_TLS_KEY)",
                "it is not set, and --tls-certificate is",
                hint: "name both to speak TLS, neither for plain HTTP behind a proxy"
            )
        }
        self.certificate = certificate
        self.key = key
    }

    /// Reads both files.
    func read() throws(ConfigurationError) -> TLSContext {
        do throws(TLSError) {
            return try TLSContext(certificate: certificate, key: key)
        } catch {
            let flag = error.part == .certificate ? "--tls-certificate" : "--tls-key"
            throw ConfigurationError("\(flag) \(error.file)", error.reason, hint: error.hint)
        }
    }

    /// Reads both files, and says so when the certificate ends soon or has ended.
    func load() throws(ConfigurationError) -> TLSContext {
        let context = try read()
        let days = context.secondsLeft / 86_400
        if context.secondsLeft < 0 {
            Log.error("the TLS certificate is not valid any more", ("file", .string(certificate)))
        } else if days < Self.daysWarned {
            Log.warning("the TLS certificate ends soon", ("file", .string(certificate)), ("days_left", .integer(days)))
        }
        return context
    }
}
