internal import Gateway

/// `simulate`: sends a correctly signed sample event, its times moved to now, to a running gateway.
enum SimulateCommand: Command {
    static let name = "simulate"
    static let summary = "send a signed sample event to a running gateway"
    static let operands = "PROVIDER [EVENT]"
    static let options =
        [
            Option(name: "user", value: "ID", summary: "the user it is about"),
            Option(name: "environment", value: "NAME", summary: "sandbox (default) or production"),
            Option(name: "listen", value: "ADDRESS", summary: "where the gateway listens (GATEWAY_LISTEN)"),
            Option(name: "print", value: nil, summary: "print the event instead of sending it"),
            Option(name: "providers", value: "DIR", summary: "folder of further manifests (GATEWAY_PROVIDERS)"),
        ] + SimulatedLifeReport.options + Option.configuration

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard let provider = arguments.operands.first, arguments.operands.count <= 2 else {
            throw .usage(
                "simulate needs a provider and an event, such as: simulate revenuecat initial_purchase --user demo"
            )
        }
        let environment = arguments["environment"] ?? "sandbox"
        guard environment == "sandbox" || environment == "production" else {
            throw .usage("--environment is sandbox or production")
        }
        let isLife = arguments.has("life")
        if isLife, arguments.operands.count == 2 { throw .usage("--life plays every event: name the provider only") }
        for name in ["pause", "json"] where !isLife && (arguments[name] != nil || arguments.has(name)) {
            throw .usage("--\(name) goes with --life")
        }
        if isLife || arguments.operands.count == 2, arguments["user"] == nil {
            throw .usage("simulate needs --user ID")
        }
        let configuration = try arguments.configuration()
        let simulation: Simulation
        do throws(ConfigurationError) {
            simulation = try Simulation(provider: provider, configuration)
        } catch {
            throw .failed(error.description)
        }
        if isLife {
            return try SimulatedLifeReport(
                simulation,
                configuration,
                arguments,
                user: arguments["user"] ?? "",
                isProduction: environment == "production"
            ).run()
        }
        let delivery: Simulation.Delivery
        do throws(ConfigurationError) {
            guard arguments.operands.count == 2 else {
                Terminal.output("sample events of \(provider):\n  " + simulation.events.joined(separator: "\n  "))
                return .success
            }
            delivery = try simulation.delivery(
                of: arguments.operands[1],
                user: arguments["user"] ?? "",
                isProduction: environment == "production"
            )
        } catch {
            throw .failed(error.description)
        }
        if arguments.has("print") {
            Terminal.output(String(decoding: delivery.body, as: UTF8.self))
            return .success
        }
        let answer = try LoopbackRequest.post(delivery, to: configuration.listen)
        Terminal.output(answer.text)
        return answer.status == 200 ? .success : .failure
    }
}
