#if Postgres
    internal import Foundation
    internal import Glibc
    internal import TestSupport
    internal import Testing

    /// Two gateways over one database, one of which is killed again and again.
    @Suite(.serialized, .ownThread, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
    struct SharedDatabaseTests {
        private static let kills = 6

        @Test func nothingIsLostOrDoubledWhenOneIsKilledAgainAndAgain() throws {
            let server = try PostgresServer()
            let gateways = try (0..<2).map { _ in try PostgresGateways.make(server.url("gw")) }
            for gateway in gateways { try gateway.start() }
            let load = SteadyLoad(gateways, clients: 12, withGrants: true)
            defer { _ = load.end() }
            var answered = 0
            for round in 0..<Self.kills {
                #expect(try PostgresGateways.eventually { load.answeredCount >= answered + 40 })
                // Mostly one of them, so that the other one must take over what only one may do.
                let which = round == Self.kills / 2 ? 1 : 0
                _ = kill(-gateways[which].processNumber, SIGKILL)
                try gateways[which].waitForKill()
                answered = load.answeredCount
                // The other one goes on alone.
                #expect(try PostgresGateways.eventually { load.answeredCount >= answered + 10 })
                try gateways[which].start()
                load.moved(which, to: gateways[which].port)
            }
            let ledgers = load.end()
            #expect(ledgers.statuses[200] ?? 0 > 0)
            #expect(Set(ledgers.statuses.keys).isSubset(of: [200, 201, 503]), "\(ledgers.statuses)")

            let outcomes = try ledgers.sendAgain(to: gateways[1].port)
            for id in ledgers.answered where outcomes[id] != "duplicate" {
                Issue.record("\(id) was answered 200 and is lost: \(outcomes[id] ?? "")")
            }
            func count(_ what: String) throws -> Int { Int(try server.sql("SELECT \(what)", in: "gw")) ?? -1 }
            #expect(try count("count(*) FROM event WHERE provider = 'revenuecat'") == ledgers.events.count)
            let granted = try server.sql("SELECT grant_id FROM manual_grant", in: "gw").split(separator: "\n").map(
                String.init
            )
            #expect(Set(granted).count == granted.count)
            #expect(ledgers.grants.isSubset(of: granted), "a grant that was answered is lost")
            #expect(try count("count(*) FROM audit WHERE action = 'grant'") == granted.count)
            #expect(try count("count(*) - count(DISTINCT sequence) FROM subscription") == 0, "two changes, one number")
            #expect(try count("count(*) - count(DISTINCT version) FROM subscription") == 0, "two rows, one version")
            for (user, end) in ledgers.ends {
                let target = "/v1/users/\(user)/entitlement"
                let answers = try gateways.map { try $0.ask("GET", target, key: RunningGateway.readKey).text }
                #expect(answers[0] == answers[1])
                #expect(answers[0].contains(Clock.text(end)), "\(user): \(answers[0])")
            }
            for gateway in gateways { try gateway.stop() }
            let check = try gateways[0].run(["rebuild", "--check"])
            #expect(check.status == .exited(0), "\(check.output) \(check.errors)")
        }
    }
#endif
