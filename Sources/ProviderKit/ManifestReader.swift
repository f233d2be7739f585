internal import Entitlements

/// Reads a manifest from JSON, and says exactly where one cannot work.
struct ManifestReader {
    let file: String
    /// Whether the place that is read stands inside an element of a list, where pointers may begin with a dot.
    var isInElement = false

    init(file: String) {
        self.file = file
    }

    /// The same reader for what is said of the elements of a list.
    var ofElement: ManifestReader {
        var inner = self
        inner.isInElement = true
        return inner
    }

    /// One object of the file and where it stands; every key must be asked for, so that a misspelt one is found.
    struct Node {
        let members: [String: JSON]
        let pointer: String
        private(set) var asked: Set<String> = ["comment"]

        init(members: [String: JSON], pointer: String) {
            self.members = members
            self.pointer = pointer
        }

        mutating func take(_ key: String) -> JSON? {
            asked.insert(key)
            return members[key]
        }

        /// The pointer of a member (RFC 6901 section 3: `~` and `/` in a name are written `~0` and `~1`).
        func place(_ key: String) -> String {
            let isPlain = !key.utf8.contains { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }
            guard !isPlain else { return pointer + "/" + key }
            return key.reduce(into: pointer + "/") { text, character in
                text += character == "~" ? "~0" : character == "/" ? "~1" : String(character)
            }
        }
    }

    func fail(_ pointer: String, _ expected: String, _ hint: String = "") -> ManifestError {
        ManifestError(file: file, pointer: pointer, expected: expected, hint: hint)
    }

    func node(_ json: JSON?, _ pointer: String) throws(ManifestError) -> Node {
        guard let members = json?.object else { throw fail(pointer, "an object") }
        let node = Node(members: members, pointer: pointer)
        // Only a comparison may ask for null; elsewhere a key that says nothing is a mistake.
        if let key = members.filter({ $0.value.isNull && $0.key != "equals" }).keys.min() {
            throw fail(node.place(key), "a value", "leave the key out where there is nothing to say")
        }
        if let comment = members["comment"], comment.string == nil { throw fail(node.place("comment"), "a text") }
        return node
    }

    func done(_ node: Node) throws(ManifestError) {
        let unknown = node.members.keys.filter { !node.asked.contains($0) }.sorted()
        if let key = unknown.first {
            throw fail(
                node.place(key),
                "a key this place knows",
                "known here: \(node.asked.sorted().joined(separator: ", "))"
            )
        }
    }

    func text(_ node: inout Node, _ key: String) throws(ManifestError) -> String? {
        guard let value = node.take(key) else { return nil }
        guard let text = value.string, !text.isEmpty else { throw fail(node.place(key), "a text") }
        return text
    }

    func requiredText(_ node: inout Node, _ key: String, _ hint: String) throws(ManifestError) -> String {
        guard let text = try text(&node, key) else { throw fail(node.place(key), "a text", hint) }
        return text
    }

    func flag(_ node: inout Node, _ key: String) throws(ManifestError) -> Bool {
        guard let value = node.take(key) else { return false }
        guard let flag = value.bool else { throw fail(node.place(key), "true or false") }
        return flag
    }

    func word<Word: RawRepresentable & CaseIterable>(
        _ text: String,
        _ pointer: String,
        _: Word.Type
    ) throws(ManifestError) -> Word where Word.RawValue == String {
        guard let word = Word(rawValue: text) else {
            throw fail(pointer, "one of " + Word.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return word
    }

    /// A list, where there is one; `[]` and anything else are mistakes.
    func list(_ node: inout Node, _ key: String, of what: String) throws(ManifestError) -> [JSON]? {
        guard let value = node.take(key) else { return nil }
        guard let list = value.array, !list.isEmpty else { throw fail(node.place(key), "a list of \(what)") }
        return list
    }

    // MARK: - Values

    func pointer(_ json: JSON, _ place: String) throws(ManifestError) -> JSONPointer {
        guard let text = json.string, !text.isEmpty, let pointer = JSONPointer(text) else {
            throw fail(place, "a JSON pointer", "such as /data/object/id, or ./id inside an element")
        }
        guard isInElement || !pointer.isRelative else {
            throw fail(
                place,
                "a JSON pointer that begins with /",
                "a dot stands for an element, and there is none here"
            )
        }
        return pointer
    }

    func pointers(_ json: JSON, _ place: String) throws(ManifestError) -> [JSONPointer] {
        guard let list = json.array else { return [try pointer(json, place)] }
        var found: [JSONPointer] = []
        for (index, element) in list.enumerated() { found.append(try pointer(element, "\(place)/\(index)")) }
        guard !found.isEmpty else { throw fail(place, "at least one JSON pointer") }
        return found
    }

    /// A pointer, a list of pointers (the first that is there), or an object with more to say.
    func value(_ json: JSON, _ place: String) throws(ManifestError) -> ManifestValue {
        guard json.object != nil else {
            return ManifestValue(places: try pointers(json, place))
        }
        var node = try node(json, place)
        let each = node.take("each")
        let inner = each == nil ? self : ofElement
        guard let at = node.take("at") else { throw fail(node.place("at"), "where the value stands") }
        let places = try inner.pointers(at, node.place("at"))
        var pick = ManifestValue.Pick.first
        if let word = try text(&node, "pick") {
            guard let known = ManifestValue.Pick(rawValue: word) else {
                throw fail(node.place("pick"), "first, max or min")
            }
            pick = known
        }
        let format = try format(&node)
        let list = try each.map { each throws(ManifestError) in try pointer(each, node.place("each")) }
        var condition: ManifestCondition?
        if let json = node.take("where") {
            guard each != nil else { throw fail(node.place("each"), "the list whose elements are meant") }
            condition = try inner.condition(json, node.place("where"))
        }
        let prefix = try text(&node, "prefix") ?? ""
        try done(node)
        return ManifestValue(
            places: places,
            pick: pick,
            format: format,
            each: list,
            condition: condition,
            prefix: prefix
        )
    }

    private func format(_ node: inout Node) throws(ManifestError) -> ManifestValue.TimeFormat? {
        try text(&node, "format").map { text throws(ManifestError) in try format(text, node.place("format")) }
    }

    func format(_ text: String, _ place: String) throws(ManifestError) -> ManifestValue.TimeFormat {
        guard let format = ManifestValue.TimeFormat(rawValue: text) else {
            throw fail(place, "unix_s, unix_ms or rfc3339")
        }
        return format
    }

    func value(_ node: inout Node, _ key: String) throws(ManifestError) -> ManifestValue? {
        guard let json = node.take(key) else { return nil }
        return try value(json, node.place(key))
    }

    func requiredValue(_ node: inout Node, _ key: String, _ hint: String) throws(ManifestError) -> ManifestValue {
        guard let value = try value(&node, key) else { throw fail(node.place(key), "where the value stands", hint) }
        return value
    }

    /// A list of values, each of which counts by itself; a single one may stand without the list.
    func values(_ node: inout Node, _ key: String) throws(ManifestError) -> [ManifestValue]? {
        guard let json = node.take(key) else { return nil }
        guard let list = json.array else { return [try value(json, node.place(key))] }
        guard !list.isEmpty else { throw fail(node.place(key), "at least one value") }
        var found: [ManifestValue] = []
        for (index, element) in list.enumerated() { found.append(try value(element, "\(node.place(key))/\(index)")) }
        return found
    }

    // MARK: - Conditions

    func condition(_ node: inout Node, _ key: String) throws(ManifestError) -> ManifestCondition? {
        guard let json = node.take(key) else { return nil }
        return try condition(json, node.place(key))
    }

    func condition(_ json: JSON, _ place: String) throws(ManifestError) -> ManifestCondition {
        if json.array != nil { return .all(try conditions(json, place)) }
        var node = try node(json, place)
        var found: [ManifestCondition] = []
        if let all = node.take("all") { found.append(.all(try conditions(all, node.place("all")))) }
        if let any = node.take("any") { found.append(.any(try conditions(any, node.place("any")))) }
        if let not = node.take("not") { found.append(.not(try condition(not, node.place("not")))) }
        if let at = node.take("at") {
            let places = try pointers(at, node.place("at"))
            let value = ManifestValue(places: places, format: try format(&node))
            found += try tests(of: value, &node)
        }
        try done(node)
        guard let condition = found.first else {
            throw fail(place, "a condition", "at with equals, in, null, same_as or less_than; or all, any, not")
        }
        guard found.count == 1 else {
            throw fail(place, "one condition", "all joins several, any takes one of several")
        }
        return condition
    }

    /// What is asked of the value at a place.
    private func tests(of value: ManifestValue, _ node: inout Node) throws(ManifestError) -> [ManifestCondition] {
        var found: [ManifestCondition] = []
        if let wanted = node.take("equals") {
            found.append(.equals(value, [WantedJSON(try plain(wanted, node.place("equals")))]))
        }
        if let list = try list(&node, "in", of: "values") {
            var wanted: [WantedJSON] = []
            for (index, element) in list.enumerated() {
                wanted.append(WantedJSON(try plain(element, "\(node.place("in"))/\(index)")))
            }
            found.append(.equals(value, wanted))
        }
        if let wanted = node.take("null") {
            guard let isNull = wanted.bool else { throw fail(node.place("null"), "true or false") }
            found.append(isNull ? .isNull(value) : .not(.isNull(value)))
        }
        if let other = try self.value(&node, "same_as") { found.append(.sameAs(value, other)) }
        if let other = try self.value(&node, "less_than") { found.append(.lessThan(value, other)) }
        return found
    }

    /// What a value can be compared with.
    private func plain(_ json: JSON, _ place: String) throws(ManifestError) -> JSON {
        guard json.array == nil, json.object == nil else { throw fail(place, "a text, a number, true, false or null") }
        return json
    }

    private func conditions(_ json: JSON, _ place: String) throws(ManifestError) -> [ManifestCondition] {
        guard let list = json.array, !list.isEmpty else { throw fail(place, "a list of conditions") }
        var found: [ManifestCondition] = []
        for (index, element) in list.enumerated() { found.append(try condition(element, "\(place)/\(index)")) }
        return found
    }
}
