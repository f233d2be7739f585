/// The gate beside nginx.
struct ReadMeasurement {
    /// Users that are read for the first time in a second, at least.
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
        let path = "/v1/users/\(Population.userID(0))/entitlement"
        guard let body = LoopbackExchange.get(path, port: gateway.port, key: Measurement.readKey),
            String(decoding: body, as: UTF8.self).contains("\"entitled\":true")
        else { throw BenchError("the gateway does not answer for a user that was written") }
        let nginx = try Measurement.nginx(body, folder)
        defer { nginx.stop() }
        let script = try Measurement.script(LoadScript.reads, "reads", folder)
        var table = FiguresTable([
            "reads, \(users) users", "conn.", "gateway req/s", "nginx req/s", "ratio", "p50 µs", "nginx", "p99 µs",
            "nginx",
            "p99 ratio", "CPU µs/req", "nginx", "errors",
        ])
        // What was asked for is in memory from then on; a gateway that was just started is not what is measured.
        Bench.tell("reads: every one of \(users) users, not counted yet …")
        _ = try LoadRun.run(
            gateway,
            script: try Measurement.script(LoadScript.everyone, "everyone", folder),
            arguments: ["\(users)", Measurement.readKey],
            connections: 16,
            seconds: 2 + users / Self.firstReadsPerSecond
        )
        for keys in ["uniform", "zipf"] {
            for connections in options.connections {
                Bench.tell("reads: \(users) users, \(keys), \(connections) connections …")
                var runs: [(gateway: LoadRun, nginx: LoadRun)] = []
                for round in 0..<options.rounds {
                    let words = ["\(users)", keys, Measurement.readKey, "\(round)"]
                    func measure(_ server: MeasuredServer) throws(BenchError) -> LoadRun {
                        try LoadRun.run(
                            server,
                            script: script,
                            arguments: words,
                            connections: connections,
                            seconds: options.seconds
                        )
                    }
                    // The first of a pair may find the machine in another state than the second.
                    if round % 2 == 0 {
                        let first = try measure(gateway)
                        runs.append((first, try measure(nginx)))
                    } else {
                        let first = try measure(nginx)
                        runs.append((try measure(gateway), first))
                    }
                }
                table.add([keys, "\(connections)"] + cells(runs))
            }
        }
        let (own, other) = (gateway.figures, nginx.figures)
        Bench.say(table.text)
        Bench.say(
            "\nresident: gateway \(mebi(own.residentKiB)) MiB, at most \(mebi(own.peakKiB)); nginx \(mebi(other.residentKiB)), at most \(mebi(other.peakKiB))\n"
        )
    }

    private func mebi(_ kibi: Int) -> String {
        FiguresTable.number(Double(kibi) / 1024, 1)
    }

    private func cells(_ runs: [(gateway: LoadRun, nginx: LoadRun)]) -> [String] {
        func median(_ value: (LoadRun) -> Double) -> (Double, Double, ratio: Double) {
            (
                FiguresTable.median(runs.map { value($0.gateway) }), FiguresTable.median(runs.map { value($0.nginx) }),
                FiguresTable.median(runs.map { value($0.gateway) / max(value($0.nginx), 1e-9) })
            )
        }
        let rate = median { $0.requestsPerSecond }
        let (half, most) = (median { $0.p50 }, median { $0.p99 })
        let cpu = median { $0.cpuMicros }
        let number = FiguresTable.number
        return [
            number(rate.0, 0), number(rate.1, 0), number(rate.ratio, 2), number(half.0, 0), number(half.1, 0),
            number(most.0, 0), number(most.1, 0), number(most.ratio, 2), number(cpu.0, 1), number(cpu.1, 1),
            "\(runs.map { $0.gateway.errors + $0.nginx.errors }.reduce(0, +))",
        ]
    }
}
