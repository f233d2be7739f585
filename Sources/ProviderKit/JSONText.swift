internal import Entitlements

/// A JSON text (RFC 8259) that was read once, and where each of its values stands.
///
/// Nothing is copied out of it until somebody asks for a value: of a delivery, a rule looks at a few places only.
public final class JSONText: Sendable {
    /// What stands at a place.
    enum Kind: UInt8 {
        case object, list
        /// A text of ASCII letters, written as it is.
        case plain
        /// A text with other characters, written as it is.
        case wide
        /// A text with escapes.
        case escaped
        case integer
        case number
        case yes, no, null
    }

    /// A value, in the order of the text. A member of an object is two of them: its name and its value.
    struct Node {
        var kind: Kind
        /// The bytes of a text between its quotes, and those of a number. 32 bits count further than any body may be long.
        var start: UInt32
        var end: UInt32
        /// The first node behind this one and all that is in it.
        var next: UInt32

        var range: Range<Int> { Int(start)..<Int(end) }
    }

    private let bytes: [UInt8]
    private let nodes: [Node]

    /// Nil when the bytes are no JSON text: also for invalid UTF-8 and for what is nested deeper than ``depthMax``.
    public convenience init?(_ bytes: [UInt8]) {
        var reader = JSONTextReader(count: bytes.count)
        if reader.read(bytes.span) {
            self.init(bytes, reader.nodes)
            return
        }
        guard let text = JSON.inUTF8(bytes) else { return nil }
        reader = JSONTextReader(count: text.count)
        guard reader.read(text.span) else { return nil }
        self.init(text, reader.nodes)
    }

    private init(_ bytes: [UInt8], _ nodes: [Node]) {
        self.bytes = bytes
        self.nodes = nodes
    }

    /// Lists and objects may stand in each other this often.
    public static let depthMax = 512

    /// The value that is the whole text.
    public var root: JSONPart { JSONPart(text: self, place: 0) }

    // MARK: - Values

    func kind(_ place: Int) -> Kind { nodes[place].kind }

    /// The places of a list's elements or, two for each, of an object's names and values.
    func children(_ place: Int) -> [Int] {
        var found: [Int] = []
        let end = Int(nodes[place].next)
        var child = place + 1
        while child < end {
            found.append(child)
            child = Int(nodes[child].next)
        }
        return found
    }

    /// The element of a list at an index; nil when it has fewer.
    func element(_ place: Int, _ index: Int) -> Int? {
        let end = Int(nodes[place].next)
        var child = place + 1
        var left = index
        while child < end {
            if left == 0 { return child }
            left -= 1
            child = Int(nodes[child].next)
        }
        return nil
    }

    /// The member of an object with this name; the last one where a name stands twice.
    func member(_ place: Int, _ name: JSONName) -> Int? {
        member(place, name.bytes.span, name.text, isPlain: name.isPlain)
    }

    /// The same for a name that was not made ready.
    func member(_ place: Int, named name: String) -> Int? {
        let found = unsafe name.utf8.withContiguousStorageIfAvailable { bytes in
            // The bytes are held for the length of the call.
            unsafe member(place, bytes.span, name, isPlain: bytes.allSatisfy { $0 < 0x80 })
        }
        return found ?? member(place, JSONName(name))
    }

    private func member(_ place: Int, _ bytes: Span<UInt8>, _ name: String, isPlain: Bool) -> Int? {
        var found: Int?
        let end = Int(nodes[place].next)
        var child = place + 1
        while child < end {
            if isText(child, bytes, name, isPlain: isPlain) { found = child + 1 }
            child = Int(nodes[child + 1].next)
        }
        return found
    }

    /// Whether a text is this one. Texts are equal as Swift's are, by their letters: of plain ones the bytes decide.
    private func isText(_ place: Int, _ wanted: Span<UInt8>, _ text: String, isPlain: Bool) -> Bool {
        let node = nodes[place]
        guard node.kind == .plain, isPlain else { return string(place) == text }
        let count = Int(node.end &- node.start)
        guard count == wanted.count else { return false }
        let start = Int(node.start)
        for index in 0..<count where bytes[start &+ index] != wanted[index] { return false }
        return true
    }

    func isText(_ place: Int, _ wanted: JSONName) -> Bool {
        isText(place, wanted.bytes.span, wanted.text, isPlain: wanted.isPlain)
    }

    /// The text at a place; nil for any other value.
    func string(_ place: Int) -> String? {
        let node = nodes[place]
        switch node.kind {
        case .plain, .wide:
            return unsafe bytes.withUnsafeBufferPointer { bytes in
                // The range is one that the reader has seen in these bytes.
                unsafe String(decoding: UnsafeBufferPointer(rebasing: bytes[node.range]), as: UTF8.self)
            }
        case .escaped: return JSONTextReader.unescape(bytes[node.range])
        default: return nil
        }
    }

    /// Puts the bytes of a text into a buffer in place of what was there; false for any other value.
    func copyText(_ place: Int, into buffer: inout [UInt8]) -> Bool {
        let node = nodes[place]
        switch node.kind {
        case .plain, .wide:
            buffer.removeAll(keepingCapacity: true)
            buffer.append(contentsOf: bytes[node.range])
            return true
        case .escaped:
            buffer = Array(JSONTextReader.unescape(bytes[node.range]).utf8)
            return true
        default: return false
        }
    }

    /// The time that a text says; nil for any other value and any other text.
    func time(_ place: Int) -> UnixMillis? {
        let node = nodes[place]
        switch node.kind {
        case .plain:
            return unsafe bytes.withUnsafeBufferPointer { bytes in
                // As in `string`.
                unsafe UnixMillis(rfc3339: UnsafeBufferPointer(rebasing: bytes[node.range]).span)
            }
        case .escaped: return string(place).flatMap { UnixMillis(rfc3339: $0) }
        default: return nil
        }
    }

    /// A number as `JSON` holds it; nil for any other value.
    func number(_ place: Int) -> JSON? {
        let node = nodes[place]
        switch node.kind {
        case .integer:
            var value: Int64 = 0
            let isNegative = bytes[Int(node.start)] == UInt8(ascii: "-")
            // The reader has counted that there are not too many digits.
            for index in node.range.dropFirst(isNegative ? 1 : 0) { value = value &* 10 &+ Int64(bytes[index] &- 0x30) }
            return .integer(isNegative ? -value : value)
        case .number: return JSONTextReader.number(String(decoding: bytes[node.range], as: UTF8.self))
        default: return nil
        }
    }

    /// The value at a place with all that is in it.
    func json(_ place: Int) -> JSON {
        switch nodes[place].kind {
        case .plain, .wide, .escaped: return .string(string(place) ?? "")
        case .integer, .number: return number(place) ?? .null
        case .yes: return .bool(true)
        case .no: return .bool(false)
        case .null: return .null
        case .list: return .array(children(place).map(json))
        case .object:
            let places = children(place)
            var members = [String: JSON](minimumCapacity: places.count / 2)
            for index in stride(from: 0, to: places.count, by: 2) {
                members[string(places[index]) ?? ""] = json(places[index + 1])
            }
            return .object(members)
        }
    }
}
