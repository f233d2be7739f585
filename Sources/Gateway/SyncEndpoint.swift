internal import Entitlements
internal import HTTPServer
internal import Platform
internal import ProviderKit
internal import Storage

/// `POST /v1/users/{user_id}/sync` (contract section 6), and `POST /v1/me/sync` for the bearer of a user token: looks at the providers now, and answers with the row.
extension GatewayHandler {
    /// The answer comes within a second; what is read later counts when it comes.
    private static let deadlineMillis = 900

    func sync(
        _ user: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard authorize(request, .read, &response) != nil else { return .done }
        guard let user = unsafe checkedUser(user, &response) else { return .done }
        return unsafe sync(user, query: request.query, &response, ticket)
    }

    /// For whoever was found to be allowed to ask about `user`.
    func sync(
        _ user: UserID,
        query: UnsafeRawBufferPointer,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard unsafe setScope(query: query, &response) else { return .done }
        question.user = Array(user.value.utf8)
        let (asked, mailbox) = (question, mailbox)
        let isTaken = context.sync.sync(user, deadlineMillis: Self.deadlineMillis) { report in
            _ = mailbox.post(.synced(ticket, asked, report))
        }
        guard isTaken else {
            write(.unavailable("more people are being looked at than the gateway takes"), &response)
            return .done
        }
        return .later
    }

    func writeSynced(_ asked: AnswerQuestion, _ report: SyncReport, _ response: inout Response) {
        question = asked
        lookup = asked.user
        question.moment = now
        do throws(StorageError) {
            json.reset()
            _ = try encodeOpenAnswer(question.moment)
            writeNames("unreachable", report.unreachable.keys.sorted())
            writeNames("pending", report.pending.sorted())
            json.raw("}")
            send(200, &response)
        } catch {
            Log.error("a read failed", ("reason", .string(error.description)))
            write(.unavailable("the database cannot be read", retryAfter: 1), &response)
        }
    }

    private func writeNames(_ name: StaticString, _ providers: [ProviderID]) {
        json.key(name)
        json.raw("[")
        for provider in providers {
            json.separate()
            json.string(provider.name)
        }
        json.raw("]")
    }
}
