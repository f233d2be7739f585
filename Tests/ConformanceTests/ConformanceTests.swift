import Foundation
import TestSupport
import Testing

/// The contract, checked from outside: every enabled case, each on a gateway of its own.
@Suite struct ConformanceTests {
    /// A case mostly waits for its gateway, and a gateway is busy on one core: one case for each core.
    private static let turnstile = Turnstile(width: max(2, ProcessInfo.processInfo.activeProcessorCount))

    @Test(arguments: CaseCatalog.chosen(.core))
    func core(_ entry: CatalogEntry) async { await play(entry) }

    @Test(arguments: CaseCatalog.chosen(.revenuecat))
    func revenuecat(_ entry: CatalogEntry) async { await play(entry) }

    @Test(arguments: CaseCatalog.chosen(.webbilling))
    func webbilling(_ entry: CatalogEntry) async { await play(entry) }

    @Test(arguments: CaseCatalog.chosen(.gate))
    func gate(_ entry: CatalogEntry) async { await play(entry) }

    @Test(arguments: CaseCatalog.chosen(.licenses))
    func licenses(_ entry: CatalogEntry) async { await play(entry) }

    @Test(arguments: CaseCatalog.chosen(.stores))
    func stores(_ entry: CatalogEntry) async { await play(entry) }

    private func play(_ entry: CatalogEntry) async {
        let testCase: ConformanceCase
        switch entry.content {
        case .success(let read): testCase = read
        case .failure(let error):
            Issue.record("\(entry.id): \(error)")
            return
        }
        let failure = await Self.turnstile.pass {
            await onOwnThread { CasePlayer.failure(of: testCase, in: .current) }
        }
        if let failure {
            Issue.record("\(failure.report(of: entry.testDescription))")
        }
    }
}
