internal import Foundation
internal import FoundationNetworking
internal import Gateway

/// One request to the gateway on this machine.
enum LoopbackRequest {
    /// The gateway answers within a second; more means that nobody is there.
    private static let secondsMax: Double = 15

    static func post(
        _ delivery: Simulation.Delivery,
        to listen: String
    ) throws(CommandError) -> (status: Int, text: String) {
        var request = try request(delivery.path, listen)
        request.httpMethod = "POST"
        request.httpBody = Data(delivery.body)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        for header in delivery.headers { request.setValue(header.value, forHTTPHeaderField: header.name) }
        return try send(request, listen)
    }

    static func get(
        _ target: String,
        key: String,
        from listen: String
    ) throws(CommandError) -> (status: Int, text: String) {
        var request = try request(target, listen)
        request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization")
        return try send(request, listen)
    }

    private static func request(_ target: String, _ listen: String) throws(CommandError) -> URLRequest {
        let address = listen.replacingOccurrences(of: "0.0.0.0", with: "127.0.0.1")
        guard let url = URL(string: "http://\(address)\(target)") else { throw .usage("\(listen) is no address") }
        return URLRequest(url: url, timeoutInterval: secondsMax)
    }

    private static func send(
        _ request: URLRequest,
        _ listen: String
    ) throws(CommandError) -> (status: Int, text: String) {
        let done = DispatchSemaphore(value: 0)
        let result = Exchange()
        URLSession(configuration: .ephemeral).dataTask(with: request) { data, response, error in
            result.set((response as? HTTPURLResponse)?.statusCode, data, error)
            done.signal()
        }.resume()
        done.wait()
        guard let status = result.status else {
            throw .failed(
                "no gateway answers at \(listen): \(result.reason); start it with: entitlement-gateway serve"
            )
        }
        return (status, result.text)
    }
}
