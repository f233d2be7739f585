import TestSupport

/// `read`: the entitlement of one user.
struct ReadStep: Sendable {
    static let parameters = ["at", "entitlement", "environment", "wait", "after"]

    let user: String
    let query: [(name: String, value: JSONValue)]
    let key: JSONValue
    let save: [Saving]
    let expect: AnswerExpectation

    init(_ reader: inout ObjectReader) throws(ConformanceError) {
        user = try reader.required("read")
        var query: [(name: String, value: JSONValue)] = []
        for name in Self.parameters {
            if let value = reader.value(name) { query.append((name, value)) }
        }
        self.query = query
        key = reader.value("key") ?? "read"
        save = try Saving.list(&reader)
        // Here the expectation names the answer's own fields, beside the status.
        var fields = try reader.object("expect") ?? JSONObject()
        let status = fields["status_code"] ?? 200
        fields["status_code"] = nil
        expect = try AnswerExpectation(
            status: status,
            body: fields.members.isEmpty ? nil : .object(fields),
            at: reader.place
        )
    }
}

/// `request`: any request.
struct RequestStep: Sendable {
    /// As long as a long poll may take, and some more.
    static let secondsDefault = 40.0

    let method: String
    let path: String
    let key: JSONValue?
    let body: JSONValue?
    let raw: String?
    let headers: JSONObject
    let seconds: Double
    let save: [Saving]
    let expect: AnswerExpectation

    init(_ reader: inout ObjectReader) throws(ConformanceError) {
        var request = try ObjectReader(reader.value("request") ?? .null, at: reader.place)
        method = try request.string("method") ?? "GET"
        path = try request.required("path")
        key = request.value("key")
        body = request.value("body")
        raw = try request.string("raw")
        headers = try request.object("headers") ?? JSONObject()
        seconds = try request.number("timeout") ?? Self.secondsDefault
        try request.finish()
        save = try Saving.list(&reader)
        expect = try AnswerExpectation(reader.value("expect"), at: reader.place)
    }
}

/// `command`: another command of the program on the same database.
struct CommandStep: Sendable {
    let arguments: [String]
    let environment: JSONObject
    let seconds: Double
    let exit: JSONValue
    /// `stdout`, `stderr`, `output` (both), `json` (the output read as JSON).
    let expect: JSONObject

    init(_ reader: inout ObjectReader) throws(ConformanceError) {
        arguments = try reader.strings("command") ?? []
        environment = try reader.object("env") ?? JSONObject()
        seconds = try reader.number("seconds") ?? 20
        var fields = try reader.object("expect") ?? JSONObject()
        exit = fields["exit"] ?? 0
        fields["exit"] = nil
        let known = ["stdout", "stderr", "output", "json"]
        if let unknown = fields.members.first(where: { !known.contains($0.key) }) {
            throw .wrongCase("\(reader.place): expect does not know \(unknown.key)")
        }
        expect = fields
        try Matchers.check(.object(expect), at: reader.place)
        try Matchers.check(exit, at: reader.place)
    }
}

/// A value of an answer that later steps use as `${name}`.
struct Saving: Sendable {
    enum Source: Sendable {
        case header(String)
        case pointer(String)
    }

    let name: String
    let source: Source

    static func list(_ reader: inout ObjectReader) throws(ConformanceError) -> [Saving] {
        var savings: [Saving] = []
        for member in try reader.object("save")?.members ?? [] {
            guard let text = member.value.string else { throw .wrongCase("\(reader.place): save takes pointers") }
            let prefix = "header:"
            let isHeader = text.hasPrefix(prefix)
            let source = isHeader ? Source.header(String(text.dropFirst(prefix.count))) : .pointer(text)
            savings.append(Saving(name: member.key, source: source))
        }
        return savings
    }
}
