import Foundation
import TestSupport
import Testing

/// One file of the catalogue, as the argument of a test.
struct CatalogEntry: Sendable, CustomTestStringConvertible {
    let area: ConformanceArea
    /// The file's name without its ending, which must also be the case's id.
    let id: String
    let content: Result<ConformanceCase, ConformanceError>

    var testDescription: String {
        if case .success(let testCase) = content { "\(id): \(testCase.title)" } else { "\(id) (unreadable)" }
    }

    var isEnabled: Bool {
        // A file that cannot be read is played, and fails, rather than passed over.
        guard case .success(let testCase) = content else { return true }
        return EnabledCases.contains(testCase, of: area) && (GatewayProcess.server == nil || !testCase.needsFile)
    }
}

extension ConformanceCase {
    /// It locks the file of the database from outside.
    fileprivate var needsFile: Bool {
        steps.contains { step in
            if case .lockDatabase = step.action { true } else { false }
        }
    }
}

/// All case files, read once.
enum CaseCatalog {
    static let entries: [CatalogEntry] = ConformanceArea.allCases.flatMap(read)

    /// `CONFORMANCE_ONLY=CO-01,RC-34`: these cases and no others, whether they are enabled or not.
    static let only: Set<String>? = ProcessInfo.processInfo.environment["CONFORMANCE_ONLY"].map {
        Set($0.split(separator: ",").map(String.init))
    }

    /// The cases to play.
    static func chosen(_ area: ConformanceArea) -> [CatalogEntry] {
        entries.filter { $0.area == area && (only?.contains($0.id) ?? $0.isEnabled) }
    }

    private static func read(_ area: ConformanceArea) -> [CatalogEntry] {
        let folder = ConformanceRun.folder + "/cases/" + area.rawValue
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted().map { name in
            let id = String(name.dropLast(".json".count))
            let content = Result { () throws(ConformanceError) in try read(folder + "/" + name, id: id) }
            return CatalogEntry(area: area, id: id, content: content)
        }
    }

    private static func read(_ path: String, id: String) throws(ConformanceError) -> ConformanceCase {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: FileManager.default.contents(atPath: path) ?? Data())
        } catch {
            throw .wrongCase("\(path): \(error.reason) at byte \(error.offset)")
        }
        let testCase = try ConformanceCase(document)
        guard testCase.id == id else { throw .wrongCase("\(path) has the id \(testCase.id)") }
        return testCase
    }
}
