/// What is measured, and how long.
struct BenchOptions {
    var users = [1000, 1_000_000]
    var connections = [1, 8, 32, 64]
    var rounds = 5
    var seconds = 5
    /// Deliveries prepared for each run of intake, each of another user.
    var deliveries = 100_000
    var gateway = ""
    var python = "python3"
    var handler = ""
    var probe = ""
    /// The program that writes rows alone; empty leaves it out.
    var rows = ""
    /// Where databases and prepared deliveries are made; on the disk that the gateway would use, since syncs are measured.
    var folder = ""
    var parts = known
    private static let known: Set<String> = [
        "adapters", "allocations", "apple", "batches", "intake", "licences", "mixed", "reads", "start",
    ]

    static let help = """
        Measures the gateway beside nginx and beside a hand-written handler, in turns, and prints tables.

        usage: entitlement-gateway-bench --gateway FILE --handler FILE [options]

        options:
          --gateway FILE        the gateway's program, built for release
          --handler FILE        the handler to compare intake with (Tests/Bench/handler.py)
          --probe FILE          the program that counts allocations (AllocationProbe)
          --rows FILE           the program that writes the rows of deliveries and nothing else (Tests/Bench/rows.c)
          --python FILE         a Python that has uvicorn (default python3)
          --folder DIR          where databases are made (default: a folder of its own below the working directory)
          --users N,N           users in the database (default 1000,1000000)
          --connections N,N     connections of the reads (default 1,8,32,64)
          --rounds N            runs of each kind, in turns; the medians are shown (default 5)
          --seconds N           length of one run (default 5)
          --deliveries N        deliveries prepared for each run of intake (default 100000)
          --only NAME,NAME      of adapters, allocations, apple, batches, intake, licences, mixed, reads, start
                                (default all)
          --quick               one round of two seconds, 1000 and 100000 users, 8 and 32 connections
          --help                this text
        """

    /// - Throws: What is wrong with the words.
    init(_ words: [String]) throws(BenchError) {
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--quick" {
                (users, connections, rounds, seconds, deliveries) = ([1000, 100_000], [8, 32], 1, 2, 20_000)
                continue
            }
            guard let value = rest.popFirst() else { throw BenchError("\(word) needs a value; --help shows all") }
            switch word {
            case "--gateway": gateway = value
            case "--handler": handler = value
            case "--probe": probe = value
            case "--rows": rows = value
            case "--python": python = value
            case "--folder": folder = value
            case "--users": users = try Self.numbers(word, value)
            case "--connections": connections = try Self.numbers(word, value)
            case "--rounds": rounds = try Self.number(word, value)
            case "--seconds": seconds = try Self.number(word, value)
            case "--deliveries": deliveries = try Self.number(word, value)
            case "--only": parts = Set(value.split(separator: ",").map(String.init))
            default: throw BenchError("\(word) is not known; --help shows what is")
            }
        }
        guard !gateway.isEmpty || parts.isSubset(of: ["adapters", "apple"]) else {
            throw BenchError("--gateway is needed: the program that is measured")
        }
        let unknown = parts.subtracting(Self.known)
        guard unknown.isEmpty else {
            throw BenchError("--only does not know \(unknown.sorted().joined(separator: ", "))")
        }
        guard !parts.contains("allocations") || !probe.isEmpty else {
            throw BenchError("--probe is needed: the program that counts allocations")
        }
        guard !parts.contains("intake") || !handler.isEmpty else {
            throw BenchError("--handler is needed: what intake is compared with (or leave intake out with --only)")
        }
    }

    private static func numbers(_ word: String, _ text: String) throws(BenchError) -> [Int] {
        var numbers: [Int] = []
        for part in text.split(separator: ",") { numbers.append(try number(word, String(part))) }
        guard !numbers.isEmpty else { throw BenchError("\(word) needs a number") }
        return numbers
    }

    private static func number(_ word: String, _ text: String) throws(BenchError) -> Int {
        guard let number = Int(text), number > 0 else { throw BenchError("\(word): \(text) is no number above 0") }
        return number
    }
}

/// Why nothing could be measured.
struct BenchError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }
}
