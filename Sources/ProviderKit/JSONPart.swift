public import Entitlements

/// A value in a JSON text, still where it stands: the same questions as to ``JSON``, and nothing is made until one is asked.
public struct JSONPart: Sendable {
    private let text: JSONText
    private let place: Int

    init(text: JSONText, place: Int) {
        self.text = text
        self.place = place
    }

    private func part(_ place: Int) -> JSONPart { JSONPart(text: text, place: place) }

    /// The value with all that is in it.
    public var json: JSON { text.json(place) }

    public subscript(key: String) -> JSONPart? {
        guard isObject else { return nil }
        return text.member(place, named: key).map(part)
    }

    public var isNull: Bool { text.kind(place) == .null }

    public var isObject: Bool { text.kind(place) == .object }

    public var string: String? { text.string(place) }

    /// Puts a text's bytes into a buffer that is used again; false for any other value.
    public func copyText(into buffer: inout [UInt8]) -> Bool { text.copyText(place, into: &buffer) }

    public var integer: Int64? { text.number(place)?.integer }

    public var array: [JSONPart]? {
        guard text.kind(place) == .list else { return nil }
        return text.children(place).map(part)
    }

    /// The moment that a text in the form of RFC 3339 says.
    public var time: UnixMillis? { text.time(place) }

    /// The word for this kind of value in messages.
    public var kind: String {
        switch text.kind(place) {
        case .object: JSON.object([:]).kind
        case .list: JSON.array([]).kind
        case .plain, .wide, .escaped: JSON.string("").kind
        case .integer, .number: JSON.integer(0).kind
        case .yes, .no: JSON.bool(true).kind
        case .null: JSON.null.kind
        }
    }
}

extension JSONPart: JSONReadable {
    var isText: Bool {
        switch text.kind(place) {
        case .plain, .wide, .escaped: true
        default: false
        }
    }

    var wholeInteger: Int64? { text.number(place)?.wholeInteger }

    func member(_ name: JSONName) -> JSONPart? {
        guard text.kind(place) == .object else { return nil }
        return text.member(place, name).map(part)
    }

    func element(_ index: Int) -> JSONPart? {
        guard text.kind(place) == .list else { return nil }
        return text.element(place, index).map(part)
    }

    func equals(_ wanted: WantedJSON) -> Bool {
        guard let name = wanted.text else { return json == wanted.json }
        return isText && text.isText(place, name)
    }
}
