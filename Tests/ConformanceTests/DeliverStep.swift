import TestSupport

/// A webhook delivery: a payload with changes, or raw bytes, and how it is signed.
struct DeliverStep: Sendable {
    enum Content: Sendable {
        case payload(String)
        case raw(String)
    }

    let content: Content
    let provider: String
    let set: JSONObject
    let remove: [String]
    let mode: SignMode
    /// How many more times the identical delivery is sent, each expected to be a duplicate.
    let again: Int
    let eventID: JSONValue?
    let secret: JSONValue?
    let keyAs: KeyForm
    let timestamp: JSONValue?
    let headers: JSONObject
    /// The body is filled up with blanks to this many bytes before it is signed.
    let padBytes: Int
    let save: [Saving]
    let expect: AnswerExpectation
    /// Only the signers of the stores understand these.
    let nested: SignMode?
    let tokenClaims: JSONObject?
    let isUnwrapped: Bool

    init(_ reader: inout ObjectReader) throws(ConformanceError) {
        let name = try reader.string("deliver")
        let raw = try reader.string("raw")
        if let raw {
            content = .raw(raw)
        } else {
            content = .payload(name ?? "")
        }
        let folder = name.flatMap { $0.split(separator: "/").first.map(String.init) }
        guard let provider = try reader.string("provider") ?? folder else {
            throw .wrongCase("\(reader.place): a raw delivery needs \"provider\"")
        }
        self.provider = provider
        set = try reader.object("set") ?? JSONObject()
        remove = try reader.strings("remove") ?? []
        mode = try SignMode(reader.string("sign") ?? "good", at: reader.place)
        again = try reader.count("again") ?? 0
        eventID = reader.value("event_id")
        secret = reader.value("secret")
        guard let keyAs = KeyForm(rawValue: try reader.string("key_as") ?? "base64") else {
            throw .wrongCase("\(reader.place): key_as is \"utf8\" or absent")
        }
        self.keyAs = keyAs
        timestamp = reader.value("timestamp")
        headers = try reader.object("headers") ?? JSONObject()
        padBytes = try reader.count("pad") ?? 0
        nested = try reader.string("nested").map { text throws(ConformanceError) in try SignMode(text, at: reader.place)
        }
        tokenClaims = try reader.object("token_claims")
        isUnwrapped = try reader.bool("unwrapped") ?? false
        save = try Saving.list(&reader)
        expect = try AnswerExpectation(reader.value("expect"), at: reader.place)
    }

    /// What an expectation that names no status expects.
    var defaultStatus: Int {
        mode == .good || mode == .rotated ? 200 : 401
    }
}
