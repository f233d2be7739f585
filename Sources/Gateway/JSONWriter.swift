internal import Entitlements

/// Writes JSON into memory that is used again and again.
@safe
struct JSONWriter: ~Copyable {
    /// Owned by this value; the first `count` bytes are written.
    private var base: UnsafeMutableRawPointer
    private var capacity = 1024
    private(set) var count = 0
    /// The last moment that was written, and where its text stands; an answer has the same moment in several places.
    private var lastTime = (moment: UnixMillis(0), place: -1)

    init() {
        unsafe base = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit {
        unsafe base.deallocate()
    }

    /// A copy of what was written.
    var bytes: [UInt8] {
        unsafe withBytes { unsafe [UInt8]($0) }
    }

    /// What was written, where it lies.
    func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        unsafe body(UnsafeRawBufferPointer(start: base, count: count))
    }

    mutating func reset() {
        count = 0
        lastTime.place = -1
    }

    @inline(__always)
    private mutating func reserve(_ more: Int) {
        if capacity &- count < more { grow(more) }
    }

    @inline(never)
    private mutating func grow(_ more: Int) {
        capacity = max(capacity * 2, count + more)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        unsafe larger.copyMemory(from: base, byteCount: count)
        unsafe base.deallocate()
        unsafe base = larger
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        unsafe (base + count).copyMemory(from: source, byteCount: bytes.count)
        count &+= bytes.count
    }

    @inline(__always)
    private mutating func append(_ byte: UInt8) {
        reserve(1)
        unsafe base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count &+= 1
    }

    mutating func raw(_ text: StaticString) {
        part(text)
    }

    /// The same where answers are written: the compiler sees how long the text is, and copies it in a few words.
    @inline(__always)
    mutating func part(_ text: StaticString) {
        let size = text.utf8CodeUnitCount
        reserve(size)
        // A static string's bytes live as long as the program.
        unsafe (base + count).copyMemory(from: text.utf8Start, byteCount: size)
        count &+= size
    }

    /// JSON that is written already.
    mutating func raw(_ text: [UInt8]) {
        unsafe text.withUnsafeBytes { unsafe append($0) }
    }

    /// `"name":`, after a comma when something stands before it.
    mutating func key(_ name: StaticString) {
        separate()
        raw("\"")
        raw(name)
        raw("\":")
    }

    mutating func key(_ name: String) {
        separate()
        string(name)
        raw(":")
    }

    private var last: UInt8? {
        count > 0 ? unsafe base.load(fromByteOffset: count - 1, as: UInt8.self) : nil
    }

    /// A comma, unless this is the first element of its list or object.
    mutating func separate() {
        guard let last, last != UInt8(ascii: "{"), last != UInt8(ascii: "["), last != UInt8(ascii: ":")
        else {
            return
        }
        raw(",")
    }

    mutating func string(_ text: String) {
        raw("\"")
        for byte in text.utf8 { escaped(byte) }
        raw("\"")
    }

    mutating func string(_ text: StaticString) {
        raw("\"")
        raw(text)
        raw("\"")
    }

    mutating func string(_ text: Span<UInt8>) {
        unsafe text.withUnsafeBytes { unsafe string($0) }
    }

    mutating func string(_ text: [UInt8]) {
        unsafe text.withUnsafeBytes { unsafe string($0) }
    }

    /// Most texts need no escape and are copied as they are, eight bytes at a time while they are looked at.
    private mutating func string(_ text: UnsafeRawBufferPointer) {
        guard let source = text.baseAddress else { return raw("\"\"") }
        reserve(text.count &+ 2)
        guard text.count >= 8 else { return unsafe short(text) }
        // The text and its quotation marks have room, and the words are read inside of it: the last one lies at its end, over
        // the one before it.
        let target = unsafe base + count
        unsafe target.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        var place = 0
        let last = text.count &- 8
        while true {
            let word = unsafe source.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            if Self.needsEscape(word) { return unsafe slowly(text) }
            unsafe target.storeBytes(of: word, toByteOffset: place &+ 1, as: UInt64.self)
            if place == last { break }
            place = min(place &+ 8, last)
        }
        unsafe target.storeBytes(of: UInt8(ascii: "\""), toByteOffset: text.count &+ 1, as: UInt8.self)
        count &+= text.count &+ 2
    }

    /// A text of a few bytes, for which there is room.
    private mutating func short(_ text: UnsafeRawBufferPointer) {
        let target = unsafe base + count
        unsafe target.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        for index in 0..<text.count {
            let byte = unsafe text[index]
            guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else {
                return unsafe slowly(text)
            }
            unsafe target.storeBytes(of: byte, toByteOffset: index &+ 1, as: UInt8.self)
        }
        unsafe target.storeBytes(of: UInt8(ascii: "\""), toByteOffset: text.count &+ 1, as: UInt8.self)
        count &+= text.count &+ 2
    }

    /// Byte by byte where that is needed.
    private mutating func slowly(_ text: UnsafeRawBufferPointer) {
        append(UInt8(ascii: "\""))
        var start = 0
        var index = 0
        while index < text.count {
            if index &+ 8 <= text.count,
                unsafe !Self.needsEscape(text.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            {
                index &+= 8
                continue
            }
            let byte = unsafe text[index]
            index &+= 1
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
            unsafe append(UnsafeRawBufferPointer(rebasing: text[start..<index &- 1]))
            escaped(byte)
            start = index
        }
        unsafe append(UnsafeRawBufferPointer(rebasing: text[start...]))
        append(UInt8(ascii: "\""))
    }

    /// Whether one of eight bytes is a control character, a quotation mark or a reverse solidus. A subtraction borrows into a
    /// byte's top bit where that byte was smaller, so that a byte above such a one may be taken for one, too: then it is
    /// looked at alone.
    @inline(__always)
    private static func needsEscape(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ (ones &* 0x22)
        let solidi = word ^ (ones &* 0x5c)
        let found =
            ((word &- ones &* 0x20) & ~word) | ((quotes &- ones) & ~quotes) | ((solidi &- ones) & ~solidi)
        return found & (ones &* 0x80) != 0
    }

    /// RFC 8259 section 7: quotation mark, reverse solidus and control characters; everything else is UTF-8 as it is.
    private mutating func escaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): raw("\\\"")
        case UInt8(ascii: "\\"): raw("\\\\")
        case 0x0a: raw("\\n")
        case 0x0d: raw("\\r")
        case 0x09: raw("\\t")
        case 0..<0x20:
            let digits: StaticString = "0123456789abcdef"
            raw("\\u00")
            append(unsafe digits.utf8Start[Int(byte >> 4)])
            append(unsafe digits.utf8Start[Int(byte & 15)])
        default: append(byte)
        }
    }

    mutating func integer(_ value: Int64) {
        if value < 0 { raw("-") }
        var rest = value.magnitude
        var divisor: UInt64 = 1
        while rest / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / divisor))
            rest %= divisor
            divisor /= 10
        }
    }

    mutating func bool(_ value: Bool) {
        raw(value ? "true" : "false")
    }

    mutating func null() {
        raw("null")
    }

    mutating func time(_ moment: UnixMillis?) {
        guard let moment else { return null() }
        reserve(UnixMillis.rfc3339Size &+ 2)
        let size = UnixMillis.rfc3339Size &+ 2
        if moment == lastTime.moment, lastTime.place >= 0 {
            unsafe (base + count).copyMemory(from: base + lastTime.place, byteCount: size)
            count &+= size
            return
        }
        lastTime = (moment, count)
        append(UInt8(ascii: "\""))
        let room = unsafe UnsafeMutableRawBufferPointer(start: base + count, count: capacity - count)
        unsafe moment.writeRFC3339(into: room)
        count &+= UnixMillis.rfc3339Size
        append(UInt8(ascii: "\""))
    }

    mutating func optional(_ text: String?) {
        if let text { string(text) } else { null() }
    }
}
