internal import Foundation
internal import FoundationNetworking
internal import Synchronization

/// One request's answer: written by the session's thread, read after it is done.
///
/// Redirects are not followed: the key would go along to wherever they lead.
final class Exchange: NSObject, URLSessionDataDelegate, Sendable {
    /// More than any answer of a gateway has.
    private static let bytesMax = 64 << 20

    private struct State {
        var status: Int?
        var body = Data()
        var reason = "no answer"
    }

    private let state = Mutex(State())
    private let done = DispatchSemaphore(value: 0)

    /// Blocks until the exchange has ended.
    func wait() {
        done.wait()
    }

    /// Nil when there was no whole answer.
    var status: Int? { state.withLock(\.status) }
    var text: String { String(decoding: state.withLock(\.body), as: UTF8.self) }
    var reason: String { state.withLock(\.reason) }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooMuch = state.withLock { state in
            state.body.append(data)
            return state.body.count > Self.bytesMax
        }
        if isTooMuch { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let status = (task.response as? HTTPURLResponse)?.statusCode
        state.withLock { state in
            if let error {
                state.reason = error.localizedDescription
            } else {
                state.status = status
            }
        }
        done.signal()
    }
}
