internal import Foundation

/// Signed deliveries into an empty database, beside a hand-written handler that keeps the same promise.
struct IntakeMeasurement {
    static let connections = 64

    let options: BenchOptions
    let folder: String

    init(_ options: BenchOptions, folder: String) {
        self.options = options
        self.folder = folder
    }

    func run() throws(BenchError) {
        let prepared = folder + "/deliveries"
        Bench.tell("signing \(options.deliveries) deliveries …")
        try Deliveries.write(options.deliveries, to: prepared)
        defer {
            for thread in 1...LoadRun.threads { try? FileManager.default.removeItem(atPath: "\(prepared).\(thread)") }
        }
        let script = try Measurement.script(LoadScript.deliveries, "deliveries", folder)
        var (own, others): ([LoadRun], [LoadRun]) = ([], [])
        for round in 0..<options.rounds {
            Bench.tell("intake: round \(round + 1) …")
            func measure(_ server: MeasuredServer) throws(BenchError) -> LoadRun {
                defer { server.stop() }
                return try LoadRun.run(
                    server,
                    script: script,
                    arguments: [prepared, "/v1/webhooks/creem"],
                    connections: Self.connections,
                    seconds: options.seconds
                )
            }
            if round % 2 == 0 { own.append(try measure(gateway())) }
            others.append(try measure(handler()))
            if round % 2 == 1 { own.append(try measure(gateway())) }
        }
        var table = FiguresTable([
            "intake, \(options.deliveries) users, \(Self.connections) connections", "deliveries/s", "p50 ms", "p99 ms",
            "CPU µs/delivery", "errors",
        ])
        table.add(["gateway"] + cells(own))
        table.add(["handler"] + cells(others))
        Bench.say(table.text)
        let ratios = zip(own, others).map { $0.requestsPerSecond / max($1.requestsPerSecond, 1e-9) }
        Bench.say("\nratio \(FiguresTable.number(FiguresTable.median(ratios), 2))\n")
    }

    private func cells(_ runs: [LoadRun]) -> [String] {
        func median(_ value: (LoadRun) -> Double) -> Double { FiguresTable.median(runs.map(value)) }
        return [
            FiguresTable.number(median { $0.requestsPerSecond }), FiguresTable.number(median { $0.p50 / 1000 }, 2),
            FiguresTable.number(median { $0.p99 / 1000 }, 2), FiguresTable.number(median { $0.cpuMicros }),
            "\(runs.map(\.errors).reduce(0, +))",
        ]
    }

    private func gateway() throws(BenchError) -> MeasuredServer {
        let database = folder + "/intake.db"
        Measurement.remove(database)
        return try Measurement.gateway(options, database, folder)
    }

    private func handler() throws(BenchError) -> MeasuredServer {
        let database = folder + "/handler.db"
        Measurement.remove(database)
        return try MeasuredServer(
            "handler",
            options.python,
            [options.handler, database, "\(Measurement.handlerPort)"],
            environment: ["CREEM_WEBHOOK_SECRET": Deliveries.secret],
            folder: folder,
            port: Measurement.handlerPort,
            probe: "/healthz"
        )
    }
}
