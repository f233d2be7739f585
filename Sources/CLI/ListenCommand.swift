internal import Foundation
internal import FoundationNetworking
internal import Gateway
internal import Synchronization

/// `listen`: prints changed answers as they happen, until it is interrupted.
enum ListenCommand: Command {
    static let name = "listen"
    static let summary = "print changed answers as they happen"
    static let options =
        [
            Option(name: "user", value: "ID", summary: "of this user only"),
            Option(name: "environment", value: "NAME", summary: "production (default) or sandbox"),
            Option(name: "after", value: "ID", summary: "begin after this event; 0 tells of every row first"),
            Option(name: "count", value: "N", summary: "end after so many changes"),
            Option(
                name: "url",
                value: "URL",
                summary: "where the gateway is (default: GATEWAY_LISTEN on this machine)"
            ),
            Option(name: "json", value: nil, summary: "the changes as the gateway sends them, one a line"),
        ] + Option.configuration
    static let examples = ["listen --env-file gateway.env", "listen --user demo --json"]

    static func run(_ arguments: Arguments) throws(CommandError) -> ExitStatus {
        guard arguments.operands.isEmpty else { throw .usage("listen takes options only") }
        let configuration = try arguments.configuration()
        let environment = arguments["environment"] ?? "production"
        guard environment == "production" || environment == "sandbox" else {
            throw .usage("--environment is production or sandbox")
        }
        var count = Int.max
        if let text = arguments["count"] {
            guard let number = Int(text), number > 0 else { throw .usage("--count is a number from 1") }
            count = number
        }
        let variables = configuration.environment
        guard let key = variables["GATEWAY_READ_KEY"] ?? variables["GATEWAY_ADMIN_KEY"] else {
            throw .failed("no key: set GATEWAY_READ_KEY or GATEWAY_ADMIN_KEY, or name the gateway's --env-file")
        }
        var components = URLComponents()
        components.queryItems = [URLQueryItem(name: "environment", value: environment)]
        if let user = arguments["user"] { components.queryItems?.append(URLQueryItem(name: "user_id", value: user)) }
        // A plus would be read as a space.
        let query = (components.percentEncodedQuery ?? "").replacingOccurrences(of: "+", with: "%2B")
        let base = try GatewayClient(base: arguments["url"] ?? configuration.publicURL).base
        guard let url = URL(string: "\(base)/v1/changes?\(query)") else { throw .usage("\(base) is no address") }
        let listener = ChangeListening(
            url: url,
            key: key.split(separator: ",").first.map(String.init) ?? key,
            after: arguments["after"],
            count: count,
            asJSON: arguments.has("json")
        )
        return try listener.run()
    }
}

/// One stream after another, each beginning where the one before ended.
private final class ChangeListening: NSObject, URLSessionDataDelegate, Sendable {
    /// Longest pause between two attempts, in seconds.
    private static let pauseMax = 10.0

    private struct State {
        var after: String?
        var left: Int
        var lines: [UInt8] = []
        var event: (id: String?, data: String) = (nil, "")
        var status: Int?
        var reason = "it ended"
        var hasBegun = false
    }

    private let url: URL
    private let key: String
    private let asJSON: Bool
    private let state: Mutex<State>
    private let ended = DispatchSemaphore(value: 0)

    init(url: URL, key: String, after: String?, count: Int, asJSON: Bool) {
        self.url = url
        self.key = key
        self.asJSON = asJSON
        state = Mutex(State(after: after, left: count))
    }

    func run() throws(CommandError) -> ExitStatus {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 60
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        var pause = 0.5
        while true {
            var request = URLRequest(url: url)
            request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization")
            request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
            if let after = state.withLock(\.after) { request.setValue(after, forHTTPHeaderField: "Last-Event-ID") }
            state.withLock { state in
                (state.lines, state.event, state.status, state.hasBegun) = ([], (nil, ""), nil, false)
            }
            session.dataTask(with: request).resume()
            ended.wait()
            let (left, status, reason, hasBegun) = state.withLock { ($0.left, $0.status, $0.reason, $0.hasBegun) }
            if left == 0 { return .success }
            if let status, status != 200, status < 500 {
                throw .failed("the gateway answers \(status); 401 and 403 are about the key, 400 about the options")
            }
            if hasBegun { pause = 0.5 }
            Terminal.error(
                "no stream from \(url.host ?? ""):\(url.port ?? 80) (\(status.map { "status \($0)" } ?? reason)), trying again"
            )
            Thread.sleep(forTimeInterval: pause)
            pause = min(pause * 2, Self.pauseMax)
        }
    }

    // MARK: - The session's calls

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        state.withLock { $0.status = (response as? HTTPURLResponse)?.statusCode }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isDone = state.withLock { state in
            guard state.status == 200 else { return false }
            state.hasBegun = true
            for byte in data {
                guard byte == UInt8(ascii: "\n") else {
                    state.lines.append(byte)
                    continue
                }
                let line = String(decoding: state.lines, as: UTF8.self)
                state.lines.removeAll(keepingCapacity: true)
                take(line, &state)
                if state.left == 0 { return true }
            }
            return false
        }
        if isDone { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        state.withLock { $0.reason = error?.localizedDescription ?? "it ended" }
        ended.signal()
    }

    private func take(_ line: String, _ state: inout State) {
        if line.hasPrefix("id: ") {
            state.event.id = String(line.dropFirst(4))
        } else if line.hasPrefix("data: ") {
            state.event.data += line.dropFirst(6)
        } else if line.isEmpty, !state.event.data.isEmpty {
            if let id = state.event.id { state.after = id }
            Terminal.output(asJSON ? state.event.data : ChangeSummary.text(of: state.event.data))
            state.event = (nil, "")
            state.left -= 1
        }
    }
}

/// A change in one line for people.
private enum ChangeSummary {
    static func text(of json: String) -> String {
        guard let root = try? JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any],
            let data = root["data"] as? [String: Any]
        else { return json }
        func text(_ name: String, of answer: [String: Any]) -> String { answer[name] as? String ?? "-" }
        let previous = data["previous"] as? [String: Any]
        let before = previous.map { text("status", of: $0) } ?? "?"
        return
            "\(root["timestamp"] as? String ?? "-")  \(text("user_id", of: data))  \(text("entitlement", of: data))  "
            + "\(before) -> \(text("status", of: data))  until \(text("access_until", of: data))  "
            + "\(text("provider", of: data)) \(text("purchase_id", of: data))"
    }
}
