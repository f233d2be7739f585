internal import Entitlements
internal import HTTPServer
internal import Platform
internal import Storage

/// `GET /v1/gate/{user_id}`: for proxies that ask before they let a request through (nginx `auth_request`, `forward_auth`).
extension GatewayHandler {
    func gate(
        _ user: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard mayRead(request, &response) else { return .done }
        question.user.removeAll(keepingCapacity: true)
        unsafe RequestTarget.decode(user, into: &question.user)
        return unsafe gate(query: request.query, &response, ticket)
    }

    /// Answers for the user that stands in `question`.
    func gate(query: UnsafeRawBufferPointer, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        guard setLookup() else {
            write(.invalidUserID, &response)
            return .done
        }
        guard unsafe setScope(query: query, &response) else { return .done }
        question.moment = now
        if readsElsewhere, reads.fetched.isEmpty {
            return waitForRow(ticket, .gate(query: unsafe [UInt8](query)), &response)
        }
        do throws(StorageError) {
            let summary = try encodeAnswer(question.moment)
            if mustConfirm(summary, known: 0) {
                return waitForRow(ticket, .gate(query: unsafe [UInt8](query)), isNewest: true, &response)
            }
            if let lapsed = summary.lapsedAt { recheck(lapsed, question.moment) }
            guard summary.isEntitled else {
                write(.notEntitled, &response)
                return .done
            }
            response.start(200)
            // Percent-encoded as in paths, so that it is a header value whatever the id holds.
            encoded.removeAll(keepingCapacity: true)
            RequestTarget.encode(lookup, into: &encoded)
            unsafe encoded.withUnsafeBytes { unsafe response.header("X-User-Id", bytes: $0) }
            response.header("X-Entitled", "true")
            response.header("Cache-Control", "private, no-cache")
            response.finish()
        } catch {
            Log.error("a read failed", ("reason", .string(error.description)))
            write(.unavailable("the database cannot be read", retryAfter: 1), &response)
        }
        return .done
    }
}
