/// Every answer that is not what was asked for: RFC 9457, with a stable `code`.
///
/// The only place that knows both what went wrong and a status.
struct Problem {
    var status: Int
    var code: StaticString
    var title: StaticString
    var detail: String
    /// Seconds after which it is worth trying again.
    var retryAfter: Int?
    /// Methods of a path that does not take the one used.
    var allow: StaticString?

    init(_ status: Int, _ code: StaticString, _ title: StaticString, _ detail: String = "") {
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
    }

    /// The same for every reason, so that nobody learns which check failed.
    static var unauthorized: Problem { Problem(401, "unauthorized", "Unauthorized", "a valid credential is needed") }
    static var forbidden: Problem { Problem(403, "forbidden", "Forbidden", "this key may only read the gate") }
    static var notFound: Problem { Problem(404, "not_found", "Not Found", "there is nothing at this path") }

    static func notFound(_ detail: String) -> Problem { Problem(404, "not_found", "Not Found", detail) }

    static func methodNotAllowed(_ allow: StaticString) -> Problem {
        var problem = Problem(405, "method_not_allowed", "Method Not Allowed", "this path takes \(allow)")
        problem.allow = allow
        return problem
    }

    static func badRequest(_ detail: String) -> Problem { Problem(400, "bad_request", "Bad Request", detail) }

    static var invalidUserID: Problem {
        Problem(
            400,
            "invalid_user_id",
            "Bad Request",
            "user_id: 1 to 255 bytes of UTF-8 without control characters, and no word that stands for nobody"
        )
    }

    /// Nothing was recorded: the same request may be sent again.
    static func unavailable(_ detail: String, retryAfter: Int = 5) -> Problem {
        var problem = Problem(503, "storage_unavailable", "Service Unavailable", detail)
        problem.retryAfter = retryAfter
        return problem
    }

    /// The answer of `/readyz` while the database takes no write.
    static var notReady: Problem {
        var problem = Problem(503, "not_ready", "Service Unavailable", "the database takes no write")
        problem.retryAfter = 1
        return problem
    }

    static func notReplayable(_ detail: String) -> Problem {
        Problem(409, "not_replayable", "Conflict", detail)
    }
}
