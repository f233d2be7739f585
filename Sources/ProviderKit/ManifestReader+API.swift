internal import Entitlements

extension ManifestReader {
    /// The `api` of a manifest: how the provider is read when webhooks did not tell.
    func api(_ json: JSON?, _ place: String) throws(ManifestError) -> Manifest.API? {
        guard let json else { return nil }
        var node = try node(json, place)
        let base = try requiredText(&node, "base", "the server's address, https://…")
        guard base.hasPrefix("https://"), !base.hasSuffix("/") else {
            throw fail(node.place("base"), "an address that begins with https:// and ends without a slash")
        }
        let baseVariable = try requiredText(&node, "base_variable", "the variable that may name another server")
        let keyVariable = try requiredText(&node, "key", "the environment variable of the API key")
        var headers: [(name: String, value: String)] = []
        if let headerJSON = node.take("headers") {
            let members = try self.node(headerJSON, node.place("headers")).members
            for name in members.keys.sorted() {
                guard let value = members[name]?.string else {
                    throw fail("\(node.place("headers"))/\(name)", "a text")
                }
                headers.append((name, value))
            }
        }
        guard headers.contains(where: { $0.value.contains("{key}") }) else {
            throw fail(node.place("headers"), "a header with {key} in it", #"such as "Authorization": "Bearer {key}""#)
        }
        guard let perMinute = node.take("per_minute")?.integer, (1...100_000).contains(perMinute) else {
            throw fail(node.place("per_minute"), "requests a minute", "stay below what the provider allows")
        }
        guard let list = try list(&node, "reads", of: "requests") else {
            throw fail(node.place("reads"), "a list of requests")
        }
        var reads: [Manifest.Read] = []
        for (index, element) in list.enumerated() { reads.append(try read(element, "\(node.place("reads"))/\(index)")) }
        try done(node)
        return Manifest.API(
            base: base,
            baseVariable: baseVariable,
            keyVariable: keyVariable,
            headers: headers,
            requestsPerMinute: Int(perMinute),
            reads: reads
        )
    }

    private func read(_ json: JSON, _ place: String) throws(ManifestError) -> Manifest.Read {
        var node = try node(json, place)
        let subject: Manifest.Read.Subject
        switch try requiredText(&node, "of", "purchase or customer") {
        case "purchase": subject = .purchase(kind: try text(&node, "kind"))
        case "customer": subject = .customer
        default: throw fail(node.place("of"), "purchase or customer")
        }
        let path = try requiredText(&node, "path", "such as /v1/subscriptions/{id}")
        guard path.hasPrefix("/"), path.contains("{id}") else {
            throw fail(node.place("path"), "a path that begins with / and has {id} in it")
        }
        let each = try node.take("each").map { json throws(ManifestError) in try pointer(json, node.place("each")) }
        let next = try node.take("next").map { json throws(ManifestError) in try self.next(json, node.place("next")) }
        guard let event = node.take("event"), event.object != nil else {
            throw fail(
                node.place("event"),
                "the event that an object is read as",
                #"with "{object}" in the object's place"#
            )
        }
        try check(event, node.place("event"))
        try done(node)
        return Manifest.Read(subject: subject, path: path, each: each, next: next, event: event)
    }

    private func next(_ json: JSON, _ place: String) throws(ManifestError) -> Manifest.Next {
        var node = try node(json, place)
        if let address = node.take("address") {
            let pointer = try self.pointer(address, node.place("address"))
            try done(node)
            return .address(pointer)
        }
        let query = try requiredText(&node, "query", "the query parameter of the next page")
        if let pages = node.take("pages") {
            let pointer = try self.pointer(pages, node.place("pages"))
            try done(node)
            return .number(query: query, of: pointer)
        }
        guard let idJSON = node.take("id") else {
            throw fail(place, "address, or query with pages, or query with id and while")
        }
        let id = try pointer(idJSON, node.place("id"))
        guard let condition = try condition(&node, "while") else {
            throw fail(node.place("while"), "a condition", "it holds while there are more pages")
        }
        try done(node)
        return .after(query: query, id: id, while: condition)
    }

    private func check(_ form: JSON, _ place: String) throws(ManifestError) {
        switch form {
        case .string(let text):
            guard let word = EventTemplate.word(text) else { return }
            guard EventTemplate.isKnown(word) else {
                throw fail(place, "{object}, {/pointer}, {time:unix_s}, {time:unix_ms} or {time:rfc3339}")
            }
        case .array(let elements):
            for (index, element) in elements.enumerated() { try check(element, "\(place)/\(index)") }
        case .object(let members):
            for key in members.keys.sorted() {
                if let member = members[key] { try check(member, "\(place)/\(key)") }
            }
        default: return
        }
    }
}
