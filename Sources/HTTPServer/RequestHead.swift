/// How the end of a request's content is known (RFC 9112 §6).
enum BodyFraming: Equatable {
    /// So many bytes; zero when the head names no content.
    case length(Int)
    case chunked
}

/// Where a field lies in the head. 16 bits reach everywhere, since a head is at most 65,535 bytes.
struct FieldSlot {
    let nameStart: UInt16
    let nameCount: UInt16
    let valueStart: UInt16
    let valueCount: UInt16

    init(name: Range<Int>, value: Range<Int>) {
        nameStart = UInt16(truncatingIfNeeded: name.lowerBound)
        nameCount = UInt16(truncatingIfNeeded: name.count)
        valueStart = UInt16(truncatingIfNeeded: value.lowerBound)
        valueCount = UInt16(truncatingIfNeeded: value.count)
    }

    var name: Range<Int> { Int(nameStart)..<(Int(nameStart) &+ Int(nameCount)) }
    var value: Range<Int> { Int(valueStart)..<(Int(valueStart) &+ Int(valueCount)) }
}

/// A parsed head: positions in the bytes it was parsed from, and what they mean for the connection.
struct RequestHead {
    var method = Method.other
    var methodName = 0..<0
    /// Empty for an absolute target without a path, which means "/".
    var path = 0..<0
    var query = 0..<0
    var isHTTP11 = true
    /// Whether the client means to send another request on this connection.
    var keepsAlive = true
    private var isCloseAsked = false
    var expectsContinue = false
    var framing = BodyFraming.length(0)
    /// Storage is kept from request to request.
    var fields: ContiguousArray<FieldSlot> = []

    mutating func reset() {
        method = .other
        methodName = 0..<0
        path = 0..<0
        query = 0..<0
        isHTTP11 = true
        keepsAlive = true
        isCloseAsked = false
        expectsContinue = false
        framing = .length(0)
        fields.removeAll(keepingCapacity: true)
    }

    /// The client asked for the end of the connection; nothing takes that back.
    mutating func closes() {
        keepsAlive = false
        isCloseAsked = true
    }

    /// The client asked to go on, which HTTP/1.0 does not do by itself.
    mutating func persists() {
        keepsAlive = !isCloseAsked
    }
}
