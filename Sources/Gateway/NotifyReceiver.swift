internal import Crypto
internal import Foundation
internal import ProviderKit

/// One of the seller's own systems that is told of changed answers (contract section 8).
public struct NotifyReceiver: Hashable, Sendable {
    /// Stands for the receiver in the database: the same for the same URL.
    let id: String
    let url: URL
    /// Every secret that is valid now; a message is signed with each.
    private let secrets: [[UInt8]]

    /// Where it is, for people and the log: without a query, which may hold a secret.
    var place: String {
        (url.scheme ?? "") + "://" + (url.host ?? "") + (url.port.map { ":\($0)" } ?? "") + url.path
    }

    /// More receivers than any seller has; each has a thread.
    static let countMax = 16
    /// Standard Webhooks asks for 24 to 64 random bytes.
    private static let secretBytesMin = 24
    private static let prefix = "whsec_"

    /// Reads the `notify` list of `gateway.json`.
    ///
    /// - Parameter file: The file's name, for what is wrong.
    static func list(
        _ value: JSON,
        file: String,
        _ environment: EnvironmentVariables
    ) throws(ConfigurationError) -> [NotifyReceiver] {
        guard let list = value.array, list.count <= countMax else {
            throw ConfigurationError("\(file) /notify", "expected a list of at most \(countMax) receivers")
        }
        var receivers: [NotifyReceiver] = []
        for (index, element) in list.enumerated() {
            let receiver = try NotifyReceiver(element, "\(file) /notify/\(index)", environment)
            guard !receivers.contains(where: { $0.id == receiver.id }) else {
                throw ConfigurationError("\(file) /notify/\(index)/url", "this receiver is named twice")
            }
            receivers.append(receiver)
        }
        return receivers
    }

    private init(_ value: JSON, _ place: String, _ environment: EnvironmentVariables) throws(ConfigurationError) {
        guard let members = value.object else {
            throw ConfigurationError(place, "expected an object with url and secret_env")
        }
        for key in members.keys.sorted() where key != "url" && key != "secret_env" {
            throw ConfigurationError("\(place)/\(key)", "no such setting", hint: "a receiver has url and secret_env")
        }
        guard let text = members["url"]?.string, let url = URL(string: text), let host = url.host, !host.isEmpty else {
            throw ConfigurationError("\(place)/url", "expected a URL such as https://app.example.com/hooks")
        }
        let isLoopback = ["127.0.0.1", "::1", "[::1]", "localhost"].contains(host)
        guard url.scheme == "https" || (url.scheme == "http" && isLoopback) else {
            throw ConfigurationError(
                "\(place)/url",
                "it is not https",
                hint: "only a receiver on this machine (127.0.0.1, ::1, localhost) may be http"
            )
        }
        guard url.user == nil, url.password == nil else {
            throw ConfigurationError(
                "\(place)/url",
                "a name or password stands in it",
                hint: "the signature tells the receiver who is calling"
            )
        }
        guard let name = members["secret_env"]?.string, !name.isEmpty else {
            throw ConfigurationError(
                "\(place)/secret_env",
                "expected the name of an environment variable",
                hint: "the secret itself never stands in the file"
            )
        }
        let texts = try environment.list(name)
        guard !texts.isEmpty else {
            throw ConfigurationError(
                name,
                "it is not set, and \(place)/secret_env names it",
                hint: "\(name)=whsec_$(openssl rand -base64 32)"
            )
        }
        var secrets: [[UInt8]] = []
        for text in texts { secrets.append(try Self.secret(text, name)) }
        self.url = url
        self.secrets = secrets
        id = "receiver_" + Digest.sha256Hex(Array(text.utf8)).prefix(16)
    }

    private static func secret(_ text: String, _ name: String) throws(ConfigurationError) -> [UInt8] {
        let encoded = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
        guard let bytes = Base64.decode(encoded), !bytes.isEmpty else {
            throw ConfigurationError(
                name,
                "it is no base64, which the secret of a notification is",
                hint: "\(name)=whsec_$(openssl rand -base64 32)"
            )
        }
        return bytes
    }

    /// Whether a secret is shorter than the standard asks for.
    var isWeak: Bool { secrets.contains { $0.count < Self.secretBytesMin } }

    /// `webhook-signature` of Standard Webhooks: for each secret the HMAC-SHA-256 of id, time and body.
    func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
        let signed = Array("\(id).\(timestamp).".utf8) + body
        return secrets.map { "v1," + Base64.encode(Digest.hmacSHA256(key: $0, message: signed)) }
            .joined(separator: " ")
    }
}
