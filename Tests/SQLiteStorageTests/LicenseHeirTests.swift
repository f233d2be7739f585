internal import Entitlements
internal import Testing

@testable internal import SQLiteStorage
@testable internal import Storage

/// A licence that came with a purchase stays with it, whatever becomes of the purchase's number in the database.
struct LicenseHeirTests {
    private static func purchases(_ ledger: Ledger) throws -> [Int64] {
        let query = try ledger.database.prepare("SELECT id FROM purchase ORDER BY id")
        defer { query.reset() }
        var found: [Int64] = []
        while try query.step() { found.append(query.integer(0)) }
        return found
    }

    @Test("two purchases turn out to be one", arguments: [0, 1])
    func joined(of place: Int) throws {
        let ledger = try Ledger()
        try ledger.take([
            Happening.state("stripe", "e1", of: "sub_1", at: 0, period: 0, end: 30, user: "u1"),
            Happening.adjusted("stripe", "e2", of: "ch_1", at: 1),
        ])
        let before = try Self.purchases(ledger)
        try #require(before.count == 2)
        try ledger.database.execute(
            """
            INSERT INTO license (id, user_id, entitlement, source, purchase, created_at)
            VALUES ('lic_1', 'u1', 'pro', 2, \(before[place]), 1)
            """
        )
        try ledger.take([
            Happening.state("stripe", "e3", of: "sub_1", at: 2, period: 0, end: 30, user: "u1", also: ["ch_1"])
        ])
        let after = try Self.purchases(ledger)
        #expect(after.count == 1)
        let query = try ledger.database.prepare("SELECT purchase FROM license")
        defer { query.reset() }
        #expect(try query.step())
        #expect(query.integer(0) == after[0])
    }
}
