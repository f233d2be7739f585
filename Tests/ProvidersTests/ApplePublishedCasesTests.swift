internal import Crypto
internal import Entitlements
internal import Foundation
internal import ProviderKit
internal import Testing

@testable internal import Providers

/// Apple's own published test data, when it is there: `APPLE_TESTDATA` names a folder with a `cases.json`.
struct ApplePublishedCasesTests {
    private static let folder = ProcessInfo.processInfo.environment["APPLE_TESTDATA"]

    private static let cases: [JSON] = {
        guard let folder, let data = FileManager.default.contents(atPath: folder + "/cases.json") else { return [] }
        return JSON([UInt8](data))?["cases"]?.array ?? []
    }()

    private static func file(_ name: String) throws -> [UInt8] {
        [UInt8](try #require(FileManager.default.contents(atPath: "\(folder ?? "")/\(name)")))
    }

    @Test("Apple's cases are accepted and refused as Apple's libraries do", .enabled(if: folder != nil))
    func published() throws {
        #expect(Self.cases.count > 30)
        for published in Self.cases {
            let id = published["id"]?.string ?? ""
            // Which environments are taken is not configured here: a sandbox payload is a sandbox purchase.
            guard published["failure"]?.string != "environment" else { continue }
            let isAccepted = try Self.isAccepted(published)
            #expect(
                isAccepted == (published["expect"]?.string == "accept"),
                "\(id) \(published["reason"]?.string ?? "")"
            )
        }
    }

    private static func isAccepted(_ published: JSON) throws -> Bool {
        if published["kind"]?.string == "config" {
            guard let roots = published["trusted_root_base64"]?.array else { return false }
            return roots.contains { !Certificate.all(in: Base64.decode($0.string ?? "") ?? []).isEmpty }
        }
        let rootFile = try file(published["trusted_root"]?.string ?? "")
        let root = try #require(Certificate(der: rootFile))
        let now = UnixMillis(Int64(Date().timeIntervalSince1970 * 1000))
        if published["kind"]?.string == "chain" { return try isChainAccepted(published, root) }
        let config = published["config"]
        let verifier = try AppStoreVerifier(
            app: .init(
                bundleID: config?["bundle_id"]?.string ?? "",
                appAppleID: config?["app_apple_id"]?.integer ?? 0
            ),
            roots: [root]
        )
        var text = published["text"]?.string ?? ""
        if let input = published["input"]?.string {
            text = String(decoding: try file(input), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }
        switch published["kind"]?.string {
        case "notification":
            let body = JSON.object(["signedPayload": .string(text)]).bytes
            return (try? verifier.notification(in: body, cache: nil, now: now)) != nil
        case "transaction":
            return (try? verifier.submission(transaction: text, renewalInfo: nil, cache: nil, now: now)) != nil
        default: return (try? verifier.content(of: text, cache: nil, now: now)) != nil
        }
    }

    private static func isChainAccepted(_ published: JSON, _ root: Certificate) throws -> Bool {
        let chains = try CertificateChainVerifier(
            roots: [root],
            leafMarker: AppStoreVerifier.leafMarker,
            intermediateMarker: AppStoreVerifier.intermediateMarker
        )
        var x5c = (published["x5c_base64"]?.array ?? []).compactMap(\.string)
        for name in published["x5c"]?.array ?? [] { x5c.append(Base64.encode(try file(name.string ?? ""))) }
        let seconds = try #require(published["judged_at_epoch_seconds"]?.integer)
        guard let signer = chains.signer(of: x5c, cache: nil), signer.isValid(atMillis: seconds * 1000) else {
            return false
        }
        if let key = published["leaf_public_key"]?.string {
            let expected = try file(key)
            #expect(signer.key.der == expected)
        }
        return true
    }
}
