internal import Foundation
internal import Testing

/// What each room may touch, and what no file may hold. The table of rooms is the design's; it is repeated here as what is
/// allowed, so that a new dependency is a decision somebody has made.
@Suite("Architecture")
struct ArchitectureTests {
    /// Modules of this package that a target may import, and system modules beyond the standard library.
    private static let rooms: [String: Set<String>] = [
        "CEmbedded": [], "CLibPQ": [], "COpenSSL": [], "CSQLite": [], "CSystem": [],
        "Platform": ["CSystem", "Glibc", "Synchronization"],
        "Crypto": ["COpenSSL", "Foundation"],
        "Entitlements": [],
        "Outbound": ["Dispatch", "Foundation", "FoundationNetworking"],
        "TLS": ["Platform", "CSystem", "COpenSSL", "Glibc", "Synchronization"],
        "HTTPServer": ["TLS", "Platform", "CSystem", "Glibc", "Synchronization"],
        "ProviderKit": ["Entitlements", "Crypto", "Foundation"],
        "Providers": ["ProviderKit", "Entitlements", "Crypto", "CEmbedded"],
        "Licensing": ["Entitlements", "Crypto", "Foundation"],
        "Storage": ["Entitlements", "Licensing", "Foundation"],
        "SQLStorage": ["Storage", "Licensing", "Entitlements", "Platform", "Crypto", "CEmbedded", "Synchronization"],
        "SQLiteStorage": [
            "SQLStorage", "Storage", "Entitlements", "Platform", "Crypto", "CSQLite", "Synchronization",
        ],
        "PostgresStorage": [
            "SQLStorage", "Storage", "Entitlements", "Platform", "Crypto", "CLibPQ", "Glibc", "Synchronization",
        ],
        "Gateway": [
            "HTTPServer", "TLS", "Outbound", "Platform", "Crypto", "Entitlements", "ProviderKit", "Providers",
            "Storage", "SQLStorage", "SQLiteStorage", "PostgresStorage", "Licensing", "CEmbedded", "Foundation",
            "Synchronization",
        ],
        "Bench": [
            "Storage", "Entitlements", "Crypto", "ProviderKit", "Providers", "TestSupport", "CSQLite", "Foundation",
            "Glibc",
        ],
        "EntitlementClient": [
            "COpenSSL", "CryptoKit", "Foundation", "FoundationNetworking", "Observation", "SwiftUI",
        ],
        "CLI": ["Gateway", "Platform", "Foundation", "FoundationNetworking", "Synchronization"],
    ]

    private static let fileLinesMax = 600

    @Test func everyTargetImportsOnlyWhatItsRoomMay() throws {
        let sources = try SourceFile.ofProduct()
        #expect(sources.count > 100, "the tree was not found")
        for source in sources {
            let allowed = try #require(Self.rooms[source.target], "\(source.path): a target without a room")
            for module in source.imports where !allowed.contains(module) {
                Issue.record("\(source.path): \(source.target) may not import \(module)")
            }
        }
    }

    /// An allowance that nobody uses is a door left open.
    @Test func everyAllowanceIsUsed() throws {
        var used: [String: Set<String>] = [:]
        for source in try SourceFile.ofProduct() { used[source.target, default: []].formUnion(source.imports) }
        for (target, allowed) in Self.rooms {
            #expect(allowed.subtracting(used[target] ?? []).isEmpty, "\(target)")
        }
    }

    /// Dependencies go downward only: the allowances make no circle.
    @Test func theRoomsMakeNoCircle() {
        var left = Self.rooms.mapValues { $0.filter { Self.rooms[$0] != nil } }
        while let (bottom, _) = left.first(where: { $0.value.isEmpty }) {
            left[bottom] = nil
            for target in left.keys { left[target]?.remove(bottom) }
        }
        #expect(left.isEmpty, "\(left)")
    }

    /// What a room must never touch, by the words that give it away.
    @Test(arguments: [
        ("Entitlements", ["stripe", "creem", "revenuecat", "paddle", "polar", "lemonsqueezy", "sqlite", "json"]),
        ("HTTPServer", ["entitle", "sqlite", "stripe"]), ("TLS", ["entitle", "sqlite", "epoll"]),
        ("Gateway", ["SELECT ", "INSERT INTO", "epoll"]),
        ("Storage", ["SELECT ", "INSERT INTO", "sqlite"]), ("ProviderKit", ["socket(", "sqlite", "wallClockMillis"]),
        ("SQLStorage", ["http", "pragma", "libpq"]), ("SQLiteStorage", ["http"]),
        ("PostgresStorage", ["http", "sqlite"]),
    ])
    func aRoomDoesNotSpeakOfOthers(target: String, words: [String]) throws {
        for source in try SourceFile.ofProduct() where source.target == target {
            for (number, line) in source.code.enumerated() {
                for word in words where line.range(of: word, options: .caseInsensitive) != nil {
                    let isSQL = word.hasSuffix(" ") || word.contains("INSERT")
                    // The words of SQL are words of English, too, when they are not shouted.
                    if isSQL, !line.contains(word) { continue }
                    Issue.record("\(source.path):\(number + 1): \(target) speaks of \(word): \(line)")
                }
            }
        }
    }

    @Test func nothingEndsTheProgramForTheWorldsErrors() throws {
        for source in try SourceFile.ofProduct() {
            for (number, line) in source.code.enumerated() {
                for call in ["try!", "fatalError(", "as!", "unowned(unsafe)", "DispatchQueue.main"]
                where line.contains(call) {
                    Issue.record("\(source.path):\(number + 1): \(call)")
                }
                if line.hasForcedUnwrap { Issue.record("\(source.path):\(number + 1): a forced unwrap: \(line)") }
            }
        }
    }

    /// What the compiler is told to believe has the sentence beside it that makes it true.
    @Test func everyClaimOfSafetyHasItsReason() throws {
        for source in try SourceFile.ofProduct() {
            for (number, line) in source.code.enumerated()
            where line.contains("@unchecked Sendable") || line.contains("nonisolated(unsafe)") {
                let beside = [number - 1, number + 1].filter(source.lines.indices.contains).map { source.lines[$0] }
                let hasReason = beside.contains { $0.trimmed.hasPrefix("//") }
                #expect(hasReason, "\(source.path):\(number + 1): no sentence makes it true")
            }
        }
    }

    @Test func everyPublicTypeIsExplained() throws {
        for source in try SourceFile.ofProduct() {
            for (number, line) in source.code.enumerated() where line.declaresPublicType {
                var above = number - 1
                // Attributes stand between a type and its explanation.
                while above >= 0, source.lines[above].trimmed.hasPrefix("@") { above -= 1 }
                let isExplained = above >= 0 && source.lines[above].trimmed.hasPrefix("///")
                #expect(isExplained, "\(source.path):\(number + 1): \(line)")
            }
        }
    }

    @Test func everyFileIsOneIdea() throws {
        let vague = ["util", "helper", "manager", "common", "misc"]
        for source in try SourceFile.ofProduct() + SourceFile.ofTests() {
            #expect(source.lines.count <= Self.fileLinesMax, "\(source.path) has \(source.lines.count) lines")
            let name = source.name.lowercased()
            #expect(!vague.contains { name.contains($0) }, "\(source.path) is named after nothing")
        }
    }

    @Test func noFileKnowsAMachine() throws {
        // In two pieces, so that this file is no find itself.
        let places = ["home", "root", "work", "Users", "var", "opt", "tmp"].map { "/" + $0 + "/" }
        for source in try SourceFile.ofProduct() + SourceFile.ofTests() + SourceFile.others() {
            for (number, line) in source.lines.enumerated() {
                for place in places {
                    guard let range = line.range(of: place) else { continue }
                    // Part of a longer path or of a URL is none.
                    let before = range.lowerBound > line.startIndex ? line[line.index(before: range.lowerBound)] : " "
                    if before.isLetter || before.isNumber || ".-_)}*".contains(before) { continue }
                    Issue.record("\(source.path):\(number + 1): a path of a machine: \(line.trimmed)")
                }
            }
        }
    }

    /// The layout is fixed; files that are made by building and running are the ones `.gitignore` names.
    @Test func theTopHoldsOnlyWhatTheLayoutHas() throws {
        let layout: Set<String> = [
            "Package.swift", "Package.resolved", "README.md", "LICENSE", "Sources", "Tests", "providers", "schema",
            "scripts",
        ]
        let ignored = try SourceFile.ignoredNames()
        for name in try FileManager.default.contentsOfDirectory(atPath: SourceFile.tree.path) {
            let isLeftover = name.hasSuffix(".swp") || ignored.contains(name)
            #expect(name.hasPrefix(".") || layout.contains(name) || isLeftover, "\(name) has no place at the top")
        }
        for name in ["Package.swift", "README.md", "Sources", "Tests", "providers", "schema", "scripts", ".ci/run"] {
            let path = SourceFile.tree.appendingPathComponent(name).path
            #expect(FileManager.default.fileExists(atPath: path), "\(name) is missing")
        }
    }

    @Test func theProgramHasNoPackages() throws {
        let package = try String(contentsOf: SourceFile.tree.appendingPathComponent("Package.swift"), encoding: .utf8)
        #expect(!package.contains(".package("))
        #expect(!package.contains("unsafeFlags"))
    }

    /// A provider is a folder: a manifest or an adapter, samples, and how to set it up.
    @Test func everyProviderIsAFolder() throws {
        let folder = SourceFile.tree.appendingPathComponent("providers")
        let entries = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        for name in entries where !name.hasSuffix(".swift") && name != "embedded.inc" {
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent(name).path)
            #expect(files.contains("README.md") && files.contains("samples"), "\(name)")
            #expect(files.contains("\(name).json") || files.contains { $0.hasSuffix("Adapter.swift") }, "\(name)")
        }
        // Providers do not touch each other.
        for source in try SourceFile.ofProduct() where source.target == "Providers" && !source.path.contains("BuiltIn")
        {
            let own = source.path.split(separator: "/")[1]
            let others = ["stripe", "creem", "paddle", "polar", "lemonsqueezy", "dodo"].filter { $0 != own }
            for (number, line) in source.code.enumerated() {
                for other in others where line.lowercased().contains("\"\(other)\"") {
                    Issue.record("\(source.path):\(number + 1): \(own) speaks of \(other)")
                }
            }
        }
    }
}
