internal import Entitlements
internal import Testing

@testable internal import SQLStorage
@testable internal import SQLiteStorage
@testable internal import Storage

/// How many people have Pro, and through whom.
struct ActiveUsersTests {
    @Test("a person with two ids is one, what has ended is nobody, and the sandbox is not counted")
    func counted() throws {
        let ledger = try Ledger()
        try ledger.take([
            Happening.state("stripe", "e1", of: "sub_1", at: 0, period: 0, end: 30, user: "u1"),
            Happening.state("stripe", "e2", of: "sub_2", at: 0, period: 0, end: 3, user: "u2"),
            Happening.cat("e3", of: "t1", at: 0, period: 0, end: 30, users: ["u3", "u4"]),
            Happening.cat("e4", of: "t2", at: 0, period: 0, end: 30, users: ["u5"], environment: .sandbox),
        ])
        let rows = try [ledger.row("u3"), ledger.row("u4")]
        #expect(rows.allSatisfy { $0.entitlements.first?.end == day(30) })
        let reader = try SQLiteReader(path: ledger.path, commits: CommitCounter())
        let counts = try reader.activeUsers(of: "pro", at: day(5))
        #expect(counts == [ProviderID("stripe"): 1, ProviderID("revenuecat"): 1])
        #expect(try reader.activeUsers(of: "other", at: day(5)).isEmpty)
    }
}
