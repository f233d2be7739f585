internal import Foundation

/// The program that writes the rows of deliveries and does nothing else (`Tests/Bench/rows.c`).
struct BareRows {
    let program: String
    let options: BenchOptions
    let folder: String

    struct Figures {
        var deliveriesPerSecond: Double
        var microsPerTransaction: Double
    }

    /// Into a database that the gateway has made and nobody has used.
    func run(deliveries: Int, batch: Int) throws(BenchError) -> Figures {
        let database = folder + "/rows.db"
        Measurement.remove(database)
        defer { Measurement.remove(database) }
        try Measurement.gateway(options, database, folder).stop()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [database, "\(deliveries)", "\(batch)"]
        process.standardInput = FileHandle.nullDevice
        let pipe = Pipe()
        process.standardOutput = pipe
        do {
            try process.run()
        } catch {
            throw BenchError("\(program) cannot be started: \(error)")
        }
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard process.terminationStatus == 0, numbers.count == 2 else {
            throw BenchError("\(program) ended without figures: \(text)")
        }
        return Figures(deliveriesPerSecond: numbers[0], microsPerTransaction: numbers[1])
    }
}
