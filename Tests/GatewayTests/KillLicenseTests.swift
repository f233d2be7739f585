internal import Foundation
internal import Synchronization
internal import TestSupport
internal import Testing

/// Licences, seats and notifications survive `kill -9` as events do: what was answered is there, and whoever was given
/// something is told of it, however often the program died in between.
///
/// `GATEWAY_KILL_ROUNDS` sets the number of rounds, `GATEWAY_KILL_SEED` repeats a run.
@Suite("kill -9 under licences and notifications", .ownThread)
struct KillLicenseTests {
    private static let clients = 24
    private static let peoplePerClient = 40
    private static let lastAnswer: UInt64 = 150

    /// What one person was answered.
    private struct Kept: Sendable {
        var user: String
        var isGranted = false
        var license: String?
        var key: String?
        /// Devices whose seats were answered, and the one that was asked for and not answered.
        var seats: Set<String> = []
        var asked: Set<String> = []
    }

    @Test func nothingAnsweredIsLost() throws {
        let variables = ProcessInfo.processInfo.environment
        let rounds = variables["GATEWAY_KILL_ROUNDS"].flatMap(Int.init) ?? 3
        let seed = variables["GATEWAY_KILL_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
        var random = SplitMix64(seed: seed)
        // Half of the messages are refused the first time: they are sent again.
        let receiver = try TestReceiver { number, _ in number % 2 == 0 ? 503 : 204 }
        let gateway = try RunningGateway(["NOTIFY_SECRET": TestReceiver.secret], config: receiver.config).start()
        var everyone: [Kept] = []
        for round in 0..<rounds {
            var kept: [Kept] = []
            var isKilled = false
            // On a busy machine a load may end before enough requests are on their way at once: another one follows.
            for attempt in 0..<20 where !isKilled {
                let count = Int(random.next() % Self.lastAnswer) + 1
                let load = try Self.load("\(round)-\(attempt)", gateway, killAfter: count)
                kept += load.kept
                isKilled = load.isKilled
            }
            try #require(isKilled, "no load was enough for a kill")
            try gateway.start()
            for person in kept { try Self.compare(person, gateway, "round \(round), seed \(seed)") }
            everyone += kept
        }
        let given = everyone.filter(\.isGranted).map(\.user)
        try Stress.eventually("every message is taken, seed \(seed)", seconds: 60) {
            try gateway.stop()
            // What waits for its next attempt need not be waited for here.
            let database = try SQLDatabase(gateway.database)
            try database.execute("UPDATE outbox SET next_at = 1 WHERE next_at IS NOT NULL")
            let left = try database.integer("SELECT count(*) FROM outbox WHERE dead_at IS NULL")
            try gateway.start()
            if left > 0 { Thread.sleep(forTimeInterval: 0.5) }
            return left == 0
        }
        let told = try receiver.deliveries(receiver.count)
        let users = Set(told.filter { $0.data["entitled"] == true }.compactMap { $0.data["user_id"]?.string })
        #expect(Set(given).subtracting(users).isEmpty, "not told of, seed \(seed)")
        var ids: [String: String] = [:]
        for delivery in told {
            let user = delivery.data["user_id"]?.string ?? ""
            #expect(ids.updateValue(user, forKey: delivery.id) ?? user == user, "one id for two people, seed \(seed)")
        }
        try gateway.stop()
        let check = try gateway.run(["rebuild", "--check"])
        #expect(check.status == .exited(0), "\(check.output) \(check.errors), seed \(seed)")
        #expect(try SQLDatabase(gateway.database).text("PRAGMA integrity_check") == "ok")
        print("kill test: \(given.count) people with licences, \(told.count) notifications")
    }

    /// Every client gives one person after the other a grant, a licence and two seats, until the gateway is gone.
    private static func load(
        _ round: String,
        _ gateway: RunningGateway,
        killAfter count: Int
    ) throws -> (kept: [Kept], isKilled: Bool) {
        let killSwitch = KillSwitch(process: gateway.processNumber, afterAnswers: count)
        let port = gateway.port
        let perClient = try inParallel(count: clients, atMost: clients) { client throws(GatewayTestError) in
            let connection = HTTPConnection(port: port)
            func ask(_ target: String, _ body: String, isAdmin: Bool) throws(GatewayTestError) -> JSONValue? {
                let key = isAdmin ? RunningGateway.adminKey : nil
                killSwitch.willSend()
                guard
                    let answer = try? connection.send(
                        RunningGateway.request("POST", target, key: key, body: body),
                        seconds: 20
                    )
                else { return nil }
                killSwitch.wasAnswered()
                guard answer.status == 200 || answer.status == 201, let json = try? answer.json() else {
                    throw GatewayTestError("\(target): \(answer.status) \(answer.text)")
                }
                return json
            }
            var kept: [Kept] = []
            for number in 0..<peoplePerClient {
                var person = Kept(user: "user-\(round)-\(client)-\(number)")
                defer { kept.append(person) }
                let grant = "{\"until\": null, \"reason\": \"a test\"}"
                guard try ask("/v1/users/\(person.user)/grants", grant, isAdmin: true) != nil else { break }
                person.isGranted = true
                let wanted = "{\"user_id\": \"\(person.user)\", \"max_devices\": 2}"
                guard let made = try ask("/v1/licenses", wanted, isAdmin: true) else { break }
                (person.license, person.key) = (made["license_id"]?.string, made["license_key"]?.string)
                var isGone = false
                for device in ["d1", "d2"] {
                    let seat = "{\"license_key\": \"\(person.key ?? "")\", \"device_id\": \"\(device)\"}"
                    person.asked.insert(device)
                    guard try ask("/v1/licenses/activate", seat, isAdmin: false) != nil else {
                        isGone = true
                        break
                    }
                    person.seats.insert(device)
                }
                if isGone { break }
            }
            return kept
        }
        let kept = perClient.flatMap { $0 }
        guard let inFlight = killSwitch.inFlightAtKill else { return (kept, false) }
        #expect(inFlight >= KillSwitch.inFlightMin)
        try gateway.waitForKill()
        return (kept, true)
    }

    private static func compare(_ person: Kept, _ gateway: RunningGateway, _ place: String) throws {
        guard person.isGranted else { return }
        #expect(try gateway.entitlement(of: person.user)["entitled"] == true, "\(person.user), \(place)")
        guard let license = person.license else { return }
        let answer = try gateway.ask("GET", "/v1/licenses/\(license)")
        #expect(answer.status == 200, "\(person.user), \(place)")
        let held = Set(try answer.json()["devices"]?.array.compactMap { $0["device_id"]?.string } ?? [])
        #expect(held.isSuperset(of: person.seats) && held.isSubset(of: person.asked), "\(person.user), \(place)")
        // A third device finds no seat, whatever was in flight.
        guard person.seats.count == 2 else { return }
        let third = "{\"license_key\": \"\(person.key ?? "")\", \"device_id\": \"d3\"}"
        #expect(try gateway.ask("POST", "/v1/licenses/activate", key: nil, body: third).status == 409, "\(place)")
    }
}
