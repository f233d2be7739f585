internal import Entitlements
internal import Foundation
internal import Testing

@testable internal import ProviderKit

/// HTTP Basic authentication as a manifest's way of proof.
struct BasicCredentialsTests {
    private static let body = Array("{}".utf8)

    private static func header(_ text: String, _ scheme: String = "Basic ") -> String {
        scheme + Data(text.utf8).base64EncodedString()
    }

    private func verify(_ header: String?, secrets: [String] = ["user:password", "other:pass:word"])
        -> VerificationFailure?
    {
        do throws(VerificationFailure) {
            let check = ReadyCheck(.basic, secrets: secrets)
            let delivery = WebhookDelivery(body: Self.body, header: { $0 == "Authorization" ? header : nil })
            let verified = try check.verify(delivery, now: UnixMillis(0))
            #expect(verified.body == Self.body && verified.eventID == nil)
            return nil
        } catch {
            return error
        }
    }

    @Test("every secret that is valid now, the scheme in any case", arguments: ["Basic ", "basic ", "BASIC  "])
    func believed(_ scheme: String) {
        #expect(verify(Self.header("user:password", scheme)) == nil)
        #expect(verify(Self.header("other:pass:word", scheme)) == nil)
    }

    @Test(
        "anything else is not",
        arguments: [
            "user:passwor", "user:password ", "User:password", "user", ":", "", "user:", ":password",
            "user:password,other:pass:word",
            "other:pass",
        ]
    )
    func refused(_ said: String) {
        #expect(verify(Self.header(said)) == .badSignature || (said.isEmpty && verify(Self.header(said)) == .unsigned))
    }

    @Test("what is no credentials at all")
    func unreadable() {
        for header in [
            nil, "", "Basic", "Basic ", "Basic user:password", "Bearer " + Self.header("user:password", ""), "Basic !!",
        ] {
            #expect(verify(header) == .unsigned, "\(header ?? "nil")")
        }
        #expect(verify("Basic " + String(repeating: "A", count: 9000)) == .unsigned)
    }

    @Test("a secret without a user or without a password lets nobody in")
    func unusable() {
        for secret in ["", ":", "user", "user:", ":password"] {
            #expect(!DeliveryCheck.basic.canUse(secret))
            #expect(verify(Self.header(secret), secrets: [secret]) != nil, "\(secret)")
        }
        #expect(DeliveryCheck.basic.canUse("user:password"))
    }

    @Test("signed as the provider would")
    func signs() {
        let check = ReadyCheck(.basic, secrets: ["user:password"])
        let headers = check.sign(Self.body, now: UnixMillis(0), id: "")
        #expect(headers.map(\.name) == ["Authorization"])
        #expect(verify(headers.first?.value) == nil)
    }
}
