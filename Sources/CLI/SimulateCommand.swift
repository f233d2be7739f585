internal import Foundation
internal import FoundationNetworking
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
        ] + Option.configuration

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
        if arguments.operands.count == 2, arguments["user"] == nil { throw .usage("simulate needs --user ID") }
        let configuration = try arguments.configuration()
        let delivery: Simulation.Delivery
        do throws(ConfigurationError) {
            let simulation = try Simulation(provider: provider, configuration)
            guard arguments.operands.count == 2 else {
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
        let answer = try LoopbackRequest.post(delivery, to: configuration.listen)
        Terminal.output(answer.text)
        return answer.status == 200 ? .success : .failure
    }
}

/// One request to the gateway on this machine.
private enum LoopbackRequest {
    /// The gateway answers within a second; more means that nobody is there.
    private static let secondsMax: Double = 15

    static func post(
        _ delivery: Simulation.Delivery,
        to listen: String
    ) throws(CommandError) -> (status: Int, text: String) {
        let address = listen.replacingOccurrences(of: "0.0.0.0", with: "127.0.0.1")
        guard let url = URL(string: "http://\(address)\(delivery.path)") else {
            throw .usage("\(listen) is no address")
        }
        var request = URLRequest(url: url, timeoutInterval: secondsMax)
        request.httpMethod = "POST"
        request.httpBody = Data(delivery.body)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        for header in delivery.headers { request.setValue(header.value, forHTTPHeaderField: header.name) }
        let done = DispatchSemaphore(value: 0)
        let result = Exchange()
        URLSession(configuration: .ephemeral).dataTask(with: request) { data, response, error in
            result.set((response as? HTTPURLResponse)?.statusCode, data, error)
            done.signal()
        }.resume()
        done.wait()
        guard let status = result.status else {
            throw .failed(
                "no gateway answers at \(address): \(result.reason); start it with: entitlement-gateway serve"
            )
        }
        return (status, result.text)
    }
}
