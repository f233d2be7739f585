import Foundation
import TestSupport

/// An issuer of user tokens: its keys are published on a loopback port, beside the fixed documents that a case names.
final class FakeIssuer: Sendable {
    private let rsa = SigningKey(.rsa)
    private let p256 = SigningKey(.p256)
    private let server: LoopbackServer

    var address: String { "http://127.0.0.1:\(server.port)" }

    /// - Parameter documents: A path, or `GET` and a path, and what is to be found there.
    init(documents: JSONValue? = nil) throws(ConformanceError) {
        var pages = [
            "/jwks.json": "{\"keys\":[\(rsa.jwk(kid: "user-rsa")),\(p256.jwk(kid: "user-p256"))]}"
        ]
        guard case .object(let documents) = documents ?? .object(JSONObject()) else {
            throw .wrongCase("apis must be an object")
        }
        for document in documents.members {
            let name = document.key.hasPrefix("GET ") ? String(document.key.dropFirst(4)) : document.key
            guard name.hasPrefix("/"), case .object(let content) = document.value, content["$status"] == nil else {
                throw .notBuilt(.fakeServices)
            }
            pages[name] = document.value.compact
        }
        do {
            server = try LoopbackServer { [pages] peer in
                while let head = peer.readHead() {
                    let target = head.split(separator: " ").dropFirst().first.map(String.init) ?? ""
                    let page = pages[target]
                    let body = page ?? "{}"
                    peer.write(
                        "HTTP/1.1 \(page == nil ? "404 Not Found" : "200 OK")\r\nContent-Type: application/json\r\n"
                            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
                    )
                }
            }
        } catch {
            throw .machine("no free port")
        }
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
