internal import Foundation

/// Signed deliveries into an empty database, beside a hand-written handler that keeps the same promise, and beside a program
/// that writes the same rows in transactions of the same size.
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
        var (own, others, alone): ([LoadRun], [LoadRun], [LoadRun]) = ([], [], [])
        var (batches, bare, bareAlone): ([Double], [BareRows.Figures], [BareRows.Figures]) = ([], [], [])
        let rows = options.rows.isEmpty ? nil : BareRows(program: options.rows, options: options, folder: folder)
        for round in 0..<options.rounds {
            Bench.tell("intake: round \(round + 1) …")
            func measure(_ server: MeasuredServer, connections: Int = Self.connections) throws(BenchError) -> LoadRun {
                defer { server.stop() }
                let run = try LoadRun.run(
                    server,
                    script: script,
                    arguments: [prepared, "/v1/webhooks/creem"],
                    connections: connections,
                    seconds: options.seconds
                )
                if server.name == "gateway", connections == Self.connections { batches.append(Self.batchSize()) }
                return run
            }
            if round % 2 == 0 { own.append(try measure(gateway())) }
            others.append(try measure(handler()))
            if round % 2 == 1 { own.append(try measure(gateway())) }
            guard let rows else { continue }
            let batch = max(1, Int((batches.last ?? 1).rounded()))
            bare.append(try rows.run(deliveries: options.deliveries, batch: batch))
            alone.append(try measure(gateway(), connections: 1))
            bareAlone.append(try rows.run(deliveries: 2000, batch: 1))
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
        guard rows != nil else { return }
        func ratio(_ pairs: [Double]) -> String { FiguresTable.number(FiguresTable.median(pairs), 2) }
        func number(_ values: [Double]) -> String { FiguresTable.number(FiguresTable.median(values)) }
        Bench.say(
            """
            the rows alone, \(number(batches)) deliveries a transaction: \(number(bare.map(\.deliveriesPerSecond))) deliveries/s; the gateway \
            writes \(ratio(zip(own, bare).map { $0.requestsPerSecond / $1.deliveriesPerSecond })) of that
            one connection: \(number(alone.map(\.p50))) µs a delivery, \(number(bareAlone.map(\.microsPerTransaction))) µs a transaction of the rows \
            alone: \(ratio(zip(alone, bareAlone).map { $0.p50 / $1.microsPerTransaction })) times

            """
        )
    }

    /// Deliveries of one transaction, of the gateway that runs.
    private static func batchSize() -> Double {
        let answer = LoopbackExchange.get("/metrics", port: Measurement.gatewayPort, key: Measurement.adminKey) ?? []
        func value(_ name: String) -> Double {
            let line = String(decoding: answer, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(name + " ") }
            return line.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) } ?? 0
        }
        return value("gateway_write_batch_size_sum") / max(value("gateway_write_batch_size_count"), 1)
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
