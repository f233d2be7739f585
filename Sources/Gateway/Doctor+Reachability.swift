internal import HTTPServer
internal import TLS

/// Who can reach the gateway, and whom it tells: addresses, TLS, and receivers of notifications.
extension Doctor {
    mutating func reachability(_ configuration: GatewayConfiguration) {
        if configuration.adminListen == configuration.listen {
            add(
                "configuration",
                .broken,
                "--listen and --admin-listen are the same address: \(configuration.listen)",
                hint: "give operators another port, or leave --admin-listen away"
            )
        }
        if let files = configuration.tls {
            certificate(files)
        } else {
            for address in [configuration.listen, configuration.adminListen].compactMap(\.self)
            where !Self.isLoopback(address) {
                add(
                    "tls",
                    .warning,
                    "\(address) speaks plain HTTP, and other machines can reach it",
                    hint:
                        "put a proxy with TLS in front and listen on 127.0.0.1, or set GATEWAY_TLS_CERTIFICATE and GATEWAY_TLS_KEY"
                )
            }
        }
        if configuration.metricsAreOpen, configuration.adminListen == nil, !Self.isLoopback(configuration.listen) {
            add(
                "configuration",
                .warning,
                "everybody who reaches \(configuration.listen) can read /metrics",
                hint: "take \"metrics\": \"open\" away, or set GATEWAY_ADMIN_LISTEN"
            )
        }
        for receiver in configuration.receivers where receiver.isWeak {
            add(
                "notify",
                .warning,
                "the secret for \(receiver.place) has fewer than 24 bytes and may be guessed",
                hint: "set it to whsec_ and the Base64 of at least 24 random bytes"
            )
        }
    }

    private mutating func certificate(_ files: TLSFiles) {
        let context: TLSContext
        do throws(ConfigurationError) {
            context = try files.read()
        } catch {
            add("tls", .broken, "\(error.place): \(error.reason)", hint: error.hint)
            return
        }
        let days = context.secondsLeft / 86_400
        let hint = "renew it, put it in the place of the old one, and send SIGHUP"
        if context.secondsLeft < 0 {
            add("tls", .broken, "\(files.certificate) is not valid any more", hint: hint)
        } else if days < TLSFiles.daysWarned {
            add("tls", .warning, "\(files.certificate) ends in \(days) days", hint: hint)
        } else {
            add("tls", .ok, "\(files.certificate) is valid for \(days) more days, and the key is its own")
        }
    }

    private static func isLoopback(_ address: String) -> Bool {
        address.hasPrefix("127.") || address.hasPrefix("[::1]") || address.hasPrefix("localhost:")
    }
}
