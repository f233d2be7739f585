import Foundation
import TestSupport

/// An issuer of user tokens: its keys are published on a loopback port, beside Google's and the other services of a case.
final class FakeIssuer: Sendable {
    private let rsa = SigningKey(.rsa)
    private let p256 = SigningKey(.p256)
    private let server: LoopbackServer

    var address: String { "http://127.0.0.1:\(server.port)" }

    init(_ services: FakeServices, google: FakeGoogle) throws(ConformanceError) {
        let keys = "{\"keys\":[\(google.jwk),\(rsa.jwk(kid: "user-rsa")),\(p256.jwk(kid: "user-p256"))]}"
        do {
            server = try LoopbackServer { peer in
                while let head = peer.readHead() {
                    guard let request = Self.request(head, peer) else { break }
                    let answer = request.target == "/jwks.json" ? (200, keys, []) : services.answer(request)
                    let more = answer.2.map { "\($0.0): \($0.1)\r\n" }.joined()
                    peer.write(
                        "HTTP/1.1 \(answer.0) Answer\r\nContent-Type: application/json\r\nDate: \(Self.date())\r\n"
                            + "\(more)Content-Length: \(answer.1.utf8.count)\r\n\r\n\(answer.1)"
                    )
                }
            }
        } catch {
            throw .machine("no free port")
        }
    }

    private static func request(_ head: String, _ peer: LoopbackPeer) -> FakeServices.Request? {
        let lines = head.components(separatedBy: "\r\n")
        let first = lines[0].split(separator: " ").map(String.init)
        guard first.count == 3 else { return nil }
        func header(_ name: String) -> String? {
            lines.first { $0.lowercased().hasPrefix(name + ":") }
                .map { String($0.dropFirst(name.count + 1)).trimmingCharacters(in: .whitespaces) }
        }
        let count = header("content-length").flatMap { Int($0) } ?? 0
        guard let body = count == 0 ? [] : peer.read(count: count) else { return nil }
        return FakeServices.Request(
            method: first[0],
            target: first[1],
            authorization: header("authorization"),
            body: String(decoding: body, as: UTF8.self)
        )
    }

    private static func date() -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: Date())
    }

    /// A token as a case describes it. `iat` and `exp` are added; a claim of null is left out.
    func token(_ key: JSONValue, now: Int64) throws(ConformanceError) -> String {
        guard case .object(let described) = key, let algorithm = described["alg"]?.string,
            case .object(let wanted)? = described["claims"]
        else { throw .wrongCase("a user token needs alg and claims") }
        var claims = JSONObject([
            (key: "iat", value: .integer(now / 1000)), (key: "exp", value: .integer(now / 1000 + 3600)),
        ])
        for claim in wanted.members { claims[claim.key] = claim.value == .null ? nil : claim.value }
        let payload = Array(JSONValue.object(claims).compact.utf8)
        switch algorithm {
        case "RS256":
            return rsa.jws(header: #"{"alg":"RS256","kid":"user-rsa","typ":"JWT"}"#, payload: payload)
        case "ES256":
            return p256.jws(header: #"{"alg":"ES256","kid":"user-p256","typ":"JWT"}"#, payload: payload)
        case "none":
            return Self.parts(#"{"alg":"none"}"#, payload) + "."
        case "HS256":
            guard let secret = described["secret"]?.string else { throw .wrongCase("HS256 needs a secret") }
            let signed = Self.parts(#"{"alg":"HS256","typ":"JWT"}"#, payload)
            let mac = Digests.hmacSHA256(key: Array(secret.utf8), Array(signed.utf8))
            return signed + "." + SigningKey.base64URL(mac)
        default: throw .wrongCase("unknown alg \(algorithm)")
        }
    }

    private static func parts(_ header: String, _ payload: [UInt8]) -> String {
        SigningKey.base64URL(Array(header.utf8)) + "." + SigningKey.base64URL(payload)
    }
}

extension Scope {
    /// `${jwks_url}` and `${fake_url}`.
    mutating func add(_ issuer: FakeIssuer) {
        saved["jwks_url"] = .string(issuer.address + "/jwks.json")
        saved["fake_url"] = .string(issuer.address)
    }
}
