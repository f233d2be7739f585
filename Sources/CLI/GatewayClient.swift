internal import Foundation
internal import FoundationNetworking
internal import Gateway

/// What a gateway answered.
struct GatewayAnswer {
    var status: Int
    var text: String

    var isSuccess: Bool { (200..<300).contains(status) }

    /// The members of the body; nil when it is no JSON object.
    var members: [String: Any]? {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any]
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws(CommandError) -> Value {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do {
            return try decoder.decode(type, from: Data(text.utf8))
        } catch {
            throw .failed("the answer is not that of a gateway of this version; is it one?")
        }
    }
}

/// Asks a running gateway.
struct GatewayClient {
    /// The gateway answers within a second; more means that nobody is there.
    private static let secondsMax: Double = 30
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    )

    /// Scheme, host and port, without a slash at the end.
    let base: String

    /// Options of every command that asks a running gateway as an administrator.
    static let options =
        [
            Option(
                name: "url",
                value: "URL",
                summary: "where the gateway is (default: GATEWAY_LISTEN on this machine)"
            ),
            Option(name: "json", value: nil, summary: "the answer as JSON, for machines"),
        ] + Option.configuration

    /// The key, for `--help`.
    static let keyNote = "The admin key comes from GATEWAY_ADMIN_KEY, in the environment or in --env-file."

    init(base: String) throws(CommandError) {
        let base = base.hasSuffix("/") ? String(base.dropLast()) : base
        guard let url = URL(string: base), url.scheme == "http" || url.scheme == "https", let host = url.host else {
            throw .usage("\(base) is no URL such as http://127.0.0.1:8080")
        }
        // A proxy of the surroundings is for the outside, and would be shown the key.
        if host == "localhost" || host.hasPrefix("127.") || host == "::1" || host == "[::1]" {
            // Before the first request, while there is one thread.
            unsafe setenv("no_proxy", "*", 1)
        }
        self.base = base
    }

    /// A segment of a path, or a value of a query.
    static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? text
    }

    /// Asks as an administrator.
    ///
    /// - Throws: Also when the gateway refuses, with its reason and a hint.
    static func ask(
        _ method: String,
        _ path: String,
        body: [String: Any]? = nil,
        _ arguments: Arguments
    ) throws(CommandError) -> GatewayAnswer {
        let configuration = try arguments.configuration()
        let key: String?
        do throws(ConfigurationError) { key = try configuration.adminKey } catch { throw .failed(error.description) }
        guard let key else {
            let made = configuration.keyFile
            let hint =
                FileManager.default.fileExists(atPath: made)
                ? "the first start wrote one: --env-file \(made)"
                : "set GATEWAY_ADMIN_KEY, or name the file that sets it with --env-file"
            throw .failed("no admin key is known here — \(hint)")
        }
        let client = try GatewayClient(base: arguments["url"] ?? configuration.adminURL)
        var data: Data?
        if let body { data = try? JSONSerialization.data(withJSONObject: body) }
        let answer = try client.send(method, path, headers: [("Authorization", "Bearer \(key)")], body: data)
        guard answer.isSuccess else { throw .answered(GatewayRefusal(answer)) }
        return answer
    }

    func send(
        _ method: String,
        _ path: String,
        headers: [(name: String, value: String)] = [],
        body: Data? = nil,
        seconds: Double = secondsMax
    ) throws(CommandError) -> GatewayAnswer {
        guard let url = URL(string: base + path) else { throw .usage("\(base)\(path) is no URL") }
        var request = URLRequest(url: url, timeoutInterval: seconds)
        request.httpMethod = method
        request.httpBody = body
        if body != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
        for header in headers { request.setValue(header.value, forHTTPHeaderField: header.name) }
        let exchange = Exchange()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        let session = URLSession(configuration: configuration, delegate: exchange, delegateQueue: nil)
        session.dataTask(with: request).resume()
        exchange.wait()
        session.invalidateAndCancel()
        guard let status = exchange.status else {
            throw .failed(
                "no gateway answers at \(base): \(exchange.reason) — start it with entitlement-gateway serve, or name it with --url"
            )
        }
        return GatewayAnswer(status: status, text: exchange.text)
    }
}

/// A gateway's no, with what can be done about it.
struct GatewayRefusal {
    let answer: GatewayAnswer
    let code: String
    let detail: String

    init(_ answer: GatewayAnswer) {
        self.answer = answer
        code = answer.members?["code"] as? String ?? "http_\(answer.status)"
        detail =
            answer.members?["detail"] as? String ?? answer.members?["title"] as? String ?? "status \(answer.status)"
    }

    var text: String {
        "\(detail) (\(code))" + (hint.isEmpty ? "" : " — \(hint)")
    }

    private var hint: String {
        switch code {
        case "unauthorized": "GATEWAY_ADMIN_KEY is no key of this gateway: see entitlement-gateway keys list"
        case "forbidden": "an admin key is needed: entitlement-gateway keys create --scope admin"
        case "not_replayable":
            "of what cannot be read only its length and digest are kept: let the provider send it again"
        case "grant_conflict": "choose another --id, or revoke that grant first"
        case "not_found": "entitlement-gateway events and user ID list what is there"
        case "storage_unavailable": "entitlement-gateway doctor looks at the database"
        default: ""
        }
    }
}
