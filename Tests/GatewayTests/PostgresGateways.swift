#if Postgres
    internal import Foundation
    internal import TestSupport

    /// What the tests of gateways over a PostgreSQL server share.
    enum PostgresGateways {
        /// A gateway over that database, not started.
        static func make(_ database: String, _ more: [String: String] = [:]) throws -> RunningGateway {
            try RunningGateway(["GATEWAY_DATABASE": database].merging(more) { $1 })
        }

        /// Waits until it is so; for what another thread or process does by itself.
        static func eventually(seconds: Double = 60, _ isSo: () throws -> Bool) throws -> Bool {
            let end = ContinuousClock.now + .seconds(seconds)
            while ContinuousClock.now < end {
                if try isSo() { return true }
                Thread.sleep(forTimeInterval: 0.05)
            }
            return false
        }

        /// The status of a question about a user; a gateway that does not answer has none.
        static func status(of user: String, _ gateway: RunningGateway) throws -> Int {
            try gateway.ask("GET", "/v1/users/\(user)/entitlement", key: RunningGateway.readKey).status
        }

        static func readiness(_ gateway: RunningGateway) throws -> Int {
            try gateway.ask("GET", "/readyz", key: nil).status
        }
    }
#endif
