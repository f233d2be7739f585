internal import Crypto
internal import Entitlements
internal import Foundation
internal import ProviderKit
internal import TestSupport
internal import Testing

@testable internal import Providers

/// An App Store of the tests: one app, and a chain of certificates of its own.
enum AppStoreFixture {
    static let apple = AppleSigner()
    static let app = AppStoreVerifier.App(bundleID: "com.example.app", appAppleID: 1_234_567_890)
    static let user = "6f1d2c8a-3b47-4e59-9c0d-5a7e8b2f4c11"
    static let now = UnixMillis(Int64(Date().timeIntervalSince1970 * 1000))

    static func verifier(roots: [IssuedCertificate] = [apple.root]) throws -> AppStoreVerifier {
        try AppStoreVerifier(app: app, roots: roots.map { try #require(Certificate(der: $0.der)) })
    }

    static func adapter() throws -> AppStoreAdapter { AppStoreAdapter(verifier: try verifier()) }

    static func payload(_ name: String) throws -> JSON {
        let file = KnownProvider.tree.appendingPathComponent("Tests/Conformance/payloads/app_store/\(name).json")
        return try #require(JSON([UInt8](try Data(contentsOf: file))))
    }

    static var payloads: [String] {
        KnownProvider.files(below: "Tests/Conformance/payloads/app_store", ending: ".json")
            .map { String($0.split(separator: "/").last?.dropLast(5) ?? "") }.sorted()
    }

    /// A payload with some of its members changed; null takes one away.
    static func payload(_ name: String, _ changes: [String: JSON]) throws -> JSON {
        var payload = try payload(name)
        for (pointer, value) in changes {
            payload = changed(payload, pointer.split(separator: "/").map(String.init)[...], value)
        }
        return payload
    }

    private static func changed(_ value: JSON, _ path: ArraySlice<String>, _ new: JSON) -> JSON {
        guard let first = path.first, case .object(var members) = value else { return new }
        let inner = changed(members[first] ?? .object([:]), path.dropFirst(), new)
        members[first] = path.count == 1 && new.isNull ? nil : inner
        return .object(members)
    }

    /// The delivery of a notification.
    static func delivery(
        _ notification: JSON,
        _ mode: AppleSigner.Mode = .good,
        nested: AppleSigner.Mode? = nil
    ) throws -> WebhookDelivery {
        let value = try JSONValue(parsing: notification.bytes)
        return WebhookDelivery(body: apple.body(value, mode, nested: nested)) { _ in nil }
    }

    /// What a notification says, from the raw bytes on.
    static func event(_ name: String, _ changes: [String: JSON] = [:]) throws -> NormalizedEvent {
        let adapter = try adapter()
        return adapter.normalize(try adapter.verify(try delivery(try payload(name, changes)), now: now))
    }

    /// What a list of notifications comes to.
    static func outcome(_ events: [NormalizedEvent]) -> PurchaseOutcome? {
        let facts = events.flatMap { event in
            event.effects.flatMap { effect -> [RecordedFact] in
                guard case .facts(let reference, let facts) = effect else { return [] }
                return facts.map {
                    RecordedFact(
                        provider: AppStoreAdapter.name,
                        eventID: event.eventID,
                        isSecondHand: reference.isSecondHand,
                        fact: $0
                    )
                }
            }
        }
        return MergeRule.outcome(of: facts, pastDueDays: 14)
    }
}
