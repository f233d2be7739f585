internal import Entitlements
internal import HTTPServer
internal import Platform
internal import Storage

/// `GET /v1/gate/{user_id}`: for proxies that ask before they let a request through (nginx `auth_request`, `forward_auth`).
extension GatewayHandler {
    func gate(_ user: UnsafeRawBufferPointer, _ request: Request, _ response: inout Response) -> Disposition {
        guard mayRead(request, &response) else { return .done }
        question.user.removeAll(keepingCapacity: true)
        unsafe RequestTarget.decode(user, into: &question.user)
        lookup.removeAll(keepingCapacity: true)
        lookup.append(contentsOf: question.user)
        guard UserID.normalize(&lookup) else {
            write(.invalidUserID, &response)
            return .done
        }
        guard setScope(request, &response) else { return .done }
        question.moment = now
        do throws(StorageError) {
            let summary = try encodeAnswer(question.moment)
            guard summary.isEntitled else {
                write(Problem(403, "not_entitled", "Forbidden", "this user is not entitled"), &response)
                return .done
            }
            response.start(200)
            // As it stood in the path: percent-encoded, so that it is a header value whatever the id holds.
            unsafe response.header("X-User-Id", bytes: user)
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
