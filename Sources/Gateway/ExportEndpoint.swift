internal import Entitlements
internal import HTTPServer

/// `GET /v1/users/{user_id}/export`: everything that is kept about a person. Read by a thread of its own, because it looks
/// through every kept payload.
extension GatewayHandler {
    func export(
        _ user: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard authorize(request, .admin, &response) != nil else { return .done }
        guard let user = unsafe checkedUser(user, &response) else { return .done }
        guard context.feed.ask(.export(user, ticket, mailbox)) else {
            write(.unavailable("too much is being read"), &response)
            return .done
        }
        return .later
    }

    /// - Parameter bytes: Nil when it could not be read.
    func finishExport(_ ticket: ReplyTicket, _ bytes: [UInt8]?, _ replies: Replies<GatewayHandler>) {
        reply(to: ticket, replies) { response in
            guard let bytes else {
                return write(.unavailable("the database cannot be read", retryAfter: 1), &response)
            }
            response.start(200)
            response.header("Content-Type", "application/json")
            response.header("Cache-Control", "no-store")
            unsafe bytes.withUnsafeBytes { unsafe response.finish(body: $0) }
        }
    }
}
