internal import Foundation

/// A file of the tree, as lines and as code without comments and texts.
struct SourceFile {
    /// The top of the source tree, found from this file's own place in it.
    static let tree = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// From the top of the tree.
    let path: String
    let lines: [String]
    /// The same lines; comments are blank, and of a text within quotes only the quotes and what it says are kept in
    /// `lines`.
    let code: [String]

    init(path: String) throws {
        self.path = path
        let text = try String(contentsOf: Self.tree.appendingPathComponent(path), encoding: .utf8)
        lines = text.components(separatedBy: "\n")
        code =
            path.hasSuffix(".swift") || path.hasSuffix(".c") || path.hasSuffix(".h")
            ? lines.map(\.withoutComment) : lines
    }

    var name: String { path.components(separatedBy: "/").last ?? path }

    /// `Sources/X/…` belongs to X, `providers/…` to Providers.
    var target: String {
        let parts = path.components(separatedBy: "/")
        return parts[0] == "providers" ? "Providers" : parts[1]
    }

    /// Modules that are imported, whatever stands before `import`.
    var imports: [String] {
        guard path.hasSuffix(".swift") else { return [] }
        return code.compactMap { line in
            let words = line.split(separator: " ")
            guard let place = words.firstIndex(of: "import"), place + 1 < words.count,
                words[..<place].allSatisfy({ $0.hasPrefix("@") || $0.allSatisfy(\.isLetter) })
            else { return nil }
            // `import struct Foundation.Data`
            let named = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
            let module =
                named.contains(String(words[place + 1])) && place + 2 < words.count
                ? words[place + 2] : words[place + 1]
            return module.split(separator: ".").first.map(String.init)
        }
    }

    static func ofProduct() throws -> [SourceFile] {
        try files(below: "Sources", ["swift", "c", "h"]) + files(below: "providers", ["swift"])
    }

    static func ofTests() throws -> [SourceFile] {
        try files(below: "Tests", ["swift"])
    }

    /// Everything else that is read by people or machines.
    static func others() throws -> [SourceFile] {
        try files(below: "schema", ["sql", "json"]) + files(below: "providers", ["json", "md"])
            + ["README.md", "Package.swift"].map { try SourceFile(path: $0) }
    }

    /// The names at the top that `.gitignore` has.
    static func ignoredNames() throws -> Set<String> {
        let text = try String(contentsOf: tree.appendingPathComponent(".gitignore"), encoding: .utf8)
        return Set(text.split(separator: "\n").filter { $0.hasPrefix("/") }.map { $0.trimmingCharacters(in: ["/"]) })
    }

    private static func files(below folder: String, _ kinds: Set<String>) throws -> [SourceFile] {
        let root = tree.appendingPathComponent(folder).path
        let names = try FileManager.default.subpathsOfDirectory(atPath: root)
        return try names.sorted().filter { kinds.contains(($0 as NSString).pathExtension) }
            .map { try SourceFile(path: folder + "/" + $0) }
    }
}

extension String {
    var trimmed: String { trimmingCharacters(in: .whitespaces) }

    /// The line up to a comment; `//` within quotes is none.
    var withoutComment: String {
        var kept = ""
        var isText = false
        var previous: Character = " "
        for character in self {
            if character == "\"", previous != "\\" { isText.toggle() }
            if character == "/", previous == "/", !isText {
                kept.removeLast()
                break
            }
            kept.append(character)
            previous = character == "\\" && previous == "\\" ? " " : character
        }
        return kept
    }

    /// The line without what stands between quotes.
    private var withoutTexts: String {
        var kept = ""
        var isText = false
        var previous: Character = " "
        for character in self {
            if character == "\"", previous != "\\" { isText.toggle() }
            if !isText { kept.append(character) }
            previous = character == "\\" && previous == "\\" ? " " : character
        }
        return kept
    }

    /// A `!` behind a name, a bracket or a parenthesis, and before anything but `=`.
    var hasForcedUnwrap: Bool {
        let characters = Array(withoutTexts)
        return characters.indices.dropFirst().contains { place in
            guard characters[place] == "!" else { return false }
            let before = characters[place - 1]
            guard before.isLetter || before.isNumber || before == "_" || before == ")" || before == "]" else {
                return false
            }
            return place + 1 >= characters.count || characters[place + 1] != "="
        }
    }

    /// A public type at the top level of its file.
    var declaresPublicType: Bool {
        let words = split(separator: " ")
        guard hasPrefix("public ") || hasPrefix("@") && words.contains("public") else { return false }
        return words.prefix(6).contains { ["struct", "enum", "class", "actor", "protocol", "typealias"].contains($0) }
    }
}
