internal import Foundation

/// What one run of `wrk` came to.
struct LoadRun {
    var requestsPerSecond = 0.0
    /// Microseconds.
    var p50 = 0.0
    var p99 = 0.0
    /// Processor time of the server for each request, in microseconds.
    var cpuMicros = 0.0
    var errors = 0

    /// wrk has one thread a core, and the servers have two: all compete for the same cores, as clients on the machine do.
    static let threads = 2

    /// Sends load to the server and counts what it costs there.
    static func run(
        _ server: MeasuredServer,
        script: String,
        arguments: [String],
        connections: Int,
        seconds: Int
    ) throws(BenchError) -> LoadRun {
        let before = server.figures.cpuNanos
        let process = try start(server.port, script, arguments, connections, seconds)
        let run = try finish(process)
        let spent = Double(server.figures.cpuNanos - before) / 1000
        var measured = run.figures
        measured.cpuMicros = run.requests > 0 ? spent / Double(run.requests) : 0
        return measured
    }

    /// A run that goes on while something else is done.
    static func start(
        _ port: UInt16,
        _ script: String,
        _ arguments: [String],
        _ connections: Int,
        _ seconds: Int
    ) throws(BenchError) -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let threads = min(threads, connections)
        process.arguments =
            [
                "wrk", "-t\(threads)", "-c\(connections)", "-d\(seconds)s", "-s", script, "http://127.0.0.1:\(port)",
                "--",
            ]
            + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = Pipe()
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            throw BenchError("wrk cannot be started: \(error)")
        }
        return process
    }

    static func finish(_ process: Process) throws(BenchError) -> (figures: LoadRun, requests: Int) {
        guard let pipe = process.standardOutput as? Pipe else { throw BenchError("wrk has no output") }
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        for line in text.split(separator: "\n") where line.hasPrefix("figures ") {
            let numbers = line.split(separator: " ").dropFirst().compactMap { Double($0) }
            guard numbers.count == 5, numbers[1] > 0 else { break }
            let run = LoadRun(
                requestsPerSecond: numbers[0] / (numbers[1] / 1e6),
                p50: numbers[2],
                p99: numbers[3],
                errors: Int(numbers[4])
            )
            return (run, Int(numbers[0]))
        }
        throw BenchError("wrk ended without figures: \(text.suffix(500))")
    }
}
