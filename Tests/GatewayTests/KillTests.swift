internal import CSQLite
internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

/// What was answered 200 is on the disk, whenever the program is killed.
///
/// `GATEWAY_KILL_ROUNDS` sets the number of rounds, `GATEWAY_KILL_SEED` repeats a run.
@Suite("kill -9 under load", .ownThread)
struct KillTests {
    private static let clients = 32
    /// More than a round needs: the clients end with the gateway.
    private static let deliveriesPerClient = 60
    /// Users that several clients renew at the same time; others after so many rounds, as nobody renews thousands of times.
    private static let sharedUsers = 5
    private static let roundsOfSharedUsers = 10
    private static let lastAnswer: UInt64 = 300

    @Test func nothingAnsweredIsLost() throws {
        let variables = ProcessInfo.processInfo.environment
        let rounds = variables["GATEWAY_KILL_ROUNDS"].flatMap(Int.init) ?? 10
        let seed = variables["GATEWAY_KILL_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
        print("kill test: GATEWAY_KILL_SEED=\(seed) GATEWAY_KILL_ROUNDS=\(rounds)")
        var random = SplitMix64(seed: seed)
        let gateway = try RunningGateway()
        try gateway.start()
        var everything: [LedgerEntry] = []
        var sharedPeriods = Int64(0)
        var cutOff = 0
        for round in 0..<rounds {
            var (plan, unanswered) = try Self.roundUntilKill(round, &everything, &sharedPeriods, &random, gateway)
            #expect(unanswered >= KillSwitch.inFlightMin, "round \(round), seed \(seed): too few in flight")
            cutOff += unanswered
            try gateway.start()
            try Self.compareRows(
                of: plan,
                among: everything + plan,
                gateway,
                "round \(round) after the kill, seed \(seed)"
            )
            try Self.sendAgain(&plan, gateway, "round \(round), seed \(seed)")
            everything += plan.filter(\.isSent)
        }
        try Self.compareRows(of: everything, among: everything, gateway, "at the end, seed \(seed)")
        for entry in everything where try gateway.deliver("revenuecat", entry.event.body) != "duplicate" {
            Issue.record("\(entry.event.id) was taken in twice, seed \(seed)")
        }
        try gateway.stop()
        let check = try gateway.run(["rebuild", "--check"])
        #expect(check.status == .exited(0), "\(check.output) \(check.errors), seed \(seed)")
        let database = try SQLDatabase(gateway.database)
        #expect(try database.integer("SELECT count(*) FROM event") == Int64(everything.count), "seed \(seed)")
        #expect(try database.text("PRAGMA integrity_check") == "ok")
        print("kill test: \(everything.count) deliveries, \(cutOff) of them cut off by a kill")
    }

    // MARK: - The steps of a round

    /// Loads until there was a kill. On a machine that is busy with something else a load may end without one, because too
    /// few deliveries are on their way at once: all of it was answered then, and the next one follows.
    private static func roundUntilKill(
        _ round: Int,
        _ everything: inout [LedgerEntry],
        _ sharedPeriods: inout Int64,
        _ random: inout SplitMix64,
        _ gateway: RunningGateway
    ) throws -> (plan: [LedgerEntry], unanswered: Int) {
        for attempt in 0..<20 {
            var plan = plan("\(round)-\(attempt)", round / roundsOfSharedUsers, &sharedPeriods, &random)
            let answersWanted = Int(random.next() % lastAnswer) + 1
            if let unanswered = try load(&plan, gateway, killAfter: answersWanted) { return (plan, unanswered) }
            everything += plan
        }
        throw GatewayTestError("no load was enough for a kill")
    }

    /// Deliveries of every client one after the other: mostly purchases of a user each, and renewals of shared users.
    private static func plan(
        _ round: String,
        _ generation: Int,
        _ sharedPeriods: inout Int64,
        _ random: inout SplitMix64
    ) -> [LedgerEntry] {
        var plan: [LedgerEntry] = []
        for number in 0..<clients * deliveriesPerClient {
            let name = "r\(round)-\(number)"
            let isShared = random.next() % 4 == 0
            let user = isShared ? "shared-\(generation)-\(random.next() % UInt64(sharedUsers))" : "user-\(name)"
            var event = RevenueCatEvent("evt-\(name)", user: user, purchase: isShared ? "tx-\(user)" : "tx-\(name)")
            if isShared {
                // A later period each, so that the newest of those taken in is known whatever their order.
                sharedPeriods += 1
                event.type = "RENEWAL"
                event.transaction = "tx-\(name)"
                event.start += sharedPeriods * 1000
                event.end += sharedPeriods * 1000
            }
            plan.append(LedgerEntry(event: event, isShared: isShared))
        }
        return plan
    }

    /// All clients send until the gateway is gone; gives the number of deliveries that were on their way then, nil when
    /// everything was answered before.
    private static func load(
        _ plan: inout [LedgerEntry],
        _ gateway: RunningGateway,
        killAfter count: Int
    ) throws -> Int? {
        let killSwitch = KillSwitch(process: gateway.processNumber, afterAnswers: count)
        let (port, entries) = (gateway.port, plan)
        let perClient = try inParallel(count: clients, atMost: clients) { client throws(GatewayTestError) in
            let connection = HTTPConnection(port: port)
            var sent: [(place: Int, outcome: String?)] = []
            for place in stride(from: client, to: entries.count, by: clients) {
                let request = WebhookSigner.request("revenuecat", Array(entries[place].event.body.utf8))
                killSwitch.willSend()
                guard let answer = try? connection.send(request, seconds: 20) else {
                    sent.append((place, nil))
                    break
                }
                killSwitch.wasAnswered()
                guard answer.status == 200, let outcome = try? answer.json()["outcome"]?.string else {
                    throw GatewayTestError("\(answer.status) \(answer.text)")
                }
                sent.append((place, outcome))
            }
            return sent
        }
        for (place, outcome) in perClient.joined() {
            plan[place].isSent = true
            plan[place].outcome = outcome
        }
        guard let inFlight = killSwitch.inFlightAtKill else { return nil }
        try gateway.waitForKill()
        return inFlight
    }

    /// What was answered is in the rows, and nothing that was never sent.
    private static func compareRows(
        of plan: [LedgerEntry],
        among all: [LedgerEntry],
        _ gateway: RunningGateway,
        _ place: String
    ) throws {
        let users = Set(plan.map(\.event.user))
        for (user, expected) in all.expectedRows where users.contains(user) {
            let row = try gateway.entitlement(of: user)
            let end = row["access_until"]?.string
            if let last = expected.answered.max() {
                let possible = expected.sent.filter { $0 >= last }.map(Clock.text)
                #expect(end.map(possible.contains) == true, "\(user) ends at \(end ?? "null"), \(place)")
                #expect(row["entitled"]?.bool == true, "\(user), \(place)")
            } else {
                #expect(end.map(expected.sent.map(Clock.text).contains) ?? true, "\(user), \(place)")
            }
        }
    }

    /// A provider sends again what it was not told 200 about, and now and then what it was.
    private static func sendAgain(_ plan: inout [LedgerEntry], _ gateway: RunningGateway, _ place: String) throws {
        let (port, entries) = (gateway.port, plan)
        let outcomes = try inParallel(count: clients, atMost: clients) { client throws(GatewayTestError) in
            let connection = HTTPConnection(port: port)
            var outcomes: [(place: Int, outcome: String)] = []
            for place in stride(from: client, to: entries.count, by: clients) where entries[place].isSent {
                let request = WebhookSigner.request("revenuecat", Array(entries[place].event.body.utf8))
                guard let answer = try? connection.send(request, seconds: 20), answer.status == 200,
                    let outcome = try? answer.json()["outcome"]?.string
                else { throw GatewayTestError("\(entries[place].event.id) was not taken the second time") }
                outcomes.append((place, outcome))
            }
            return outcomes
        }
        for (number, outcome) in outcomes.joined() {
            let entry = plan[number]
            // An older period of a shared purchase may change nothing any more.
            let possible = entry.isShared ? ["applied", "duplicate", "unchanged", "stale"] : ["applied", "duplicate"]
            if entry.outcome != nil {
                #expect(outcome == "duplicate", "\(entry.event.id) was answered 200 and is lost, \(place)")
            } else {
                #expect(possible.contains(outcome), "\(entry.event.id): \(outcome), \(place)")
            }
            plan[number].outcome = entry.outcome ?? outcome
        }
    }
}
