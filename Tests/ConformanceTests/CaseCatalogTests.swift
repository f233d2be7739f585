import TestSupport
import Testing

/// The case files themselves, whether they are enabled or not.
@Suite struct CaseCatalogTests {
    @Test("every file can be read", arguments: CaseCatalog.entries)
    func readable(_ entry: CatalogEntry) throws {
        let testCase = try entry.content.get()
        for name in Self.payloads(of: testCase.steps) {
            #expect(throws: Never.self, "\(name)") { try JSONValue(parsing: ConformanceRun.current.payload(name)) }
        }
    }

    @Test func everyAreaHasCasesAndNoIDTwice() {
        for area in ConformanceArea.allCases {
            #expect(CaseCatalog.entries.contains { $0.area == area }, "\(area)")
        }
        #expect(Set(CaseCatalog.entries.map(\.id)).count == CaseCatalog.entries.count)
    }

    /// A mistake in `EnabledCases` must not quietly turn the suite off.
    @Test func theEnabledAreasHaveEnabledCases() {
        for area in [ConformanceArea.core, .revenuecat, .webbilling, .gate, .licenses] {
            let entries = CaseCatalog.entries.filter { $0.area == area }
            #expect(entries.filter(\.isEnabled).count > entries.count / 3, "\(area)")
        }
    }

    @Test func everyCaseAskedForByNameExists() {
        let unknown = (CaseCatalog.only ?? []).subtracting(CaseCatalog.entries.map(\.id))
        #expect(unknown.isEmpty)
    }

    private static func payloads(of steps: [CaseStep]) -> [String] {
        steps.flatMap { step -> [String] in
            switch step.action {
            case .deliver(let delivery): payload(of: delivery)
            case .permute(let deliveries, _): deliveries.flatMap(payload)
            case .together(let inner): payloads(of: inner)
            default: []
            }
        }
    }

    private static func payload(of delivery: DeliverStep) -> [String] {
        if case .payload(let name) = delivery.content { [name] } else { [] }
    }
}
