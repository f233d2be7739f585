internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLStorage
internal import Storage

/// `GET /v1/notifications?state=waiting|dead`: what is still to be told, and what was given up.
/// `POST /v1/notifications/resend`, or `…/{message_id}/resend`: dead letters are tried again.
extension GatewayHandler {
    private static let messagesDefault = 50
    private static let messagesMax = 500

    /// - Parameter rest: The path behind `/v1/notifications`.
    func notifications(
        _ rest: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        if rest.count == 0 {
            guard isRead(request, &response) else { return .done }
            return listMessages(request, &response, ticket)
        }
        let words = (unsafe RequestTarget.text(rest) ?? "").split(separator: "/", omittingEmptySubsequences: false)
        guard words.first == "", words.last == "resend", words.count == 2 || words.count == 3 else {
            write(.notFound, &response)
            return .done
        }
        route = words.count == 3 ? .notificationResend : .notificationsResend
        guard isMethod(.post, "POST", request, &response) else { return .done }
        guard let key = authorize(request, .admin, &response) else { return .done }
        return submit(
            .resend(messageID: words.count == 3 ? String(words[1]) : nil, by: Actor(keyID: key.id, at: now)),
            .resend,
            ticket,
            &response
        )
    }

    func finishResend(_ committed: Committed<StoreResult>, _ response: inout Response) {
        guard case .resent(let count) = committed.value else { return }
        guard count > 0 else {
            return write(.notFound("no dead letter has this id"), &response)
        }
        json.reset()
        json.raw("{\"resent\":")
        json.integer(Int64(count))
        json.raw("}")
        send(200, &response)
        context.feed.outboxGrew()
    }

    private func listMessages(
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard authorize(request, .admin, &response) != nil else { return .done }
        func parameter(_ name: StaticString) -> String? {
            unsafe RequestTarget.parameter(name, in: request.query).flatMap { unsafe RequestTarget.text($0) }
        }
        let state = parameter("state") ?? "waiting"
        guard state == "waiting" || state == "dead" else {
            return refuse("state: expected waiting or dead", &response)
        }
        guard let limit = Int(parameter("limit") ?? "\(Self.messagesDefault)"),
            (1...Self.messagesMax).contains(limit)
        else { return refuse("limit: expected a number from 1 to \(Self.messagesMax)", &response) }
        var before: Int64?
        if let text = parameter("after") {
            guard let place = Int64(text), place > 0 else {
                return refuse("after: expected the next of an earlier page", &response)
            }
            before = place
        }
        let asked = before
        return view(ticket, &response) { views throws(StorageError) in
            (
                try views.reader.messages(dead: state == "dead", limit: limit, before: asked),
                try views.reader.messageCounts()
            )
        } _: { handler, found, response throws(StorageError) in
            try handler.writeMessages(found.0, found.1, limit, &response)
            return .done
        }
    }

    private func writeMessages(
        _ messages: [OutboxMessage],
        _ counts: [OutboxCount],
        _ limit: Int,
        _ response: inout Response
    ) throws(StorageError) {
        json.reset()
        json.raw("{\"notifications\":[")
        for message in messages { try writeMessage(message) }
        json.raw("],\"counts\":[")
        for count in counts {
            json.separate()
            json.raw("{")
            json.key("receiver")
            json.string(place(of: count.receiver))
            json.key("waiting")
            json.integer(Int64(count.waiting))
            json.key("dead")
            json.integer(Int64(count.dead))
            json.raw("}")
        }
        json.raw("],\"next\":")
        json.optional(messages.count == limit ? messages.last.map { String($0.sequence) } : nil)
        json.raw("}")
        send(200, &response)
    }

    private func writeMessage(_ message: OutboxMessage) throws(StorageError) {
        let change = try AnswerChangeCoding.decode(message.body, user: message.user)
        json.separate()
        json.raw("{")
        json.key("message_id")
        json.string(message.messageID)
        json.key("receiver")
        json.string(place(of: message.receiver))
        json.key("user_id")
        json.string(message.user.value)
        json.key("environment")
        json.string(change.environment.name)
        json.key("entitlement")
        json.string(change.entitlement)
        json.key("created_at")
        json.time(message.createdAt)
        json.key("attempts")
        json.integer(Int64(message.attempts))
        json.key("dead_at")
        json.time(message.deadAt)
        json.key("reason")
        json.optional(message.reason)
        json.raw("}")
    }

    private func place(of receiver: String) -> String {
        context.receivers.first { $0.id == receiver }?.place ?? receiver
    }
}
