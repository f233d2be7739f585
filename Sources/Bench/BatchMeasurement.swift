/// Many users in one request beside one user a request, in turns.
struct BatchMeasurement {
    private static let batch = 1000
    /// As many as keep both loops busy.
    private static let connections = 16
    private static let firstReadsPerSecond = 30_000

    let options: BenchOptions
    let folder: String

    init(_ options: BenchOptions, folder: String) {
        self.options = options
        self.folder = folder
    }

    func run(_ users: Int, _ database: String) throws(BenchError) {
        let gateway = try Measurement.gateway(options, database, folder)
        defer { gateway.stop() }
        Bench.tell("batches: every one of \(users) users, not counted yet …")
        _ = try LoadRun.run(
            gateway,
            script: try Measurement.script(LoadScript.everyone, "everyone", folder),
            arguments: ["\(users)", Measurement.readKey],
            connections: Self.connections,
            seconds: 2 + users / Self.firstReadsPerSecond
        )
        let singles = try Measurement.script(LoadScript.reads, "reads", folder)
        let batches = try Measurement.script(LoadScript.batches, "batches", folder)
        var runs: [(single: LoadRun, batch: LoadRun)] = []
        for round in 0..<options.rounds {
            Bench.tell("batches: round \(round + 1) …")
            func measure(_ script: String, _ kind: String) throws(BenchError) -> LoadRun {
                try LoadRun.run(
                    gateway,
                    script: script,
                    arguments: ["\(users)", kind, Measurement.readKey, "\(round)"],
                    connections: Self.connections,
                    seconds: options.seconds
                )
            }
            if round % 2 == 0 {
                let single = try measure(singles, "uniform")
                runs.append((single, try measure(batches, "\(Self.batch)")))
            } else {
                let batch = try measure(batches, "\(Self.batch)")
                runs.append((try measure(singles, "uniform"), batch))
            }
        }
        var table = FiguresTable([
            "\(users) users, \(Self.connections) connections", "users/s", "µs a user", "CPU µs a user", "errors",
        ])
        for (name, size, runs) in [
            ("one a request", 1, runs.map(\.single)), ("\(Self.batch)", Self.batch, runs.map(\.batch)),
        ] {
            let rate = FiguresTable.median(runs.map { $0.requestsPerSecond * Double(size) })
            table.add([
                name, FiguresTable.number(rate), FiguresTable.number(1_000_000 / max(rate, 1e-9), 2),
                FiguresTable.number(FiguresTable.median(runs.map { $0.cpuMicros / Double(size) }), 2),
                "\(runs.map(\.errors).reduce(0, +))",
            ])
        }
        Bench.say(table.text)
        let faster = runs.map {
            $0.batch.requestsPerSecond * Double(Self.batch) / max($0.single.requestsPerSecond, 1e-9)
        }
        let cheaper = runs.map { $0.single.cpuMicros * Double(Self.batch) / max($0.batch.cpuMicros, 1e-9) }
        Bench.say(
            "\na user of \(Self.batch): \(FiguresTable.number(FiguresTable.median(faster), 1)) times as fast, \(FiguresTable.number(FiguresTable.median(cheaper), 1)) times as cheap\n"
        )
    }
}
