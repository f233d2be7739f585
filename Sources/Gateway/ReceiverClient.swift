internal import Outbound

/// What a receiver answered to one message.
enum ReceiverAnswer: Sendable {
    /// A status of 200 to 299.
    case accepted
    /// Anything else: why, and after how many seconds it wants to be asked again.
    case refused(String, retryAfter: Int?)
}

/// Sends messages to one receiver. The status is the answer, whatever happens to the content after it.
struct ReceiverClient: Sendable {
    /// Nobody reads the answer's content; what is longer than this is no answer to a notification.
    private static let answerBytesMax = 64 << 10

    private let client = OutboundClient(connectionsMax: NotificationWorker.inFlightMax)

    /// Sends one message and calls `done` once, on a thread of the client.
    func send(
        _ body: [UInt8],
        to url: String,
        headers: [(name: String, value: String)],
        seconds: Double,
        _ done: @escaping @Sendable (ReceiverAnswer) -> Void
    ) {
        let request = OutboundRequest(
            "POST",
            url,
            headers: headers,
            body: body,
            deadlineMillis: Int(seconds * 1000),
            answerBytesMax: Self.answerBytesMax,
            ignoresBody: true
        )
        client.send(request) { result in
            switch result {
            case .success(let answer) where (200..<300).contains(answer.status): done(.accepted)
            case .success(let answer):
                done(.refused("status \(answer.status)", retryAfter: answer.header("Retry-After").flatMap { Int($0) }))
            case .failure(.tooLate): done(.refused("no answer in time", retryAfter: nil))
            case .failure(let failure): done(.refused(failure.description, retryAfter: nil))
            }
        }
    }

    /// Ends what is still going on; nothing can be sent afterwards.
    func close() { client.stop() }
}
