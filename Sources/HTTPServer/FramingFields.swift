/// The fields that decide where a request ends and what happens to its connection, gathered while the head is parsed.
///
/// Two readings of these fields are how requests are smuggled (RFC 9112 §11.2), so whatever is not plain is refused.
struct FramingFields {
    private var hosts = 0
    private var length: Int?
    private var hasCoding = false
    private var isLastCodingChunked = false
    private var hasOtherCoding = false
    private var hasMalformedCoding = false
    private var hasUnknownExpectation = false

    /// Looks at one field; names of other lengths than these five cost one comparison.
    @inline(__always)
    mutating func note(
        _ field: FieldSlot,
        _ bytes: borrowing Span<UInt8>,
        into head: inout RequestHead
    ) throws(Rejection) {
        switch field.nameCount {
        case 4, 6, 10, 14, 17: try noteByName(field, bytes, into: &head)
        default: return
        }
    }

    private mutating func noteByName(
        _ field: FieldSlot,
        _ bytes: borrowing Span<UInt8>,
        into head: inout RequestHead
    ) throws(Rejection) {
        if ASCII.equals(bytes, field.name, "host") {
            try noteHost(bytes, field.value)
        } else if ASCII.equals(bytes, field.name, "connection") {
            noteConnection(bytes, field.value, into: &head)
        } else if ASCII.equals(bytes, field.name, "content-length") {
            try noteLength(bytes, field.value)
        } else if ASCII.equals(bytes, field.name, "transfer-encoding") {
            noteCoding(bytes, field.value)
        } else if ASCII.equals(bytes, field.name, "expect") {
            noteExpectation(bytes, field.value, into: &head)
        }
    }

    /// Decides what the fields mean together, once all are known.
    func settle(into head: inout RequestHead) throws(Rejection) {
        if hosts > 1 { throw .ambiguousHost }
        if hosts == 0 && head.isHTTP11 { throw .missingHost }
        if hasCoding {
            if length != nil { throw .lengthAndCoding }
            if !head.isHTTP11 { throw .codingInOldVersion }
            if hasMalformedCoding { throw .malformedCoding }
            if hasOtherCoding || !isLastCodingChunked { throw .unknownCoding }
            head.framing = .chunked
        } else {
            head.framing = .length(length ?? 0)
        }
        // A server must ignore the expectation of a client that speaks HTTP/1.0 (RFC 9110 §10.1.1).
        if !head.isHTTP11 {
            head.expectsContinue = false
        } else if hasUnknownExpectation {
            throw .unknownExpectation
        }
    }

    /// Host = uri-host [ ":" port ], and it may be empty (RFC 9110 §7.2).
    private mutating func noteHost(_ bytes: borrowing Span<UInt8>, _ value: Range<Int>) throws(Rejection) {
        hosts += 1
        for position in value where !ByteSet.host.contains(bytes[position]) { throw .malformedHost }
    }

    /// Content-Length = 1*DIGIT (RFC 9110 §8.6). Neither a list nor a repetition of equal numbers is taken.
    private mutating func noteLength(_ bytes: borrowing Span<UInt8>, _ value: Range<Int>) throws(Rejection) {
        if length != nil { throw .repeatedLength }
        // 18 digits fit into 63 bits.
        guard (1...18).contains(value.count) else { throw .malformedLength }
        var number = 0
        for position in value {
            guard ASCII.isDigit(bytes[position]) else { throw .malformedLength }
            number = number &* 10 &+ Int(bytes[position] &- 0x30)
        }
        length = number
    }

    /// Transfer-Encoding = #transfer-coding (RFC 9112 §6.1). Several fields count as one list.
    private mutating func noteCoding(_ bytes: borrowing Span<UInt8>, _ value: Range<Int>) {
        hasCoding = true
        forEachElement(bytes, value) { bytes, element in
            // Whatever follows chunked makes the end of the content unknown.
            if isLastCodingChunked { hasMalformedCoding = true }
            var nameEnd = element.lowerBound
            while nameEnd < element.upperBound && ByteSet.token.contains(bytes[nameEnd]) { nameEnd &+= 1 }
            let isPlain = nameEnd == element.upperBound
            let hasParameters = !isPlain && bytes[nameEnd] == 0x3B
            if nameEnd == element.lowerBound || !(isPlain || hasParameters) {
                hasMalformedCoding = true
            } else if isPlain && ASCII.equals(bytes, element, "chunked") {
                isLastCodingChunked = true
            } else {
                hasOtherCoding = true
            }
        }
    }

    /// Connection = #connection-option (RFC 9110 §7.6.1). "close" wins over "keep-alive".
    private func noteConnection(_ bytes: borrowing Span<UInt8>, _ value: Range<Int>, into head: inout RequestHead) {
        var closes = false
        var persists = false
        forEachElement(bytes, value) { bytes, element in
            if ASCII.equals(bytes, element, "close") { closes = true }
            if ASCII.equals(bytes, element, "keep-alive") { persists = true }
        }
        if closes {
            head.closes()
        } else if persists {
            head.persists()
        }
    }

    private mutating func noteExpectation(
        _ bytes: borrowing Span<UInt8>,
        _ value: Range<Int>,
        into head: inout RequestHead
    ) {
        if ASCII.equals(bytes, value, "100-continue") {
            head.expectsContinue = true
        } else {
            hasUnknownExpectation = true
        }
    }

    /// Calls `body` for each part between commas, without its white space; an empty part is a part.
    private func forEachElement(
        _ bytes: borrowing Span<UInt8>,
        _ value: Range<Int>,
        _ body: (borrowing Span<UInt8>, Range<Int>) -> Void
    ) {
        var start = value.lowerBound
        while true {
            var end = start
            while end < value.upperBound && bytes[end] != 0x2C { end &+= 1 }
            var first = start
            var last = end
            while first < last && HeadParser.isBlank(bytes[first]) { first &+= 1 }
            while last > first && HeadParser.isBlank(bytes[last &- 1]) { last &-= 1 }
            body(bytes, first..<last)
            if end == value.upperBound { return }
            start = end &+ 1
        }
    }
}
