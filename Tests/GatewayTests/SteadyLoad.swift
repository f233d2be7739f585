#if Postgres
    internal import Foundation
    internal import TestSupport

    /// Clients that deliver, grant and read as the world does, whatever becomes of the gateways: what was not answered 200 is sent
    /// again, to the same gateway or another one.
    final class SteadyLoad: Sendable {
        /// Users that several clients renew at the same time.
        private static let sharedUsers = 5

        /// What one client has sent.
        struct Ledger: Sendable {
            var events: [RevenueCatEvent] = []
            /// By id.
            var answered: Set<String> = []
            var grants: Set<String> = []
            /// Statuses of all answers, and how often there was none.
            var statuses: [Int: Int] = [:]
            var faults = 0
        }

        private let ports: Locked<[UInt16]>
        private let isOver = Locked(false)
        private let ledgers: Locked<[Ledger]>
        private let periods = Locked<Int64>(0)
        private let threads = DispatchGroup()
        private let withGrants: Bool

        init(_ gateways: [RunningGateway], clients: Int, withGrants: Bool) {
            ports = Locked(gateways.map(\.port))
            ledgers = Locked([Ledger](repeating: Ledger(), count: clients))
            self.withGrants = withGrants
            for client in 0..<clients {
                threads.enter()
                Thread.detachNewThread { [self] in
                    run(client)
                    threads.leave()
                }
            }
        }

        /// A gateway has another port now.
        func moved(_ gateway: Int, to port: UInt16) { ports.with { $0[gateway] = port } }

        var answeredCount: Int { ledgers.with { $0.reduce(0) { $0 + $1.answered.count } } }

        /// Lets all clients come to an end; what they have sent.
        func end() -> [Ledger] {
            isOver.with { $0 = true }
            threads.wait()
            return ledgers.with { $0 }
        }

        private func run(_ client: Int) {
            var random = SplitMix64(seed: UInt64(client) + 1)
            var connections: [UInt16: HTTPConnection] = [:]
            var target = client
            var number = 0
            func send(_ request: HTTPRequest) -> HTTPAnswer? {
                let port = ports.with { $0[target % $0.count] }
                let connection = connections[port] ?? HTTPConnection(port: port)
                connections[port] = connection
                let answer = try? connection.send(request, seconds: 40)
                ledgers.with { ledgers in
                    if let answer {
                        ledgers[client].statuses[answer.status, default: 0] += 1
                    } else {
                        ledgers[client].faults += 1
                    }
                }
                return answer
            }
            while !isOver.with({ $0 }) {
                number += 1
                let event = event("\(client)-\(number)", &random)
                ledgers.with { $0[client].events.append(event) }
                let request = WebhookSigner.request("revenuecat", Array(event.body.utf8))
                while !isOver.with({ $0 }) {
                    if send(request)?.status == 200 {
                        _ = ledgers.with { $0[client].answered.insert(event.id) }
                        break
                    }
                    // Another one may be well.
                    target += 1
                    Thread.sleep(forTimeInterval: 0.02)
                }
                if withGrants, number % 5 == 0 {
                    let id = "g-\(client)-\(number)"
                    let body = #"{"until":null,"reason":"a test","grant_id":"\#(id)","entitlement":"extra"}"#
                    let grant = RunningGateway.request("POST", "/v1/users/shared-1/grants", body: body)
                    if let status = send(grant)?.status, status == 201 || status == 200 {
                        _ = ledgers.with { $0[client].grants.insert(id) }
                    }
                }
                let read = RunningGateway.request(
                    "GET",
                    "/v1/users/\(event.user)/entitlement",
                    key: RunningGateway.readKey
                )
                _ = send(read)
                target += 1
            }
        }

        /// Mostly purchases of a user each, and renewals of shared users, each with a later period.
        private func event(_ name: String, _ random: inout SplitMix64) -> RevenueCatEvent {
            guard random.next() % 4 == 0 else {
                return RevenueCatEvent("evt-\(name)", user: "user-\(name)", purchase: "tx-\(name)")
            }
            let user = "shared-\(random.next() % UInt64(Self.sharedUsers))"
            var event = RevenueCatEvent("evt-\(name)", user: user, purchase: "tx-\(user)")
            let period = periods.with { period in
                period += 1
                return period
            }
            event.type = "RENEWAL"
            event.transaction = "tx-\(name)"
            event.start += period * 1000
            event.end += period * 1000
            return event
        }
    }

    extension [SteadyLoad.Ledger] {
        var events: [RevenueCatEvent] { flatMap(\.events) }
        var grants: Set<String> { reduce(into: []) { $0.formUnion($1.grants) } }
        var statuses: [Int: Int] { reduce(into: [:]) { $0.merge($1.statuses, uniquingKeysWith: +) } }

        /// Sends everything again, as providers do when they are not sure. The outcomes by event.
        func sendAgain(to port: UInt16) throws -> [String: String] {
            let events = events
            let clients = 8
            let outcomes = try inParallel(count: clients, atMost: clients) { client throws(GatewayTestError) in
                let connection = HTTPConnection(port: port)
                var outcomes: [(String, String)] = []
                for place in stride(from: client, to: events.count, by: clients) {
                    let request = WebhookSigner.request("revenuecat", [UInt8](events[place].body.utf8))
                    guard let answer = try? connection.send(request, seconds: 40), answer.status == 200,
                        let outcome = try? answer.json()["outcome"]?.string
                    else { throw GatewayTestError("\(events[place].id) was not taken again") }
                    outcomes.append((events[place].id, outcome))
                }
                return outcomes
            }
            return Dictionary(outcomes.joined()) { first, _ in first }
        }

        /// What must be known to be answered 200: the end of each user's access, everything taken in.
        var ends: [String: Int64] {
            reduce(into: [:]) { ends, ledger in
                for event in ledger.events { ends[event.user] = Swift.max(ends[event.user] ?? 0, event.end) }
            }
        }

        var answered: Set<String> { reduce(into: []) { $0.formUnion($1.answered) } }
    }
#endif
