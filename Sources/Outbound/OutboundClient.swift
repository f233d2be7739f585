internal import Dispatch
internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// The one way out of the process: requests to the APIs of providers, for keys, and to the seller's own systems.
///
/// URLSession with what it leaves open closed: no redirect is followed (it would carry credentials to another origin), no
/// cookie is kept, the time for the whole exchange is bounded, and so is the length of an answer. Certificates are always
/// checked.
///
/// `@unchecked Sendable`: everything that changes belongs to `queue`, which does one thing at a time; the session calls its
/// delegate there, and `send` goes there first.
public final class OutboundClient: @unchecked Sendable {
    /// An answer longer than this is given up.
    public static let answerBytesMax = 8 << 20

    public typealias Completion = @Sendable (Result<OutboundAnswer, OutboundFailure>) -> Void

    private let queue = OperationQueue()
    private let session: URLSession
    private let exchanges: Exchanges

    /// - Parameter connectionsMax: Connections to one host at a time.
    public init(connectionsMax: Int = 8) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.httpMaximumConnectionsPerHost = connectionsMax
        queue.maxConcurrentOperationCount = 1
        exchanges = Exchanges()
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: queue)
    }

    /// Sends a request; `completion` is called once, on a thread of the client.
    public func send(_ request: OutboundRequest, completion: @escaping Completion) {
        guard let url = URL(string: request.url), let scheme = url.scheme, scheme == "https" || scheme == "http",
            url.host?.isEmpty == false
        else {
            queue.addOperation { completion(.failure(.notAnAddress)) }
            return
        }
        var message = URLRequest(url: url)
        message.httpMethod = request.method
        message.timeoutInterval = Double(request.deadlineMillis) / 1000
        for header in request.headers { message.setValue(header.value, forHTTPHeaderField: header.name) }
        if let body = request.body { message.httpBody = Data(body) }
        queue.addOperation { [self, message] in
            // A session that was invalidated makes no more tasks; asking it ends the process.
            guard !exchanges.isStopped else { return completion(.failure(.stopped)) }
            let task = session.dataTask(with: message)
            let identifier = task.taskIdentifier
            exchanges.begin(identifier, task, request, completion)
            task.resume()
            let deadline = DispatchTime.now() + .milliseconds(request.deadlineMillis)
            DispatchQueue.global().asyncAfter(deadline: deadline) { [queue, exchanges] in
                queue.addOperation { exchanges.expire(identifier) }
            }
        }
    }

    /// Gives up everything under way; later requests fail at once.
    public func stop() {
        queue.addOperation { [self] in
            exchanges.stop()
            session.invalidateAndCancel()
        }
    }
}

/// The exchanges under way, by the identifiers of their tasks.
///
/// `@unchecked Sendable`: used on the client's queue only, which does one thing at a time.
private final class Exchanges: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private struct Exchange {
        var task: URLSessionDataTask
        var bytesMax: Int
        var ignoresBody: Bool
        var completion: OutboundClient.Completion
        var response: HTTPURLResponse?
        var body: [UInt8] = []
        var count = 0
    }

    private var exchanges: [Int: Exchange] = [:]
    private(set) var isStopped = false

    func begin(
        _ identifier: Int,
        _ task: URLSessionDataTask,
        _ request: OutboundRequest,
        _ completion: @escaping OutboundClient.Completion
    ) {
        exchanges[identifier] = Exchange(
            task: task,
            bytesMax: request.answerBytesMax,
            ignoresBody: request.ignoresBody,
            completion: completion
        )
    }

    /// The first end of an exchange counts; what comes after it is about nobody.
    func end(_ identifier: Int, _ result: Result<OutboundAnswer, OutboundFailure>) {
        guard let exchange = exchanges.removeValue(forKey: identifier) else { return }
        // Whatever is still under way is about nobody; for a task that has ended this does nothing.
        exchange.task.cancel()
        exchange.completion(result)
    }

    /// The time is over; an answer whose body nobody wants has come already.
    func expire(_ identifier: Int) {
        guard let exchange = exchanges[identifier] else { return }
        if exchange.ignoresBody, exchange.response != nil { return finish(identifier, exchange) }
        end(identifier, .failure(.tooLate))
    }

    func stop() {
        isStopped = true
        for identifier in exchanges.keys.sorted() { end(identifier, .failure(.stopped)) }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // The redirect itself is the answer.
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        exchanges[dataTask.taskIdentifier]?.response = response as? HTTPURLResponse
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let identifier = dataTask.taskIdentifier
        exchanges[identifier]?.count += data.count
        guard let known = exchanges[identifier] else { return }
        if known.count > known.bytesMax {
            return known.ignoresBody ? finish(identifier, known) : end(identifier, .failure(.tooLong))
        }
        if !known.ignoresBody { exchanges[identifier]?.body += data }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let identifier = task.taskIdentifier
        guard var exchange = exchanges[identifier] else { return }
        exchange.response = exchange.response ?? task.response as? HTTPURLResponse
        if let error, !exchange.ignoresBody || exchange.response == nil {
            let isLate = (error as? URLError)?.code == .timedOut
            return end(identifier, .failure(isLate ? .tooLate : .interrupted(Self.reason(error))))
        }
        finish(identifier, exchange)
    }

    private func finish(_ identifier: Int, _ exchange: Exchange) {
        guard let response = exchange.response else {
            return end(identifier, .failure(.interrupted("no answer")))
        }
        let headers = response.allHeaderFields.compactMap { key, value in
            (key as? String).map { (name: $0, value: "\(value)") }
        }
        let stated = headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) }
        let isEncoded = headers.contains { $0.name.lowercased() == "content-encoding" }
        let isWhole = isEncoded || exchange.ignoresBody || exchange.task.originalRequest?.httpMethod == "HEAD"
        if let stated, !isWhole, stated > exchange.body.count {
            return end(identifier, .failure(.interrupted("the answer ended before its stated length")))
        }
        end(
            identifier,
            .success(OutboundAnswer(status: response.statusCode, headers: headers, body: exchange.body))
        )
    }

    private static func reason(_ error: any Error) -> String {
        guard let error = error as? URLError else { return error.localizedDescription }
        switch error.code {
        case .cannotConnectToHost: return "the connection was refused"
        case .cannotFindHost: return "its name is not known"
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
            return "its certificate is not trusted"
        default: return "the connection failed (\(error.code.rawValue))"
        }
    }
}
