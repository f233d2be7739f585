internal import Foundation

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// The requests under way of one session, each waited for by a task. No redirect is followed: it would carry the user's
/// token to another address, so it is the answer itself.
///
/// `@unchecked Sendable`: `underWay` is the one thing that changes, and is touched with the lock held only.
final class Exchanges: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private struct Exchange {
        var continuation: CheckedContinuation<(status: Int, body: Data), any Error>
        var body = Data()
    }

    private let lock = NSLock()
    private var underWay: [Int: Exchange] = [:]
    private let bytesMax: Int

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    /// Sends, and waits for the whole answer.
    func send(_ request: URLRequest, by session: URLSession) async throws -> (status: Int, body: Data) {
        let task = session.dataTask(with: request)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                lock.withLock { underWay[task.taskIdentifier] = Exchange(continuation: continuation) }
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
    }

    private func end(_ task: URLSessionTask, _ result: Result<(status: Int, body: Data), any Error>) {
        let exchange = lock.withLock { underWay.removeValue(forKey: task.taskIdentifier) }
        exchange?.continuation.resume(with: result)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let count = lock.withLock {
            underWay[dataTask.taskIdentifier]?.body.append(data)
            return underWay[dataTask.taskIdentifier]?.body.count ?? 0
        }
        guard count > bytesMax else { return }
        end(dataTask, .failure(URLError(.dataLengthExceedsMaximum)))
        dataTask.cancel()
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error { return end(task, .failure(error)) }
        guard let status = (task.response as? HTTPURLResponse)?.statusCode else {
            return end(task, .failure(URLError(.badServerResponse)))
        }
        let body = lock.withLock { underWay[task.taskIdentifier]?.body ?? Data() }
        end(task, .success((status: status, body: body)))
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
        end(task, .success((status: response.statusCode, body: Data())))
        // Not every system ends a task whose redirect was refused.
        task.cancel()
    }
}
