#if Postgres
    internal import Foundation
    internal import TestSupport
    internal import Testing

    /// A standby takes over: what was answered 200 is there, once, and everything goes on by itself.
    @Suite(.serialized, .ownThread, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
    struct FailoverTests {
        /// A primary whose commits wait for its standby.
        private struct Servers {
            let primary: PostgresServer
            let standby: PostgresServer

            init() throws {
                primary = try PostgresServer()
                standby = try PostgresServer(copying: primary, name: "second")
                try primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'second'")
                try primary.sql("SELECT pg_reload_conf()")
                let state = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
                guard try PostgresGateways.eventually({ try primary.sql(state) == "1" }) else {
                    throw GatewayTestError("no synchronous standby: \(primary.output)")
                }
            }

            /// Both, whichever takes writes.
            var url: String {
                let hosts = "127.0.0.1:\(primary.port),127.0.0.1:\(standby.port)"
                return "postgres://gateway@\(hosts)/gw?target_session_attrs=read-write"
            }
        }

        @Test func nothingAnsweredIsLostOrDoubledWhenTheStandbyTakesOver() throws {
            let servers = try Servers()
            let gateway = try PostgresGateways.make(servers.url)
            try gateway.start()
            let load = SteadyLoad([gateway], clients: 12, withGrants: false)
            defer { _ = load.end() }
            #expect(try PostgresGateways.eventually { load.answeredCount >= 150 })
            servers.primary.kill()
            let atKill = load.answeredCount
            #expect(try PostgresGateways.eventually { try PostgresGateways.readiness(gateway) == 503 })
            // Nobody is told no, or yes, by a gateway that cannot know.
            #expect(try PostgresGateways.status(of: "nobody", gateway) == 503)
            try servers.standby.promote()
            #expect(try PostgresGateways.eventually { try PostgresGateways.readiness(gateway) == 200 })
            #expect(try PostgresGateways.eventually { load.answeredCount >= atKill + 100 })
            let ledgers = load.end()
            #expect(Set(ledgers.statuses.keys).isSubset(of: [200, 503]), "\(ledgers.statuses)")
            #expect(ledgers.statuses[503] ?? 0 > 0)

            let outcomes = try ledgers.sendAgain(to: gateway.port)
            for id in ledgers.answered where outcomes[id] != "duplicate" {
                Issue.record("\(id) was answered 200 and is lost: \(outcomes[id] ?? "")")
            }
            let count = try servers.standby.sql("SELECT count(*) FROM event", in: "gw")
            #expect(count == String(ledgers.events.count))
            for (user, end) in ledgers.ends {
                let row = try gateway.entitlement(of: user)
                #expect(row["access_until"]?.string == Clock.text(end), "\(user)")
                #expect(row["entitled"] == true)
            }
            #expect(
                try servers.standby.sql("SELECT count(*) FROM subscription", in: "gw") == String(ledgers.ends.count)
            )
            try gateway.stop()
            let check = try gateway.run(["rebuild", "--check"])
            #expect(check.status == .exited(0), "\(check.output) \(check.errors)")
        }

        /// A server whose wait for its standby is ended commits and says that all is well; a failover would lose it.
        @Test func aCommitThatReachedOneServerOnlyIsNoSuccess() throws {
            let servers = try Servers()
            let gateway = try PostgresGateways.make(servers.url)
            try gateway.start()
            try gateway.deliver("revenuecat", RevenueCatEvent("evt-1", user: "u1", purchase: "tx-1").body)
            servers.standby.kill()
            let event = RevenueCatEvent("evt-2", user: "u2", purchase: "tx-2")
            let statuses = SharedResults<HTTPAnswer>()
            let port = gateway.port
            Thread.detachNewThread {
                statuses.add(
                    Result { () throws(HTTPFault) in
                        let request = WebhookSigner.request("revenuecat", Array(event.body.utf8))
                        return try HTTPConnection(port: port).send(request, seconds: 40)
                    }
                )
            }
            let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            #expect(try PostgresGateways.eventually { try servers.primary.sql("SELECT count(*) \(waiting)") != "0" })
            #expect(statuses.count == 0)
            try servers.primary.sql("SELECT pg_cancel_backend(pid) \(waiting)")
            #expect(try statuses.all(1, seconds: 40)[0].status == 503)
            try servers.standby.start()
            #expect(try PostgresGateways.eventually { try PostgresGateways.readiness(gateway) == 200 })
            let again = try gateway.deliver("revenuecat", event.body)
            #expect(again == "duplicate")
            #expect(try gateway.entitlement(of: "u2")["entitled"] == true)
        }
    }
#endif
