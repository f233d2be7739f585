internal import Foundation
internal import FoundationNetworking
internal import Synchronization

/// What a receiver answered to one message.
enum ReceiverAnswer: Sendable {
    /// A status of 200 to 299.
    case accepted
    /// Anything else: why, and after how many seconds it wants to be asked again.
    case refused(String, retryAfter: Int?)
}

/// Sends messages to one receiver. Its state is one table behind a lock; the session calls back on threads of its own.
///
/// Redirects are not followed, because the session would carry the signature along; cookies are not kept; an answer's
/// content is thrown away, and one that does not end is cut off.
final class ReceiverClient: NSObject, URLSessionDataDelegate, Sendable {
    /// Nobody reads the answer's content; what is longer than this is no answer to a notification.
    private static let answerBytesMax = 64 << 10

    private struct Attempt {
        var task: URLSessionTask
        var status: Int?
        var retryAfter: Int?
        var bytes = 0
        var done: @Sendable (ReceiverAnswer) -> Void
    }

    private let attempts = Mutex<[Int: Attempt]>([:])
    private let session = Mutex<URLSession?>(nil)

    /// Sends one message and calls `done` once, on any thread.
    ///
    /// - Returns: A number to cancel it by.
    func send(
        _ body: [UInt8],
        to url: URL,
        headers: [(name: String, value: String)],
        seconds: Double,
        _ done: @escaping @Sendable (ReceiverAnswer) -> Void
    ) -> Int {
        var request = URLRequest(url: url, timeoutInterval: seconds)
        request.httpMethod = "POST"
        request.httpBody = Data(body)
        for header in headers { request.setValue(header.value, forHTTPHeaderField: header.name) }
        let task = openSession().dataTask(with: request)
        attempts.withLock { $0[task.taskIdentifier] = Attempt(task: task, done: done) }
        task.resume()
        return task.taskIdentifier
    }

    func cancel(_ number: Int) {
        attempts.withLock { $0[number]?.task }?.cancel()
    }

    /// Ends what is still going on; nothing can be sent afterwards.
    func close() {
        session.withLock { session in
            session?.invalidateAndCancel()
            session = nil
        }
    }

    private func openSession() -> URLSession {
        session.withLock { session in
            if let session { return session }
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            configuration.urlCache = nil
            configuration.urlCredentialStorage = nil
            configuration.httpMaximumConnectionsPerHost = NotificationWorker.inFlightMax
            let opened = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
            session = opened
            return opened
        }
    }

    // MARK: - The session's calls

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let http = response as? HTTPURLResponse
        let retryAfter = http?.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) }
        attempts.withLock { attempts in
            attempts[dataTask.taskIdentifier]?.status = http?.statusCode
            attempts[dataTask.taskIdentifier]?.retryAfter = retryAfter
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLong = attempts.withLock { attempts in
            attempts[dataTask.taskIdentifier]?.bytes += data.count
            return attempts[dataTask.taskIdentifier].map { $0.bytes > Self.answerBytesMax } ?? false
        }
        if isTooLong { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let attempt = attempts.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        let status = attempt.status ?? (task.response as? HTTPURLResponse)?.statusCode
        guard let status else {
            attempt.done(.refused(Self.reason(error), retryAfter: nil))
            return
        }
        // The status came first: whatever happened to the content after it does not matter.
        attempt.done(
            (200..<300).contains(status)
                ? .accepted : .refused("status \(status)", retryAfter: attempt.retryAfter)
        )
    }

    private static func reason(_ error: (any Error)?) -> String {
        guard let error = error as? URLError else { return "no answer" }
        switch error.code {
        case .timedOut, .cancelled: return "no answer in time"
        case .cannotConnectToHost: return "the connection was refused"
        case .cannotFindHost: return "its name is not known"
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
            return "its certificate is not trusted"
        default: return "the connection failed (\(error.code.rawValue))"
        }
    }
}
