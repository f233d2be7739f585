internal import Foundation
internal import TestSupport

/// An issuer of user tokens, with keys that can be changed while a gateway runs.
final class TestIssuer: Sendable {
    static let name = "https://id.example.com"
    static let secret = "a secret of the tests that is long enough"

    private struct State {
        var keys: [(kid: String, key: SigningKey)]
        var isDown = false
        var fetches = 0
    }

    private let state: Locked<State>
    private let server: LoopbackServer

    init(_ kind: SigningKey.Kind = .rsa) throws {
        let state = Locked(State(keys: [(kid: "first", key: SigningKey(kind))]))
        self.state = state
        server = try LoopbackServer { peer in
            while peer.readHead() != nil {
                let (status, body) = state.with { state -> (String, String) in
                    state.fetches += 1
                    guard !state.isDown else { return ("503 Service Unavailable", "{}") }
                    return (
                        "200 OK", "{\"keys\":[\(state.keys.map { $0.key.jwk(kid: $0.kid) }.joined(separator: ","))]}"
                    )
                }
                peer.write("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        }
    }

    var url: String { "http://127.0.0.1:\(server.port)/jwks.json" }
    var fetches: Int { state.with { $0.fetches } }

    func goDown() { state.with { $0.isDown = true } }

    func comeUp() { state.with { $0.isDown = false } }

    /// Another key in the place of the present one.
    func rotate(to kid: String, _ kind: SigningKey.Kind = .rsa) {
        state.with { $0.keys = [(kid: kid, key: SigningKey(kind))] }
    }

    /// `gateway.json` with this issuer, and more settings behind it.
    func config(_ algorithm: String = "RS256", entry: String = "", more: String = "") -> String {
        """
        {"jwt":[{"issuer":"\(Self.name)","audience":"app","algorithms":["\(algorithm)"],"jwks":"\(url)"\(entry)}]\(more)}
        """
    }

    /// - Parameter claims: Put in the place of the usual ones; null leaves one out.
    func token(
        _ claims: [String: JSONValue] = [:],
        algorithm: String = "RS256",
        kid: String? = nil,
        signedBy other: SigningKey? = nil
    ) -> String {
        let (known, key) = state.with { ($0.keys[0].kid, $0.keys[0].key) }
        let header = "{\"alg\":\"\(algorithm)\",\"kid\":\"\(kid ?? known)\"}"
        return (other ?? key).jws(header: header, payload: Self.payload(claims))
    }

    /// With a shared secret.
    static func shared(_ claims: [String: JSONValue] = [:], secret: String = secret, header: String? = nil) -> String {
        let signed =
            SigningKey.base64URL((header ?? "{\"alg\":\"HS256\"}").utf8) + "." + SigningKey.base64URL(payload(claims))
        let mac = SHA256Digest.hmac(key: Array(secret.utf8), Array(signed.utf8))
        return signed + "." + SigningKey.base64URL(mac)
    }

    static func payload(_ claims: [String: JSONValue]) -> [UInt8] {
        let now = Clock.millis / 1000
        var all: [String: JSONValue] = [
            "iss": .string(name), "aud": "app", "sub": "u1", "iat": .integer(now), "exp": .integer(now + 600),
        ]
        for (name, value) in claims { all[name] = value == .null ? nil : value }
        return Array(JSONValue.object(JSONObject(all.map { (key: $0.key, value: $0.value) })).compact.utf8)
    }
}
