internal import Foundation

/// Validating a licence beside asking the gate: both read one row, the licence its seat, too, and it signs a token.
struct LicenceMeasurement {
    private static let connections = 32

    let options: BenchOptions
    let folder: String

    init(_ options: BenchOptions, folder: String) {
        self.options = options
        self.folder = folder
    }

    func run(_ users: Int, _ database: String) throws(BenchError) {
        let gateway = try Measurement.gateway(options, database, folder)
        defer { gateway.stop() }
        let user = Population.userID(0)
        let made = try ask(gateway, "/v1/licenses", ["user_id": user], key: Measurement.adminKey)
        guard let key = made["license_key"] as? String else { throw BenchError("no licence was made: \(made)") }
        let device = ["license_key": key, "device_id": "bench"]
        _ = try ask(gateway, "/v1/licenses/activate", device)
        let valid = try ask(gateway, "/v1/licenses/validate", device)
        guard valid["valid"] as? Bool == true else { throw BenchError("the licence is not valid: \(valid)") }
        let posts = try Measurement.script(LoadScript.posts, "posts", folder)
        let reads = try Measurement.script(LoadScript.reads, "reads", folder)
        var runs: [(licence: LoadRun, gate: LoadRun)] = []
        for round in 0..<options.rounds {
            Bench.tell("licences: \(users) users, round \(round + 1) …")
            let licence = try LoadRun.run(
                gateway,
                script: posts,
                arguments: ["/v1/licenses/validate", Self.json(device)],
                connections: Self.connections,
                seconds: options.seconds
            )
            let gate = try LoadRun.run(
                gateway,
                script: reads,
                arguments: ["1", "uniform", Measurement.readKey, "\(round)"],
                connections: Self.connections,
                seconds: options.seconds
            )
            runs.append((licence, gate))
        }
        func median(_ value: ((licence: LoadRun, gate: LoadRun)) -> Double) -> Double {
            FiguresTable.median(runs.map(value))
        }
        Bench.say(
            """
            \(users) users, \(Self.connections) connections: \(FiguresTable.number(median { $0.licence.requestsPerSecond })) licence validations/s \
            (CPU \(FiguresTable.number(median { $0.licence.cpuMicros }, 1)) µs), gate of the same person \
            \(FiguresTable.number(median { $0.gate.requestsPerSecond })) reads/s (CPU \(FiguresTable.number(median { $0.gate.cpuMicros }, 1)) µs), \
            ratio \(FiguresTable.number(median { $0.licence.requestsPerSecond / $0.gate.requestsPerSecond }, 2)), errors \
            \(runs.reduce(0) { $0 + $1.licence.errors + $1.gate.errors })

            """
        )
    }

    private func ask(
        _ gateway: MeasuredServer,
        _ path: String,
        _ members: [String: String],
        key: String? = nil
    ) throws(BenchError) -> [String: Any] {
        guard let answer = LoopbackExchange.post(path, Self.json(members), port: gateway.port, key: key),
            let object = (try? JSONSerialization.jsonObject(with: Data(answer))) as? [String: Any]
        else { throw BenchError("\(path) gave no answer") }
        return object
    }

    private static func json(_ members: [String: String]) -> String {
        let data = try? JSONSerialization.data(
            withJSONObject: members,
            options: [.sortedKeys, .withoutEscapingSlashes]
        )
        return data.map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
