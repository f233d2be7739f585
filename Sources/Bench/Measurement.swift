internal import Foundation

/// Everything that is measured, one after the other.
struct Measurement {
    static let readKey = "read_key_of_the_measurement"
    static let adminKey = "admin_key_of_the_measurement"
    static let gatewayPort: UInt16 = 18_480
    static let nginxPort: UInt16 = 18_481
    static let handlerPort: UInt16 = 18_482

    let options: BenchOptions
    /// Emptied and filled by this run.
    let folder: String

    init(_ options: BenchOptions) throws(BenchError) {
        self.options = options
        let base = options.folder.isEmpty ? FileManager.default.currentDirectoryPath + "/.build/bench" : options.folder
        folder = base
        do {
            try FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: true)
        } catch {
            throw BenchError("\(base) cannot be made: \(error)")
        }
    }

    func run() throws(BenchError) {
        Bench.say(
            """
            \(options.rounds) rounds of \(options.seconds) s in turns, medians; load of the machine at the beginning: \(ProcessFigures.load)
            processor: \(Self.processor), \(ProcessInfo.processInfo.activeProcessorCount) cores

            """
        )
        if options.parts.contains("allocations") { try AllocationCount(options, folder: folder).run() }
        if !options.parts.isDisjoint(with: ["batches", "reads", "mixed", "start", "licences"]) {
            for users in options.users { try reads(of: users) }
        }
        if options.parts.contains("intake") { try IntakeMeasurement(options, folder: folder).run() }
        if options.parts.contains("adapters") { try AdapterMeasurement(options: options).run() }
        if options.parts.contains("apple") { try AppleMeasurement(options: options).run() }
        Bench.say("load of the machine at the end: \(ProcessFigures.load)")
    }

    private func reads(of users: Int) throws(BenchError) {
        let database = "\(folder)/gateway-\(users).db"
        try populate(database, users)
        if options.parts.contains("start") { try starts(users, database) }
        if options.parts.contains("reads") { try ReadMeasurement(options, folder: folder).run(users, database) }
        if options.parts.contains("batches") { try BatchMeasurement(options, folder: folder).run(users, database) }
        if options.parts.contains("mixed") { try MixedMeasurement(options, folder: folder).run(users, database) }
        if options.parts.contains("licences") { try LicenceMeasurement(options, folder: folder).run(users, database) }
        Self.remove(database)
    }

    private func populate(_ database: String, _ users: Int) throws(BenchError) {
        Self.remove(database)
        try Self.gateway(options, database, folder).stop()
        Bench.tell("writing \(users) users …")
        try Population.write(users, to: database)
    }

    private func starts(_ users: Int, _ database: String) throws(BenchError) {
        var millis: [Double] = []
        var resident: [Double] = []
        for _ in 0..<max(options.rounds, 3) {
            let gateway = try Self.gateway(options, database, folder)
            millis.append(gateway.startMillis)
            resident.append(Double(gateway.figures.residentKiB) / 1024)
            gateway.stop()
        }
        Bench.say(
            "\(users) users: start to the first answer \(FiguresTable.number(FiguresTable.median(millis))) ms, resident then \(FiguresTable.number(FiguresTable.median(resident), 1)) MiB\n"
        )
    }

    // MARK: - Servers

    static func gateway(
        _ options: BenchOptions,
        _ database: String,
        _ folder: String
    ) throws(BenchError) -> MeasuredServer {
        try MeasuredServer(
            "gateway",
            options.gateway,
            ["serve", "--database", database, "--listen", "127.0.0.1:\(gatewayPort)"],
            environment: [
                "GATEWAY_READ_KEY": readKey, "GATEWAY_ADMIN_KEY": adminKey,
                "CREEM_WEBHOOK_SECRET": Deliveries.secret,
            ],
            folder: folder,
            port: gatewayPort,
            probe: "/healthz"
        )
    }

    /// Two workers, no access log, and the very bytes that the gateway answers.
    static func nginx(_ body: [UInt8], _ folder: String) throws(BenchError) -> MeasuredServer {
        let text = String(decoding: body, as: UTF8.self)
        guard !text.isEmpty, !text.contains("'"), !text.contains("$"), !text.contains("\\") else {
            throw BenchError("the gateway's answer cannot be quoted for nginx: \(text)")
        }
        let configuration = """
            daemon off; worker_processes 2; error_log \(folder)/nginx-error.log; pid \(folder)/nginx.pid;
            events { worker_connections 1024; }
            http {
                access_log off; keepalive_requests 1000000000; client_body_temp_path \(folder)/nginx-body;
                server {
                    listen 127.0.0.1:\(nginxPort) reuseport;
                    location / { default_type application/json; return 200 '\(text)'; }
                }
            }
            """
        let path = folder + "/nginx.conf"
        guard FileManager.default.createFile(atPath: path, contents: Data(configuration.utf8)) else {
            throw BenchError("\(path) cannot be written")
        }
        return try MeasuredServer(
            "nginx",
            "nginx",
            ["-c", path, "-e", folder + "/nginx-error.log"],
            environment: [:],
            folder: folder,
            port: nginxPort,
            probe: "/"
        )
    }

    static func script(_ text: String, _ name: String, _ folder: String) throws(BenchError) -> String {
        let path = "\(folder)/\(name).lua"
        guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8)) else {
            throw BenchError("\(path) cannot be written")
        }
        return path
    }

    static func remove(_ database: String) {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + suffix) }
    }

    private static var processor: String {
        let text = String(decoding: FileManager.default.contents(atPath: "/proc/cpuinfo") ?? Data(), as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
        return line?.split(separator: ":").last.map { $0.drop { $0 == " " } }.map(String.init) ?? "unknown"
    }
}
