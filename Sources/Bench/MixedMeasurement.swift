internal import Foundation

/// Reads and deliveries at once: what readers do to the writer's log, and the writer to the readers.
struct MixedMeasurement {
    private static let readers = 32
    private static let writers = 16

    let options: BenchOptions
    let folder: String

    init(_ options: BenchOptions, folder: String) {
        self.options = options
        self.folder = folder
    }

    func run(_ users: Int, _ database: String) throws(BenchError) {
        let prepared = folder + "/mixed"
        try Deliveries.write(options.deliveries, to: prepared)
        defer {
            for thread in 1...LoadRun.threads { try? FileManager.default.removeItem(atPath: "\(prepared).\(thread)") }
        }
        let deliveries = try Measurement.script(LoadScript.deliveries, "deliveries", folder)
        let reads = try Measurement.script(LoadScript.reads, "reads", folder)
        let gateway = try Measurement.gateway(options, database, folder)
        defer { gateway.stop() }
        // Longer than the other runs: a log that is not emptied shows only after a while.
        let seconds = options.seconds * 3
        Bench.tell("reads and deliveries at once: \(users) users, \(seconds) s …")
        let writing = try LoadRun.start(
            gateway.port,
            deliveries,
            [prepared, "/v1/webhooks/creem"],
            Self.writers,
            seconds
        )
        let reading = try LoadRun.start(
            gateway.port,
            reads,
            ["\(users)", "uniform", Measurement.readKey, "1"],
            Self.readers,
            seconds
        )
        var longest = 0
        while reading.isRunning {
            let attributes = try? FileManager.default.attributesOfItem(atPath: database + "-wal")
            longest = max(longest, (attributes?[.size] as? NSNumber)?.intValue ?? 0)
            usleep(50_000)
        }
        let (read, written) = (try LoadRun.finish(reading).figures, try LoadRun.finish(writing).figures)
        Bench.say(
            """
            \(users) users, \(Self.readers) readers and \(Self.writers) senders at once: \(FiguresTable.number(read.requestsPerSecond)) reads/s (p99 \(FiguresTable.number(read.p99 / 1000, 2)) ms), \(FiguresTable.number(written.requestsPerSecond)) deliveries/s (p99 \(FiguresTable.number(written.p99 / 1000, 2)) ms), log at most \(FiguresTable.number(Double(longest) / 1_048_576, 1)) MiB, resident at most \(FiguresTable.number(Double(gateway.figures.peakKiB) / 1024, 1)) MiB, errors \(read.errors + written.errors)

            """
        )
    }
}
