internal import Foundation
internal import Gateway

/// `simulate PROVIDER --life`: plays a whole life against a running gateway and prints the gate's answer after each stage.
struct SimulatedLifeReport {
    static let options = [
        Option(name: "life", value: nil, summary: "play a whole life, from the checkout to the end"),
        Option(name: "pause", value: "SECONDS", summary: "with --life: wait so long between the stages (default 2)"),
        Option(name: "json", value: nil, summary: "for machines; with --life an object a line"),
    ]

    private static let pauseDefault = 2.0
    private static let pauseMax = 86_400.0

    let simulation: Simulation
    let configuration: GatewayConfiguration
    let user: String
    let isProduction: Bool
    let pause: Double
    let isJSON: Bool
    let client: GatewayClient

    init(
        _ simulation: Simulation,
        _ configuration: GatewayConfiguration,
        _ arguments: Arguments,
        user: String,
        isProduction: Bool
    ) throws(CommandError) {
        pause = arguments["pause"].map { Double($0) ?? -1 } ?? Self.pauseDefault
        guard (0...Self.pauseMax).contains(pause) else { throw .usage("--pause takes a number of seconds") }
        isJSON = arguments.has("json")
        client = try GatewayClient(base: arguments["url"] ?? configuration.publicURL)
        self.simulation = simulation
        self.configuration = configuration
        self.user = user
        self.isProduction = isProduction
    }

    func run() throws(CommandError) -> ExitStatus {
        let key: String
        var life: SimulatedLife
        do throws(ConfigurationError) {
            key = try Simulation.key(configuration)
            life = try simulation.life(of: user, isProduction: isProduction)
        } catch {
            throw .failed(error.description)
        }
        for (number, stage) in life.stages.enumerated() {
            if number > 0 { Thread.sleep(forTimeInterval: pause) }
            var outcomes: [String] = []
            for event in stage.events.indices {
                let delivery: Simulation.Delivery
                do throws(ConfigurationError) {
                    delivery = try life.delivery(stage: number, event: event)
                } catch {
                    throw .failed(error.description)
                }
                let answer = try client.send(
                    "POST",
                    delivery.path,
                    headers: delivery.headers,
                    body: Data(delivery.body)
                )
                guard answer.status == 200, let outcome = Self.object(answer.text)["outcome"] as? String else {
                    throw .failed("\(stage.events[event]): \(answer.status) \(answer.text)")
                }
                outcomes.append(outcome)
            }
            try tell(
                stage.name,
                zip(stage.events, outcomes).map { ["event": $0, "outcome": $1] },
                life.environment,
                key
            )
        }
        return .success
    }

    private func tell(_ stage: String, _ events: [[String: String]], _ environment: String, _ key: String)
        throws(CommandError)
    {
        let target = "/v1/users/\(GatewayClient.encoded(user))/entitlement?environment=\(environment)"
        let got = try client.send("GET", target, headers: [("Authorization", "Bearer \(key)")])
        guard got.status == 200 else { throw .failed("\(target): \(got.status) \(got.text)") }
        let answer = Self.object(got.text)
        guard isJSON else {
            let words = events.map { "\($0["event"] ?? "") \($0["outcome"] ?? "")" }.joined(separator: ", ")
            let renews = answer["will_renew"] as? Bool == true ? ", renews" : ""
            let entitled = answer["entitled"] as? Bool == true ? "entitled" : "not entitled"
            let until = (answer["access_until"] as? String).map { ", until \($0)" } ?? ""
            let status = answer["status"] as? String ?? "?"
            let left = stage + String(repeating: " ", count: max(1, 10 - stage.count))
            Terminal.output("\(left) \(entitled), \(status)\(until)\(renews)   (\(words))")
            return
        }
        let line: [String: Any] = ["stage": stage, "events": events, "answer": answer]
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        let data = try? JSONSerialization.data(withJSONObject: line, options: options)
        Terminal.output(data.map { String(decoding: $0, as: UTF8.self) } ?? "{}")
    }

    private static func object(_ text: String) -> [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
    }
}
