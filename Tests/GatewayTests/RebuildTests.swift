internal import TestSupport
internal import Testing

/// `rebuild` tells and mends every way in which the rows are not what the facts say (contract section 10).
@Suite("Rebuilding", .ownThread)
struct RebuildTests {
    /// Two people with a purchase each, and one who has lost theirs; stopped.
    private static func gateway() throws -> RunningGateway {
        let gateway = try RunningGateway().start()
        try gateway.deliver("revenuecat", RevenueCatEvent("evt_1", user: "u1", purchase: "tx_1").body)
        try gateway.deliver("stripe", IdentityTests.subscription(2, customer: "cus_2", user: "u2"))
        try gateway.grant("u3", until: nil, id: "g3")
        try gateway.ask("DELETE", "/v1/users/u3/grants/g3")
        try gateway.stop()
        return gateway
    }

    private static func rows(_ gateway: RunningGateway) throws -> [String] {
        try SQLDatabase(gateway.database).rows("SELECT user_id, environment, body FROM subscription ORDER BY 1, 2")
    }

    @Test func whatIsRightStaysAsItIs() throws {
        let gateway = try Self.gateway()
        let before = try Self.rows(gateway)
        #expect(before.count == 3)
        #expect(try gateway.run(["rebuild", "--check"]).status == .exited(0))
        #expect(try gateway.run(["rebuild"]).status == .exited(0))
        #expect(try Self.rows(gateway) == before)
        let json = try JSONValue(parsing: gateway.run(["rebuild", "--check", "--json"]).output)
        #expect(json["rows"] == 3 && json["purchases"] == 3 && json["differences"] == [])
    }

    @Test(arguments: [
        "UPDATE subscription SET body = (SELECT body FROM subscription WHERE user_id = 'u2') WHERE user_id = 'u1'",
        "DELETE FROM subscription WHERE user_id = 'u1'",
        "UPDATE purchase SET owner = 'u2' WHERE owner = 'u1'",
        "UPDATE purchase SET owner = NULL WHERE owner = 'u1'",
        "UPDATE purchase SET outcome = (SELECT outcome FROM purchase WHERE owner = 'u2') WHERE owner = 'u1'",
        "UPDATE purchase SET purchase_id = 'other' WHERE owner = 'u1'",
        "UPDATE external_id SET purchase = (SELECT id FROM purchase WHERE owner = 'u2') WHERE value = 'tx_1'",
        "DELETE FROM external_id WHERE value = 'tx_1'",
        "UPDATE external_id SET rank = 9 WHERE value = 'tx_1'",
        "UPDATE subscription SET turns_at = turns_at + 1 WHERE user_id = 'u1'",
        "UPDATE subscription SET turns_at = NULL WHERE user_id = 'u2'",
        "DELETE FROM dependency WHERE purchase = (SELECT id FROM purchase WHERE owner = 'u1')",
    ])
    func aDifferenceIsToldAndMended(damage: String) throws {
        let gateway = try Self.gateway()
        let before = try Self.rows(gateway)
        try SQLDatabase(gateway.database).execute(damage)
        let check = try gateway.run(["rebuild", "--check"])
        #expect(check.status == .exited(1))
        #expect(check.output.contains("different"))
        let again = try gateway.run(["rebuild", "--check", "--json"])
        #expect(again.status == .exited(1), "a check mends nothing")
        #expect(try JSONValue(parsing: again.output)["differences"]?.array.isEmpty == false)
        #expect(try gateway.run(["rebuild"]).status == .exited(0))
        #expect(try gateway.run(["rebuild", "--check"]).status == .exited(0))
        #expect(try Self.rows(gateway) == before)
    }

    /// A look at a large database takes minutes, and deliveries cannot wait for it.
    @Test func aCheckHoldsNobodyUp() throws {
        let gateway = try Self.gateway()
        let database = try SQLDatabase(gateway.database)
        try database.execute("BEGIN IMMEDIATE")
        let check = try gateway.run(["rebuild", "--check"])
        #expect(check.status == .exited(0), "\(check.errors)")
        try database.execute("ROLLBACK")
    }

    /// A row of somebody who owns nothing is a yes that nothing stands behind.
    @Test func aRowOfNobodysPurchaseIsMended() throws {
        let gateway = try Self.gateway()
        try SQLDatabase(gateway.database).execute(
            """
            INSERT INTO subscription (user_id, environment, version, updated_at, body)
            SELECT 'ghost', environment, version, updated_at, body FROM subscription WHERE user_id = 'u1'
            """
        )
        #expect(try gateway.run(["rebuild", "--check"]).status == .exited(1))
        #expect(try gateway.run(["rebuild"]).status == .exited(0))
        let check = try gateway.run(["rebuild", "--check"])
        #expect(check.status == .exited(0), "\(check.output)")
    }
}
