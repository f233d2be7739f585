internal import Testing

/// The reader of sources finds what it looks for: a check that cannot fail is none.
@Suite("Reading sources")
struct SourceFileTests {
    @Test(arguments: ["let a = b!", "f(x!)", "x!.y", "a[0]!.b", "f()!", "var a: Int!", "x! = 3"])
    func forcedUnwraps(line: String) {
        #expect(line.hasForcedUnwrap)
    }

    @Test(arguments: [
        "if !a { }", "a != b", "a! = b".replacing("!", with: "?"), "\"stop!\"", "f(!x)", "guard !list.isEmpty",
        "a !== b",
    ])
    func whatIsNone(line: String) {
        #expect(!line.hasForcedUnwrap)
    }

    @Test func comments() {
        #expect("let a = 1 // why!".withoutComment == "let a = 1 ")
        #expect("let a = \"http://x\" // why".withoutComment == "let a = \"http://x\" ")
        #expect("/// explained".withoutComment == "")
        #expect(#"let a = "\"//" "#.withoutComment == #"let a = "\"//" "#)
    }

    @Test func publicTypes() {
        #expect("public struct A {".declaresPublicType && "public final class B: C {".declaresPublicType)
        #expect("public enum C: Error {".declaresPublicType && "@safe public final class D {".declaresPublicType)
        #expect(!"    public struct A {".declaresPublicType && !"public extension A {".declaresPublicType)
        #expect(!"public func structure() {".declaresPublicType && !"struct A {".declaresPublicType)
    }

    @Test func thisFileImportsTesting() throws {
        let file = try SourceFile(path: "Tests/ArchitectureTests/SourceFileTests.swift")
        #expect(file.imports == ["Testing"])
        #expect(
            try SourceFile(path: "Tests/ArchitectureTests/ArchitectureTests.swift").imports == [
                "Foundation", "Testing",
            ]
        )
    }
}
