extension JSONValue {
    /// One line without blanks; members in their own order, numbers as they came, slashes and letters not escaped.
    public var compact: String {
        var text = ""
        render(into: &text, indent: nil, depth: 0)
        return text
    }

    /// Indented by two blanks, members sorted by name: another text of the same value.
    public var indentedAndSorted: String {
        var text = ""
        render(into: &text, indent: "  ", depth: 0)
        return text
    }

    private func render(into text: inout String, indent: String?, depth: Int) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .number(let value): text += value.text
        case .string(let value): Self.quote(value, into: &text)
        case .array(let elements):
            Self.renderList(elements, between: ("[", "]"), into: &text, indent: indent, depth: depth) { element, text in
                element.render(into: &text, indent: indent, depth: depth + 1)
            }
        case .object(let object):
            let members = indent == nil ? object.members : object.members.sorted { $0.key < $1.key }
            Self.renderList(members, between: ("{", "}"), into: &text, indent: indent, depth: depth) { member, text in
                Self.quote(member.key, into: &text)
                text += indent == nil ? ":" : ": "
                member.value.render(into: &text, indent: indent, depth: depth + 1)
            }
        }
    }

    private static func renderList<Element>(
        _ elements: [Element],
        between brackets: (open: String, close: String),
        into text: inout String,
        indent: String?,
        depth: Int,
        each: (Element, inout String) -> Void
    ) {
        text += brackets.open
        for (place, element) in elements.enumerated() {
            if place > 0 { text += "," }
            if let indent { text += "\n" + String(repeating: indent, count: depth + 1) }
            each(element, &text)
        }
        if let indent, !elements.isEmpty { text += "\n" + String(repeating: indent, count: depth) }
        text += brackets.close
    }

    private static func quote(_ value: String, into text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{00}"..<"\u{20}":
                let hex = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
