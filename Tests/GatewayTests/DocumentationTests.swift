internal import Foundation
internal import TestSupport
internal import Testing

/// The pages hang together: each is in the index once, and no reference leads nowhere.
struct DocumentationTests {
    private static let folder = Samples.tree.appendingPathComponent("Sources/Gateway/Documentation.docc")

    private static func pages() throws -> [String: String] {
        var pages: [String: String] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasSuffix(".md") {
            let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
            pages[String(name.dropLast(3))] = text
        }
        return pages
    }

    private static func references(_ text: String) -> [String] {
        text.matches(of: #/<doc:([A-Za-z]+)>/#).map { String($0.1) }
    }

    @Test func everyPageIsInTheIndexOnce() throws {
        let pages = try Self.pages()
        let listed = Self.references(try #require(pages["Documentation"])).filter { !$0.isEmpty }
        #expect(Set(listed).count == listed.count, "listed twice")
        #expect(Set(listed) == Set(pages.keys).subtracting(["Documentation"]))
    }

    @Test func everyReferenceLeadsToAPage() throws {
        let pages = try Self.pages()
        for (name, text) in pages {
            for reference in Self.references(text) { #expect(pages[reference] != nil, "\(name): \(reference)") }
        }
    }

    /// Whoever meets a code finds it explained.
    @Test func everyCodeIsExplained() throws {
        let file = Samples.tree.appendingPathComponent("schema/openapi.json")
        let document = try JSONValue(parsing: Array(Data(contentsOf: file)))
        let codes = document["components"]?["schemas"]?["Problem"]?["properties"]?["code"]?["enum"]?.array ?? []
        let page = try #require(try Self.pages()["Reading"])
        #expect(codes.count > 20)
        for code in codes.compactMap(\.string) { #expect(page.contains("`\(code)`"), "\(code)") }
    }
}
