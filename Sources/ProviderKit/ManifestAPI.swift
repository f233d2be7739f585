internal import Crypto
public import Entitlements

extension Manifest {
    /// How a provider's API is read: what to ask, and which event of the manifest an answer is like.
    public struct API: Sendable {
        /// The server's address without a slash at its end.
        public var base: String
        /// The environment variable that may name another server.
        public var baseVariable: String
        /// The environment variable of the API key.
        public var keyVariable: String
        /// Header values with `{key}` in the key's place.
        public var headers: [(name: String, value: String)]
        public var requestsPerMinute: Int
        public var reads: [Read]
    }

    /// One kind of request.
    public struct Read: Sendable {
        public enum Subject: Sendable {
            /// One request for each purchase with an id of this kind.
            case purchase(kind: String?)
            /// One request for each customer; all pages are read.
            case customer
        }

        public var subject: Subject
        /// With `{id}` in the id's place.
        public var path: String
        /// The list of objects in the answer; nil: the answer is the object.
        public var each: JSONPointer?
        public var next: Next?
        /// The event that an object is read as. Texts in braces stand for the object, a value in it, or the answer's time.
        public var event: JSON
    }

    /// Where a list's next page is.
    public enum Next: Sendable {
        /// The answer names it: a path, or an address on the same server.
        case address(JSONPointer)
        /// While the condition holds, the last object's id goes into this query parameter.
        case after(query: String, id: JSONPointer, while: ManifestCondition)
        /// Pages are numbered from 1; the answer tells how many there are.
        case number(query: String, of: JSONPointer)
    }
}

/// The API of a provider that is described by a manifest. An object is read as the event it would come in, so that one set
/// of rules tells what it means, however it came.
public struct ManifestAPI: ProviderAPI {
    private let adapter: ManifestAdapter
    private let api: Manifest.API
    public let base: String
    public let headers: [(name: String, value: String)]

    /// Pages of one list that are read at most; more means that something is wrong.
    private static let pagesMax = 50

    /// Nil when the manifest says nothing of an API.
    public init?(manifest: Manifest, base: String?, key: String) {
        guard let api = manifest.api else { return nil }
        self.api = api
        var base = base ?? api.base
        while base.hasSuffix("/") { base.removeLast() }
        self.base = base
        headers = api.headers.map { ($0.name, $0.value.replacing("{key}", with: key)) }
        adapter = ManifestAdapter(manifest: manifest, secrets: [])
    }

    public var provider: ProviderID { adapter.provider }
    public var requestsPerMinute: Int { api.requestsPerMinute }

    public func questions(about person: KnownPerson) -> [APIQuestion] {
        var questions: [APIQuestion] = []
        for read in api.reads {
            switch read.subject {
            case .purchase(let kind):
                let namespace = provider.name + (kind.map { ":" + $0 } ?? "")
                for identifier in person.purchases.flatMap(\.ids)
                where identifier.id.namespace == namespace && identifier.rank == .subscription {
                    questions.append(.purchase(identifier.id))
                }
            case .customer:
                questions += person.customers.filter { $0.provider == provider }.map { .customer($0.value) }
            }
        }
        return questions
    }

    public func next(_ question: APIQuestion, _ answers: [APIRequest: APIAnswer]) -> APIStep {
        guard let read = read(for: question) else { return .done(APIReading()) }
        let id: String
        switch question {
        case .customer(let value): id = value
        case .purchase(let purchase): id = purchase.value
        case .delivery, .send, .page: return .done(APIReading())
        }
        var request = APIRequest(read.path.replacing("{id}", with: APIRequest.encode(id)))
        let first = request
        var events: [NormalizedEvent] = []
        for page in 1...Self.pagesMax {
            guard let answer = answers[request] else { return .ask([request]) }
            if let failure = failure(of: answer) { return .failed(failure) }
            // Nobody knows it any more: that takes nothing away, it only says nothing.
            if answer.status == 404 { return .done(APIReading(events: page == 1 ? [] : events)) }
            guard let body = answer.body else { return .failed(.notUnderstood("\(provider.name) answered no JSON")) }
            guard let at = answer.at else { return .failed(.notUnderstood("\(provider.name)'s answer tells no time")) }
            guard let objects = objects(in: body, read) else {
                return .failed(.notUnderstood("\(provider.name)'s answer has no list"))
            }
            for object in objects { events.append(event(object, at, read)) }
            guard let next = following(read.next, first, page, body, objects) else {
                return .done(APIReading(events: events))
            }
            guard case .success(let path) = next else {
                return .failed(.notUnderstood("\(provider.name)'s next page is on another server"))
            }
            request = APIRequest(path)
        }
        return .failed(.notUnderstood("\(provider.name)'s list does not end"))
    }

    private func read(for question: APIQuestion) -> Manifest.Read? {
        api.reads.first { read in
            switch (read.subject, question) {
            case (.customer, .customer): true
            case (.purchase(let kind), .purchase(let id)):
                id.namespace == provider.name + (kind.map { ":" + $0 } ?? "")
            default: false
            }
        }
    }

    private func objects(in body: JSON, _ read: Manifest.Read) -> [JSON]? {
        guard let each = read.each else { return [body] }
        return each.values(in: body, element: nil).first?.array
    }

    private struct Elsewhere: Error {}

    /// Nil after the last page.
    private func following(
        _ next: Manifest.Next?,
        _ first: APIRequest,
        _ page: Int,
        _ body: JSON,
        _ objects: [JSON]
    ) -> Result<String, Elsewhere>? {
        func with(_ query: String, _ value: String) -> Result<String, Elsewhere> {
            .success(first.path + (first.path.contains("?") ? "&" : "?") + query + "=" + APIRequest.encode(value))
        }
        switch next {
        case nil: return nil
        case .address(let pointer):
            guard let address = pointer.values(in: body, element: nil).first?.string, !address.isEmpty else {
                return nil
            }
            if address.hasPrefix("/") { return .success(address) }
            guard address.hasPrefix(base + "/") else { return .failure(Elsewhere()) }
            return .success(String(address.dropFirst(base.count)))
        case .after(let query, let pointer, let condition):
            guard ManifestReading(document: body, numberFormat: .seconds).holds(condition), let last = objects.last,
                let id = pointer.values(in: last, element: last).first?.string
            else { return nil }
            return with(query, id)
        case .number(let query, let pointer):
            guard let pages = pointer.values(in: body, element: nil).first?.integer, page < pages else { return nil }
            return with(query, String(page + 1))
        }
    }

    private func event(_ object: JSON, _ at: UnixMillis, _ read: Manifest.Read) -> NormalizedEvent {
        let version = at.adding(millis: -Self.deliveryWinsMillis)
        let document = EventTemplate(object: object, version: version).fill(read.event)
        let digest = Hex.encode(Array(Digest.sha256(document.bytes).prefix(12)))
        let id = "api:\(digest):\(at.value)"
        var event = adapter.normalize(VerifiedDelivery(verified: document.bytes, eventID: id))
        event.eventID = id
        if !event.type.hasPrefix("api.") { event.type = "api." + event.type }
        return event
    }
}

/// Fills an event's form with an object that was read.
struct EventTemplate {
    let object: JSON
    let version: UnixMillis

    /// The words that stand for the time, and every pointer into the object.
    static func isKnown(_ word: String) -> Bool {
        switch word {
        case "object", "time:unix_s", "time:unix_ms", "time:rfc3339": true
        default: word.hasPrefix("/") && JSONPointer(word) != nil
        }
    }

    /// The word between braces that make up a whole text.
    static func word(_ text: String) -> String? {
        guard text.hasPrefix("{"), text.hasSuffix("}"), text.count > 2 else { return nil }
        return String(text.dropFirst().dropLast())
    }

    func fill(_ form: JSON) -> JSON {
        switch form {
        case .string(let text): Self.word(text).map(value) ?? form
        case .array(let elements): .array(elements.map(fill))
        case .object(let members): .object(members.mapValues(fill))
        default: form
        }
    }

    private func value(_ word: String) -> JSON {
        switch word {
        case "object": object
        case "time:unix_s": .integer(version.value / 1000)
        case "time:unix_ms": .integer(version.value)
        case "time:rfc3339": .string(version.rfc3339)
        default: JSONPointer(word)?.values(in: object, element: nil).first ?? .null
        }
    }
}
