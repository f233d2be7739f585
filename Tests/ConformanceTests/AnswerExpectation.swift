import TestSupport

/// What an HTTP answer must be like: only what is named is compared.
struct AnswerExpectation: Sendable {
    let status: JSONValue?
    let body: JSONValue?
    let headers: JSONObject
    /// Texts that must not occur in the body.
    let excludes: [String]

    init(_ document: JSONValue?, at place: String) throws(ConformanceError) {
        var reader = try ObjectReader(document ?? [:], at: "\(place), expect")
        status = reader.value("status")
        body = reader.value("body")
        headers = try reader.object("headers") ?? JSONObject()
        excludes = try reader.strings("excludes") ?? []
        try reader.finish()
        try check(at: place)
    }

    init(status: JSONValue, body: JSONValue?, at place: String) throws(ConformanceError) {
        self.status = status
        self.body = body
        headers = JSONObject()
        excludes = []
        try check(at: place)
    }

    private func check(at place: String) throws(ConformanceError) {
        for part in [status, body] + headers.members.map(\.value) {
            if let part { try Matchers.check(part, at: place) }
        }
    }

    /// One line for each thing that is not as expected; none when the answer fits.
    func differences(
        in answer: HTTPAnswer,
        defaultStatus: Int?,
        scope: Scope
    ) throws(ConformanceError) -> [String] {
        var found: [String] = []
        if let wanted = status ?? defaultStatus.map({ .integer(Int64($0)) }) {
            found += try Matchers.differences(scope.expand(wanted), .integer(Int64(answer.status)), at: "status")
        }
        if let body = try body.map({ wanted throws(ConformanceError) in try scope.expand(wanted) }) {
            if let document = try? answer.json() {
                found += try Matchers.differences(body, document)
            } else if body != [:] {
                found.append("body: expected JSON, got \(Matchers.show(.string(answer.text)))")
            }
        }
        for member in headers.members {
            let value = answer.header(member.key).map(JSONValue.string)
            found += try Matchers.differences(scope.expand(member.value), value, at: "header/\(member.key)")
        }
        for text in excludes {
            let text = try scope.text(.string(text))
            if answer.body.contains(Array(text.utf8)) { found.append("body: must not contain \(text)") }
        }
        return found
    }
}
