internal import CEmbedded
internal import Entitlements
internal import Foundation
internal import ProviderKit
internal import Testing

@testable internal import Providers

/// Every provider that comes with the program, with its adapter.
enum KnownProvider {
    static let all: [any ProviderAdapter] = {
        var adapters: [any ProviderAdapter] = [RevenueCatAdapter(secrets: .init(authorization: "a", signing: ["s"]))]
        if let verifier = try? AppStoreFixture.verifier() { adapters.append(AppStoreAdapter(verifier: verifier)) }
        adapters.append(GooglePlayAdapter(package: "com.example.app"))
        // A test below fails when a manifest cannot be read.
        for manifest in (try? BuiltInProviders.manifests()) ?? [] {
            let secret = manifest.check == .basic ? "user:password" : "whsec_c2VjcmV0"
            adapters.append(ManifestAdapter(manifest: manifest, secrets: [secret]))
        }
        return adapters
    }()

    static let names = all.map(\.provider.name)

    static func adapter(_ name: String) throws -> any ProviderAdapter {
        try #require(all.first { $0.provider.name == name })
    }

    static let tree = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func files(below folder: String, ending: String) -> [String] {
        let root = tree.appendingPathComponent(folder)
        let found = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
        return found.filter { $0.hasSuffix(ending) }.map { folder + "/" + $0 }
    }
}

extension NormalizedEvent {
    var isQuarantined: Bool {
        if case .quarantined = verdict { true } else { false }
    }

    var states: [PurchaseState] {
        effects.flatMap { effect -> [PurchaseState] in
            guard case .facts(_, let facts) = effect else { return [] }
            return facts.compactMap { if case .state(let state) = $0 { state } else { nil } }
        }
    }

    /// Everyone the event names as a user.
    var users: [UserID] {
        effects.flatMap { effect -> [UserID] in
            switch effect {
            case .facts(_, let facts):
                facts.flatMap { fact -> [UserID] in if case .owner(let owner) = fact { owner.users } else { [] } }
            case .link(_, let user), .claim(_, _, let user): [user]
            case .samePerson(let users): users
            case .transfer(let transfer): transfer.from.users + transfer.to.users
            }
        }
    }
}

struct SampleTests {
    @Test("every manifest can be read, and is named like its folder")
    func manifests() throws {
        let manifests = try BuiltInProviders.manifests()
        var folders: [String] = []
        for file in KnownProvider.files(below: "providers", ending: ".json") {
            let parts = file.split(separator: "/").map(String.init)
            if parts.count == 3, parts[2] == parts[1] + ".json" { folders.append(parts[1]) }
        }
        #expect(manifests.map(\.provider.name).sorted() == folders.sorted())
        #expect(Set(manifests.map(\.secretVariable)).count == manifests.count)
    }

    @Test("the embedded files are the files of the folders")
    func embedded() throws {
        var paths: [String] = []
        for index in 0..<embedded_file_count() {
            let file = embedded_file_at(index)
            let path = String(cString: file.path)
            paths.append(path)
            let onDisk = [UInt8](try Data(contentsOf: KnownProvider.tree.appendingPathComponent(path)))
            #expect([UInt8](UnsafeBufferPointer(start: file.bytes, count: file.size)) == onDisk, "\(path)")
        }
        var expected = KnownProvider.files(below: "schema/sqlite", ending: ".sql")
        expected += KnownProvider.files(below: "providers", ending: ".json")
        expected += KnownProvider.files(below: "providers", ending: ".cer")
        let listed = paths.filter { $0.hasPrefix("providers/") || $0.hasPrefix("schema/sqlite/") }
        #expect(listed.sorted() == expected.sorted())
        #expect(Set(paths).count == paths.count)
    }

    @Test("every sample is understood", arguments: KnownProvider.names)
    func understood(_ provider: String) throws {
        let adapter = try KnownProvider.adapter(provider)
        let samples = BuiltInProviders.samples(of: provider)
        #expect(samples.count >= 5)
        var meanings = 0
        for (name, body) in samples {
            let event = adapter.normalize(VerifiedDelivery(verified: body, eventID: "msg_1"))
            #expect(!event.isQuarantined, "\(provider) \(name): \(String(describing: event.verdict))")
            #expect(!event.type.isEmpty && !event.eventID.isEmpty && event.occurredAt != nil, "\(provider) \(name)")
            meanings += event.effects.isEmpty ? 0 : 1
        }
        #expect(meanings * 2 > samples.count, "most samples mean something")
    }

    @Test(
        "every sample, signed as the provider would, is believed; with one byte more it is not",
        arguments: KnownProvider.names
    )
    func signed(_ provider: String) throws {
        let adapter = try KnownProvider.adapter(provider)
        let now = UnixMillis(1_796_083_200_000)
        for (_, sample) in BuiltInProviders.samples(of: provider) {
            // What only the provider can seal is proved elsewhere, with a provider made for the test.
            guard let body = adapter.seal(sample) else { continue }
            let headers = adapter.sign(body, now: now)
            func header(_ name: String) -> String? {
                headers.first { $0.name.lowercased() == name.lowercased() }?.value
            }
            let believed = try? adapter.verify(WebhookDelivery(body: body, header: header), now: now)
            #expect(believed?.body == body)
            let forged = try? adapter.verify(WebhookDelivery(body: body + [0x20], header: header), now: now)
            // A password says nothing about the body.
            #expect((forged != nil) == (headers.map(\.name) == ["Authorization"] && provider != "revenuecat"))
            let unsigned = try? adapter.verify(WebhookDelivery(body: body, header: { _ in nil }), now: now)
            #expect(unsigned == nil)
        }
    }

    @Test("a redacted sample holds no address and is understood like the sample", arguments: KnownProvider.names)
    func redacted(_ provider: String) throws {
        let adapter = try KnownProvider.adapter(provider)
        for (name, body) in BuiltInProviders.samples(of: provider) {
            let delivery = VerifiedDelivery(verified: body, eventID: "msg_1")
            let kept = try #require(adapter.redact(delivery))
            let text = String(decoding: kept, as: UTF8.self)
            #expect(!text.contains("@example") && !text.contains("@gmail"), "\(provider) \(name)")
            let event = adapter.normalize(delivery)
            let again = adapter.normalize(VerifiedDelivery(verified: kept, eventID: "msg_1"))
            #expect(again.effects == event.effects, "\(provider) \(name): a replay must say what the delivery said")
        }
    }
}
