internal import Foundation
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
            Option(name: "url", value: "URL", summary: "where the gateway is, when it is not on this machine"),
            Option(name: "print", value: nil, summary: "print the event instead of sending it"),
            Option(name: "providers", value: "DIR", summary: "folder of further manifests (GATEWAY_PROVIDERS)"),
        ] + SimulatedLifeReport.options + Option.configuration
    static let examples = [
        "simulate revenuecat", "simulate revenuecat initial_purchase --user demo --env-file gateway.env",
        "simulate stripe customer.subscription.created --user demo --print",
        "simulate creem --life --user demo --env-file gateway.env",
    ]

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
        if !isLife, arguments["pause"] != nil { throw .usage("--pause goes with --life") }
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
                if arguments.has("json") {
                    Terminal.output(CommandOutput.json(["provider": provider, "events": simulation.events]))
                    return .success
                }
                Terminal.output("sample events of \(provider):\n  " + simulation.events.joined(separator: "\n  "))
                return .success
            }
            let (event, user) = (arguments.operands[1], arguments["user"] ?? "")
            let isProduction = environment == "production"
            guard !arguments.has("print") else {
                let content = try simulation.content(of: event, user: user, isProduction: isProduction)
                Terminal.output(String(decoding: content, as: UTF8.self))
                return .success
            }
            delivery = try simulation.delivery(of: event, user: user, isProduction: isProduction)
        } catch {
            throw .failed(error.description)
        }
        let client = try GatewayClient(base: arguments["url"] ?? configuration.publicURL)
        let answer = try client.send("POST", delivery.path, headers: delivery.headers, body: Data(delivery.body))
        Terminal.output(answer.text)
        return answer.status == 200 ? .success : .failure
    }
}
