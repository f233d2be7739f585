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

    static var notEntitled: Problem {
        Problem(403, "not_entitled", "Forbidden", "this user is not entitled")
    }

    static var licenseNotFound: Problem {
        Problem(404, "license_not_found", "Not Found", "no licence has this key or id")
    }

    static var licenseRevoked: Problem {
        Problem(403, "license_revoked", "Forbidden", "this licence was revoked")
    }

    static func tooManyAttempts(_ seconds: Int) -> Problem {
        var problem = Problem(429, "too_many_attempts", "Too Many Requests", "too many wrong attempts; try again later")
        problem.retryAfter = seconds
        return problem
    }

    /// An issuer's keys were never seen, so nobody can say whether the token is good.
    static var keysUnavailable: Problem {
        var problem = Problem(
            503,
            "keys_unavailable",
            "Service Unavailable",
            "the keys of the token's issuer cannot be fetched now"
        )
        problem.retryAfter = 5
        return problem
    }

    /// Nothing was recorded: the same request may be sent again.
    static func unavailable(_ detail: String, retryAfter: Int = 5) -> Problem {
        var problem = Problem(503, "storage_unavailable", "Service Unavailable", detail)
        problem.retryAfter = retryAfter
        return problem
    }

    /// A provider that must be asked first does not answer; the same request may be sent again.
    static func providerUnavailable(_ provider: String) -> Problem {
        var problem = Problem(
            503,
            "provider_unavailable",
            "Service Unavailable",
            "\(provider) could not be asked; nothing was concluded"
        )
        problem.retryAfter = 10
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
