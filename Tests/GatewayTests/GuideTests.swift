internal import Foundation
internal import TestSupport
internal import Testing

/// The guide "Adding a provider" is true: its own files, and nothing else, bring a provider from nothing to a passing life.
@Suite("Adding a provider by the guide", .ownThread)
struct GuideTests {
    private static let credentials = "gateway:a-long-random-password"

    /// The guide's pieces of JSON: the manifest, a body, and the life.
    private static func blocks() throws -> [String] {
        let page = Samples.tree.appendingPathComponent("Sources/Gateway/Documentation.docc/AddingAProvider.md")
        let parts = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```json\n").dropFirst()
        return parts.map { $0.components(separatedBy: "```")[0] }
    }

    /// A gateway with the guide's folder, and the samples that somebody would have collected.
    private static func gateway() throws -> RunningGateway {
        let blocks = try blocks()
        try #require(blocks.count == 3)
        let gateway = try RunningGateway(["CHARGEBEE_WEBHOOK_SECRET": credentials])
        let folder = URL(fileURLWithPath: gateway.folder.file("more/chargebee"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: Samples.tree.appendingPathComponent("providers/chargebee/samples"),
            to: folder.appendingPathComponent("samples")
        )
        try Data(blocks[0].utf8).write(to: folder.appendingPathComponent("chargebee.json"))
        try Data(blocks[2].utf8).write(to: folder.appendingPathComponent("life.json"))
        try gateway.write(blocks[1], to: "body.json")
        gateway.arguments = ["--providers", "more"]
        return gateway
    }

    @Test func theManifestWorksAndADeliveryIsExplained() throws {
        let gateway = try Self.gateway()
        let manifest = "more/chargebee/chargebee.json"
        let check = try gateway.run(["doctor", "--manifest", manifest])
        #expect(check.status == .exited(0), "\(check.errors)")
        #expect(check.output.contains("Chargebee: 2 rules"))
        let authorization = "Authorization: Basic " + Data(Self.credentials.utf8).base64EncodedString()
        let delivery = try gateway.run([
            "doctor", "--manifest", manifest, "--deliver", "body.json", "--at", "2026-11-02T00:00:00Z", "--header",
            authorization,
        ])
        #expect(delivery.status == .exited(0), "\(delivery.output) \(delivery.errors)")
        #expect(delivery.output.contains("entitled, active, until 2026-12-01T09:00:00.000Z"), "\(delivery.output)")
    }

    @Test func theLifePasses() throws {
        let gateway = try Self.gateway().start()
        let words = [
            "simulate", "chargebee", "--life", "--user", "demo", "--pause", "0", "--json", "--providers", "more",
        ]
        try LifeTests.expectLife(try gateway.run(words), of: "chargebee")
    }

    /// The provider that comes with the program is described by files only.
    @Test func noSwiftKnowsTheProvider() throws {
        for folder in ["Sources", "providers"] {
            let root = Samples.tree.appendingPathComponent(folder)
            let files = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
            #expect(!files.isEmpty)
            for file in files where file.hasSuffix(".swift") {
                let text = try String(contentsOf: root.appendingPathComponent(file), encoding: .utf8)
                #expect(!text.lowercased().contains("chargebee"), "\(folder)/\(file)")
            }
        }
    }
}
