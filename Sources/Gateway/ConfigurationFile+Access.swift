internal import Entitlements
internal import Foundation
internal import Licensing
internal import ProviderKit

/// The settings of `gateway.json` that say who may ask: issuers of user tokens, licences, web pages, proxies.
extension ConfigurationFile.Reader {
    /// Longest name of an issuer, audience, claim or cookie.
    private static let textBytesMax = 2048

    func access(
        _ key: String,
        _ value: JSON,
        _ environment: EnvironmentVariables,
        into access: inout AccessSettings
    ) throws(ConfigurationError) {
        let pointer = "/\(key)"
        switch key {
        case "jwt":
            guard let list = value.array else { throw fail(pointer, "expected a list of issuers") }
            access.issuers = []
            for (index, entry) in list.enumerated() {
                access.issuers.append(try issuer(entry, "\(pointer)/\(index)", environment))
            }
        case "licenses": access.licenses = try licenses(value, pointer)
        case "cors":
            guard let list = value.array else { throw fail(pointer, "expected a list of origins") }
            access.origins = []
            for (index, entry) in list.enumerated() { access.origins.append(try origin(entry, "\(pointer)/\(index)")) }
        case "trusted_proxies":
            guard let list = value.array else { throw fail(pointer, "expected a list of addresses") }
            access.trustedProxies = []
            for (index, entry) in list.enumerated() {
                guard let range = entry.string.flatMap({ AddressRange($0) }) else {
                    throw fail("\(pointer)/\(index)", "expected an IP address or a range such as 10.0.0.0/8")
                }
                access.trustedProxies.append(range)
            }
        case "public_url":
            guard let text = value.string, let url = URLComponents(string: text),
                ["https", "http"].contains(url.scheme),
                url.host?.isEmpty == false
            else { throw fail(pointer, "expected a URL such as https://entitlements.example.com") }
            access.publicURL = text
        case "claim_by_email":
            guard let isOn = value.bool else { throw fail(pointer, "expected true or false") }
            access.claimsByEmail = isOn
        default: throw fail(pointer, "no such setting")
        }
    }

    // MARK: - Issuers

    private func issuer(
        _ value: JSON,
        _ pointer: String,
        _ environment: EnvironmentVariables
    ) throws(ConfigurationError) -> TokenIssuer {
        guard let members = value.object else { throw fail(pointer, "expected an object") }
        let known: Set = [
            "issuer", "audience", "algorithms", "jwks", "secret_env", "user_id_claim", "user_id_prefix", "cookie",
            "leeway_seconds",
        ]
        for name in members.keys.sorted() where !known.contains(name) {
            throw fail(
                "\(pointer)/\(name)",
                "no such setting",
                hint: "known are \(known.sorted().joined(separator: ", "))"
            )
        }
        guard let algorithmList = members["algorithms"]?.array, !algorithmList.isEmpty else {
            throw fail("\(pointer)/algorithms", "expected a list such as [\"RS256\"]")
        }
        var algorithms: Set<TokenIssuer.Algorithm> = []
        for (index, entry) in algorithmList.enumerated() {
            guard let algorithm = entry.string.flatMap(TokenIssuer.Algorithm.init(rawValue:)) else {
                throw fail("\(pointer)/algorithms/\(index)", "expected HS256, RS256, ES256 or EdDSA")
            }
            algorithms.insert(algorithm)
        }
        var issuer = TokenIssuer(
            issuer: try text(members["issuer"], "\(pointer)/issuer"),
            audiences: try audiences(members["audience"], "\(pointer)/audience"),
            algorithms: algorithms
        )
        if let claim = members["user_id_claim"] { issuer.userIDClaim = try text(claim, "\(pointer)/user_id_claim") }
        if let prefix = members["user_id_prefix"] {
            issuer.userIDPrefix = try text(prefix, "\(pointer)/user_id_prefix")
        }
        if let cookie = members["cookie"] { issuer.cookie = try text(cookie, "\(pointer)/cookie") }
        if let leeway = members["leeway_seconds"] {
            issuer.leewaySeconds = Int64(try number(leeway, 0...300, "\(pointer)/leeway_seconds"))
        }
        if algorithms.contains(.hs256) {
            issuer.secrets = try secrets(members["secret_env"], pointer, environment)
        } else if members["secret_env"] != nil {
            throw fail("\(pointer)/secret_env", "a secret is for HS256, which is not among the algorithms")
        }
        if algorithms != [.hs256] {
            issuer.keys = try keySource(members["jwks"], "\(pointer)/jwks")
        } else if members["jwks"] != nil {
            throw fail(
                "\(pointer)/jwks",
                "published keys are for RS256, ES256 or EdDSA, which are not among the algorithms"
            )
        }
        return issuer
    }

    private func audiences(_ value: JSON?, _ pointer: String) throws(ConfigurationError) -> [String] {
        guard let list = value?.array else { return [try text(value, pointer)] }
        guard !list.isEmpty else { throw fail(pointer, "expected an audience") }
        var audiences: [String] = []
        for (index, entry) in list.enumerated() { audiences.append(try text(entry, "\(pointer)/\(index)")) }
        return audiences
    }

    private func secrets(
        _ name: JSON?,
        _ pointer: String,
        _ environment: EnvironmentVariables
    ) throws(ConfigurationError) -> [[UInt8]] {
        let name = try text(name, "\(pointer)/secret_env")
        let secrets = try environment.list(name)
        guard !secrets.isEmpty else {
            throw ConfigurationError(name, "not set, and \(pointer)/secret_env needs it", hint: "put the secret there")
        }
        return secrets.map { Array($0.utf8) }
    }

    private func keySource(_ value: JSON?, _ pointer: String) throws(ConfigurationError) -> TokenIssuer.KeySource {
        let text = try text(value, pointer)
        if let url = URLComponents(string: text), let scheme = url.scheme, text.contains("://") {
            let isLoopback = ["127.0.0.1", "::1", "[::1]", "localhost"].contains(url.host ?? "")
            guard scheme == "https" || scheme == "http" && isLoopback, url.host?.isEmpty == false else {
                throw fail(
                    pointer,
                    "expected an https URL, http on this machine, or a file",
                    hint: "keys must not be altered on the way"
                )
            }
            return .url(text)
        }
        guard FileManager.default.isReadableFile(atPath: text) else { throw fail(pointer, "\(text): no such file") }
        return .file(text)
    }

    // MARK: - Licences

    private func licenses(_ value: JSON, _ pointer: String) throws(ConfigurationError) -> LicenseSettings {
        guard let members = value.object else { throw fail(pointer, "expected an object") }
        var settings = LicenseSettings()
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            let pointer = "\(pointer)/\(name)"
            switch name {
            case "max_devices": settings.maxDevices = try number(value, 1...10_000, pointer)
            case "offline_days": settings.offlineDays = try number(value, 1...3650, pointer)
            case "deactivations_per_month": settings.deactivationsPerMonth = try number(value, 0...10_000, pointer)
            case "release_after_days":
                settings.releaseAfterDays = value.isNull ? nil : try number(value, 1...3650, pointer)
            case "issue_on": settings.issueOn = Set(try texts(value, pointer).map { ProviderID($0) })
            default: throw fail(pointer, "no such setting")
            }
        }
        return settings
    }

    // MARK: - Parts

    private func origin(_ value: JSON, _ pointer: String) throws(ConfigurationError) -> String {
        let text = try text(value, pointer)
        if text == "*" { return text }
        guard let url = URLComponents(string: text), url.scheme != nil, url.host?.isEmpty == false, url.path.isEmpty,
            url.query == nil
        else { throw fail(pointer, "expected an origin such as https://app.example.com, without a path") }
        return text.lowercased()
    }

    private func text(_ value: JSON?, _ pointer: String) throws(ConfigurationError) -> String {
        guard let text = value?.string, !text.isEmpty, text.utf8.count <= Self.textBytesMax else {
            throw fail(pointer, "expected a text")
        }
        return text
    }

    private func number(_ value: JSON, _ range: ClosedRange<Int64>, _ pointer: String) throws(ConfigurationError) -> Int
    {
        guard let number = value.integer, range.contains(number) else {
            throw fail(pointer, "expected a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return Int(number)
    }
}
