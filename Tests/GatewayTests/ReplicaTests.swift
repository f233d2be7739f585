#if Postgres
    internal import Foundation
    internal import TestSupport
    internal import Testing

    /// Reads from a standby that may be behind: a yes may be a moment old, a no never is, and nobody reads what is older than what
    /// they were told.
    @Suite(.serialized, .ownThread, .enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
    struct ReplicaTests {
        private static let inUse = "gateway_replica_in_use"
        private static let byReplica = "gateway_rows_read_total{server=\"replica\"}"
        private static let byPrimary = "gateway_rows_read_total{server=\"primary\"}"
        private static let confirmed = "gateway_replica_confirmations_total"

        /// A primary with a standby, and a gateway that reads from it.
        private struct Pair {
            let primary: PostgresServer
            let standby: PostgresServer
            let gateway: RunningGateway

            /// - Parameter lag: What the standby may be behind, in seconds.
            init(lag: Int = 300) throws {
                primary = try PostgresServer()
                standby = try PostgresServer(copying: primary, name: "copy")
                gateway = try PostgresGateways.make(
                    primary.url("gw"),
                    ["GATEWAY_DATABASE_REPLICA": standby.url("gw"), "GATEWAY_DATABASE_REPLICA_LAG": String(lag)]
                )
                try gateway.start()
            }

            func metric(_ name: String) throws -> Double { try MetricsReading.of(gateway)[name] }

            /// Waits until the standby is asked for the rows that were written.
            func settle() throws {
                guard
                    try PostgresGateways.eventually({
                        let before = try metric(byReplica)
                        _ = try gateway.entitlement(of: "u1")
                        return try metric(inUse) == 1 && metric(byReplica) > before
                    })
                else { throw GatewayTestError("the standby is not asked: \(gateway.logTail)") }
            }
        }

        @Test func aYesComesFromTheReplicaAndANoIsConfirmed() throws {
            let pair = try Pair()
            let (gateway, primary) = (pair.gateway, pair.primary)
            try gateway.grant("u1", until: nil)
            try pair.settle()
            #expect(try MetricsReading.of(gateway).samples["gateway_replica_lag_seconds"] ?? 100 < 20)

            // Nobody tells the gateway of what happens here, and the standby does not hear of it.
            try pair.standby.sql("SELECT pg_wal_replay_pause()")
            try primary.sql(
                """
                INSERT INTO subscription (user_id, environment, version, updated_at, body, judged_at, turns_at, sequence)
                SELECT 'late', environment, version + 1, updated_at, body, judged_at, turns_at, sequence + 1
                FROM subscription WHERE user_id = 'u1';
                UPDATE subscription SET version = version + 2, sequence = sequence + 2 WHERE user_id = 'u1'
                """,
                in: "gw"
            )
            let old = try gateway.entitlement(of: "u1")
            let version = try #require(old["version"]?.integer)
            #expect(old["entitled"] == true)
            // A no is asked for again: the one who has just paid is there.
            #expect(try gateway.entitlement(of: "late")["entitled"] == true)
            #expect(try gateway.entitlement(of: "nobody")["status"] == "none")
            #expect(try gateway.ask("GET", "/v1/gate/late", key: RunningGateway.readKey).status == 200)
            #expect(try gateway.ask("GET", "/v1/gate/nobody", key: RunningGateway.readKey).status == 403)
            let body = #"{"user_ids":["u1","late","nobody"]}"#
            let many = try gateway.ask("POST", "/v1/entitlements/query", key: RunningGateway.readKey, body: body).json()
            #expect(many["entitlements"]?.array.map { $0["entitled"]?.bool } == [true, true, false])
            #expect(try pair.metric(Self.confirmed) >= 5)
            // Who knows of a newer version gets it.
            #expect(try gateway.entitlement(of: "u1", "after=\(version)")["version"]?.integer == version)
            #expect(try gateway.entitlement(of: "u1", "after=\(version + 2)")["version"]?.integer == version + 2)
            let tag = HTTPHeader("If-None-Match", "\"\(version + 2)-1-1\"")
            let target = "/v1/users/u1/entitlement"
            let known = try gateway.ask("GET", target, key: RunningGateway.readKey, headers: [tag])
            #expect(known.header("ETag")?.contains("\(version + 2)-") == true, "\(known.status) \(known.text)")
            let waited = try gateway.entitlement(of: "u1", "wait=20&after=\(version)")
            #expect(waited["version"]?.integer == version + 2)
        }

        @Test func whatWasToldIsReadFromThePrimary() throws {
            let pair = try Pair()
            let gateway = pair.gateway
            let other = try PostgresGateways.make(pair.primary.url("gw"))
            try other.start()
            try gateway.grant("u1", until: nil, id: "g1")
            try pair.settle()
            try pair.standby.sql("SELECT pg_wal_replay_pause()")
            // Taken away by another gateway: the standby still says yes, and whoever was told of it must not hear that.
            let target = "/v1/users/u1/grants/g1"
            #expect(try other.ask("DELETE", target).status < 300)
            #expect(try PostgresGateways.eventually { try gateway.entitlement(of: "u1")["entitled"] == false })
            for _ in 0..<20 { #expect(try gateway.entitlement(of: "u1")["entitled"] == false) }
            // And what this one has written itself at once.
            try gateway.grant("u2", until: nil, id: "g2")
            #expect(try gateway.entitlement(of: "u2")["entitled"] == true)
            #expect(try gateway.ask("DELETE", "/v1/users/u2/grants/g2").status < 300)
            #expect(try gateway.entitlement(of: "u2")["entitled"] == false)
            try pair.standby.sql("SELECT pg_wal_replay_resume()")
            try gateway.grant("u1", until: nil, id: "g3")
            try pair.settle()
        }

        @Test func aReplicaTooFarBehindOrGoneIsNotAsked() throws {
            let pair = try Pair(lag: 2)
            let gateway = pair.gateway
            try gateway.grant("u1", until: nil)
            try pair.settle()
            // An idle primary is no lag.
            Thread.sleep(forTimeInterval: 3)
            #expect(try pair.metric(Self.inUse) == 1)
            try pair.standby.sql("SELECT pg_wal_replay_pause()")
            try pair.primary.sql("SELECT pg_logical_emit_message(false, 'a', 'b'); SELECT pg_switch_wal()", in: "gw")
            #expect(try PostgresGateways.eventually { try pair.metric(Self.inUse) == 0 })
            let (before, primary) = (try pair.metric(Self.byReplica), try pair.metric(Self.byPrimary))
            for _ in 0..<5 { #expect(try gateway.entitlement(of: "u1")["entitled"] == true) }
            #expect(try pair.metric(Self.byReplica) == before)
            #expect(try pair.metric(Self.byPrimary) == primary + 5)
            try pair.standby.sql("SELECT pg_wal_replay_resume()")
            try pair.settle()
            pair.standby.kill()
            for _ in 0..<5 { #expect(try gateway.entitlement(of: "u1")["entitled"] == true) }
            #expect(try PostgresGateways.eventually { try pair.metric(Self.inUse) == 0 })
            try pair.standby.start()
            try pair.settle()
        }

        @Test func withoutThePrimaryNobodyIsToldNo() throws {
            let pair = try Pair(lag: 300)
            let gateway = pair.gateway
            try gateway.grant("u1", until: nil)
            try pair.settle()
            pair.primary.kill()
            // Within the bound a yes is a yes; a no cannot be confirmed.
            for _ in 0..<3 {
                #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
                #expect(try PostgresGateways.status(of: "nobody", gateway) == 503)
                #expect(try gateway.ask("GET", "/v1/gate/nobody", key: RunningGateway.readKey).status == 503)
            }
            try pair.primary.start()
            #expect(try PostgresGateways.eventually { try PostgresGateways.status(of: "nobody", gateway) == 200 })
            try pair.settle()
        }

        @Test func withoutThePrimaryAYesEndsWithTheBound() throws {
            let pair = try Pair(lag: 2)
            try pair.gateway.grant("u1", until: nil)
            try pair.settle()
            pair.primary.kill()
            #expect(try PostgresGateways.eventually { try PostgresGateways.status(of: "u1", pair.gateway) == 503 })
            for _ in 0..<3 { #expect(try PostgresGateways.status(of: "u1", pair.gateway) == 503) }
            try pair.primary.start()
            #expect(try PostgresGateways.eventually { try PostgresGateways.status(of: "u1", pair.gateway) == 200 })
        }

        @Test func aWrongReplicaIsExplained() throws {
            let pair = try Pair()
            let gateway = pair.gateway
            try gateway.grant("u1", until: nil)
            try pair.settle()
            let sound = try gateway.run(["doctor"])
            #expect(sound.output.contains("is a replica of it"), "\(sound.output)")
            // It becomes a primary of its own.
            try pair.standby.promote()
            #expect(try PostgresGateways.eventually { try pair.metric(Self.inUse) == 0 })
            #expect(try gateway.entitlement(of: "u1")["entitled"] == true)
            #expect(try PostgresGateways.eventually { gateway.text(of: "gateway.log").contains("it is no replica") })
            let promoted = try gateway.run(["doctor"])
            #expect(promoted.output.contains("it takes writes of its own"), "\(promoted.output)")
            #expect(promoted.status == .exited(1))
            // A copy of another server.
            let other = try PostgresServer()
            let copy = try PostgresServer(copying: other, name: "copy")
            let wrong = try gateway.run(["doctor"], changes: ["GATEWAY_DATABASE_REPLICA": copy.url("postgres")])
            #expect(wrong.output.contains("a copy of another server"), "\(wrong.output)")
            #expect(wrong.status == .exited(1))
        }

        @Test(arguments: [
            (
                ["GATEWAY_DATABASE": "gateway.db", "GATEWAY_DATABASE_REPLICA": "postgres://a/b"],
                "a file has no replica"
            ),
            (["GATEWAY_DATABASE": "postgres://a/b", "GATEWAY_DATABASE_REPLICA": "postgres://b,c/b"], "one server"),
            (["GATEWAY_DATABASE_REPLICA": "postgres://a/b", "GATEWAY_DATABASE_REPLICA_LAG": "0"], "expected seconds"),
        ])
        func aMistakeStopsTheStart(environment: [String: String], words: String) throws {
            let gateway = try RunningGateway(environment)
            let error = #expect(throws: GatewayTestError.self) { try gateway.start() }
            #expect(error?.description.contains(words) == true, "\(String(describing: error))")
        }
    }
#endif
