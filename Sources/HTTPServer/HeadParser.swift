/// Parses a complete head, strictly: what two servers could read in two ways is refused.
///
///     request-line = method SP request-target SP HTTP-version                      (RFC 9112 §3)
///     field-line   = field-name ":" OWS field-value OWS                            (RFC 9112 §5)
///     field-name   = 1*tchar                                                       (RFC 9110 §5.1)
///     field-value  = bytes 0x20-0x7E, 0x80-0xFF and HTAB                           (RFC 9110 §5.5)
///
/// Leniencies that the RFC permits (bare LF, several spaces, white space before the colon, folding) are errors here.
struct HeadParser {
    private static let cr: UInt8 = 0x0D
    private static let lf: UInt8 = 0x0A
    private static let space: UInt8 = 0x20
    private static let tab: UInt8 = 0x09
    /// "HTTP/1.1" and its like.
    private static let versionCount = 8

    /// `bytes` is the head alone, from the method to the empty line, both included.
    static func parse(
        _ bytes: borrowing Span<UInt8>,
        limits: ServerLimits,
        into head: inout RequestHead
    ) throws(Rejection) {
        head.reset()
        var position = try parseRequestLine(bytes, limits: limits, into: &head)
        var framing = FramingFields()
        while bytes[position] != cr {
            if head.fields.count >= limits.headersMax { throw .tooManyFields }
            let field = try parseField(bytes, at: position)
            head.fields.append(field)
            try framing.note(field, bytes, into: &head)
            // Past the value's trailing white space, to the next line.
            position = field.value.upperBound
            while bytes[position] != lf { position &+= 1 }
            position &+= 1
        }
        guard position &+ 2 == bytes.count else { throw .bareControl }
        try framing.settle(into: &head)
    }

    // MARK: Request line

    /// Gives the position of the first field line.
    private static func parseRequestLine(
        _ bytes: borrowing Span<UInt8>,
        limits: ServerLimits,
        into head: inout RequestHead
    ) throws(Rejection) -> Int {
        var end = endOfPlainWords(bytes, from: 0)
        while bytes[end] != lf { end &+= 1 }
        guard end > 0, bytes[end &- 1] == cr else { throw .bareControl }
        end &-= 1

        var position = 0
        while ByteSet.token.contains(bytes[position]) { position &+= 1 }
        guard position > 0, bytes[position] == space else { throw .malformedRequestLine }
        head.methodName = 0..<position
        head.method = method(bytes, position)

        let version = end &- versionCount
        let targetStart = position &+ 1
        guard version &- 1 > targetStart, bytes[version &- 1] == space else { throw .malformedRequestLine }
        head.isHTTP11 = try parseVersion(bytes, at: version)
        try parseTarget(bytes, targetStart..<(version &- 1), limits: limits, into: &head)
        head.keepsAlive = head.isHTTP11
        return end &+ 2
    }

    private static func method(_ bytes: borrowing Span<UInt8>, _ count: Int) -> Method {
        var word: UInt64 = 0
        guard count <= 7 else { return .other }
        for index in 0..<count { word = word << 8 | UInt64(bytes[index]) }
        return switch word {
        case 0x47_4554: .get
        case 0x4845_4144: .head
        case 0x504F_5354: .post
        case 0x50_5554: .put
        case 0x50_4154_4348: .patch
        case 0x4445_4C45_5445: .delete
        case 0x4F_5054_494F_4E53: .options
        default: .other
        }
    }

    /// True for HTTP/1.1, false for HTTP/1.0.
    private static func parseVersion(_ bytes: borrowing Span<UInt8>, at start: Int) throws(Rejection) -> Bool {
        guard bytes[start] == 0x48, bytes[start &+ 1] == 0x54, bytes[start &+ 2] == 0x54, bytes[start &+ 3] == 0x50,
            bytes[start &+ 4] == 0x2F, ASCII.isDigit(bytes[start &+ 5]), bytes[start &+ 6] == 0x2E,
            ASCII.isDigit(bytes[start &+ 7])
        else { throw .malformedRequestLine }
        guard bytes[start &+ 5] == 0x31, bytes[start &+ 7] <= 0x31 else { throw .unsupportedVersion }
        return bytes[start &+ 7] == 0x31
    }

    /// Origin form; absolute form, of which the path and query count and the authority is dropped (RFC 9112 §3.2.2);
    /// and "*" for OPTIONS. CONNECT's authority form is refused.
    private static func parseTarget(
        _ bytes: borrowing Span<UInt8>,
        _ target: Range<Int>,
        limits: ServerLimits,
        into head: inout RequestHead
    ) throws(Rejection) {
        if target.count > limits.targetBytesMax { throw .targetTooLong }
        let start: Int
        switch bytes[target.lowerBound] {
        case 0x2F: start = target.lowerBound
        case 0x2A where target.count == 1 && head.method == .options: start = target.lowerBound
        default: start = try absoluteFormAuthority(bytes, target).upperBound
        }
        var question = target.upperBound
        var position = start
        while position < target.upperBound {
            let byte = bytes[position]
            if ByteSet.plainTarget.contains(byte) {
                position &+= 1
                continue
            }
            guard ByteSet.target.contains(byte) else {
                throw byte == space ? .malformedRequestLine : .malformedTarget
            }
            if byte == 0x25 {
                guard position &+ 2 < target.upperBound, ASCII.hexValue(bytes[position &+ 1]) != nil,
                    ASCII.hexValue(bytes[position &+ 2]) != nil
                else { throw .malformedTarget }
            }
            if byte == 0x3F && question == target.upperBound { question = position }
            position &+= 1
        }
        head.path = start..<question
        head.query = min(question &+ 1, target.upperBound)..<target.upperBound
    }

    private static func absoluteFormAuthority(
        _ bytes: borrowing Span<UInt8>,
        _ target: Range<Int>
    ) throws(Rejection) -> Range<Int> {
        var start = target.lowerBound
        if target.count > 7 && ASCII.equals(bytes, start..<(start &+ 7), "http://") {
            start &+= 7
        } else if target.count > 8 && ASCII.equals(bytes, start..<(start &+ 8), "https://") {
            start &+= 8
        } else {
            throw .malformedTarget
        }
        var end = start
        while end < target.upperBound && bytes[end] != 0x2F && bytes[end] != 0x3F {
            guard ByteSet.host.contains(bytes[end]) else { throw .malformedTarget }
            end &+= 1
        }
        guard end > start else { throw .malformedTarget }
        return start..<end
    }

    // MARK: Field lines

    private static func parseField(_ bytes: borrowing Span<UInt8>, at start: Int) throws(Rejection) -> FieldSlot {
        var position = start
        while ByteSet.token.contains(bytes[position]) { position &+= 1 }
        let name = start..<position
        guard !name.isEmpty, bytes[position] == 0x3A else {
            let isFold = name.isEmpty && isBlank(bytes[position])
            throw isFold ? .foldedField : .malformedField
        }
        position &+= 1
        while isBlank(bytes[position]) { position &+= 1 }
        let valueStart = position
        position = endOfPlainWords(bytes, from: position)
        while isValueByte(bytes[position]) { position &+= 1 }
        guard bytes[position] == cr else { throw bytes[position] == lf ? .bareControl : .malformedField }
        guard bytes[position &+ 1] == lf else { throw .bareControl }
        while position > valueStart && isBlank(bytes[position &- 1]) { position &-= 1 }
        return FieldSlot(name: name, value: valueStart..<position)
    }

    /// Skips eight bytes at a time while none of them is below 0x20 or DEL; tokens and cookies are most of a head.
    private static func endOfPlainWords(_ bytes: borrowing Span<UInt8>, from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops = ones &* 0x80
        var position = start
        while position &+ 8 <= bytes.count {
            let word = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self)
            // A subtraction borrows into a byte's top bit where that byte was smaller; the first such byte is always a
            // true one.
            let controls = (word &- ones &* 0x20) & ~word & tops
            let difference = word ^ (ones &* 0x7F)
            let deletes = (difference &- ones) & ~difference & tops
            if controls | deletes != 0 { break }
            position &+= 8
        }
        return position
    }

    @inline(__always)
    static func isValueByte(_ byte: UInt8) -> Bool {
        (byte >= space && byte != 0x7F) || byte == tab
    }

    @inline(__always)
    static func isBlank(_ byte: UInt8) -> Bool {
        byte == space || byte == tab
    }
}
