internal import Foundation

/// How often the gate's questions ask the allocator: not at all, but for what SQLite takes for a new snapshot.
struct AllocationCount {
    private static let requests = 10_000
    /// A loop that slept begins with a new snapshot; one allocation in twenty requests is more than that ever costs.
    private static let perHundredMax = 5
    /// What is not in memory is looked for by SQLite, which takes a few small pieces for each search.
    private static let perHundredOfSearchesMax = 500

    let options: BenchOptions
    let folder: String

    init(_ options: BenchOptions, folder: String) {
        self.options = options
        self.folder = folder
    }

    private func isSearch(_ kind: Substring) -> Bool { kind == "unknown" || kind == "erased" }

    /// - Throws: When a question allocates with every request.
    func run() throws(BenchError) {
        Measurement.remove(folder + "/probe.db")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: options.probe)
        process.arguments = [folder, "\(Measurement.gatewayPort)", "\(Self.requests)"]
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        do {
            try process.run()
        } catch {
            throw BenchError("\(options.probe) cannot be started: \(error)")
        }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        Measurement.remove(folder + "/probe.db")
        var table = FiguresTable(["question", "requests", "allocations"])
        var tooMany: [Substring] = []
        let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
        guard !lines.isEmpty else { throw BenchError("\(options.probe) told nothing") }
        for line in lines where line.count == 3 {
            table.add(line.map(String.init))
            guard let requests = Int(line[1]), let allocations = Int(line[2]),
                allocations * 100 <= requests * (isSearch(line[0]) ? Self.perHundredOfSearchesMax : Self.perHundredMax)
            else {
                tooMany.append(line[0])
                continue
            }
        }
        Bench.say(table.text + "\n")
        guard tooMany.isEmpty else {
            throw BenchError("the gate allocates: \(tooMany.joined(separator: ", "))")
        }
    }
}
