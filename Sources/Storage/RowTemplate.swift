/// What many rows have in common, and what is one row's own.
///
/// Rows of one product differ in the times and in the purchase's id. A template is such a row's body without them: a body
/// again, with zeros for the times and without the end of each purchase id. Only rows are cut whose entitlements all come
/// from one purchase and end at one moment; those are nearly all.
public enum RowTemplate {
    /// What was cut out of a row's body.
    public struct Cut {
        /// Milliseconds since 1970, zero where the row has none.
        public var end: Int64
        public var periodEnd: Int64
        public var graceFrom: Int64
        /// Where the first entry's purchase id goes on behind what the template keeps of it.
        public var suffix: Range<Int>

        public init(end: Int64, periodEnd: Int64, graceFrom: Int64, suffix: Range<Int>) {
            self.end = end
            self.periodEnd = periodEnd
            self.graceFrom = graceFrom
            self.suffix = suffix
        }
    }

    private static let (endPlace, periodPlace, gracePlace) = (7, 15, 23)
    /// Letters, digits and a sign before what is random: `sub_`, `GPA.`.
    private static let prefixMax = 8

    /// Cuts a body and writes its template into `room`, which must be as large as the body.
    ///
    /// - Returns: What was cut out and the template's length; nil for a body that is not cut.
    public static func cut(
        _ body: Span<UInt8>,
        into room: UnsafeMutableRawBufferPointer
    ) -> (cut: Cut, count: Int)? {
        guard body.count >= 2, body.count <= room.count, body[0] == SubscriptionRow.version, body[1] > 0 else {
            return nil
        }
        var cut = Cut(end: 0, periodEnd: 0, graceFrom: 0, suffix: 0..<0)
        var first = 0..<0
        var offset = 2
        var count = 2
        unsafe room[0] = body[0]
        unsafe room[1] = body[1]
        for index in 0..<body[1] {
            guard let entry = RowEntry(body, at: offset) else { return nil }
            let id = entry.purchaseID.start..<entry.purchaseID.start + entry.purchaseID.count
            let times = (
                time(body, offset + endPlace), time(body, offset + periodPlace), time(body, offset + gracePlace)
            )
            if index == 0 {
                first = id
                let suffix = id.lowerBound + prefixCount(body, id)..<id.upperBound
                cut = Cut(end: times.0, periodEnd: times.1, graceFrom: times.2, suffix: suffix)
            } else {
                guard times == (cut.end, cut.periodEnd, cut.graceFrom), isEqual(body, first, id) else { return nil }
            }
            let suffixCount = cut.suffix.count
            let start = count
            for place in offset..<id.upperBound - suffixCount { count = unsafe put(body[place], room, count) }
            for place in id.upperBound..<offset + entry.size { count = unsafe put(body[place], room, count) }
            for place in start + endPlace..<start + SubscriptionRow.fixedSize { unsafe room[place] = 0 }
            unsafe store(UInt32(entry.size - suffixCount), room, start)
            unsafe store(UInt16(id.count - suffixCount), room, start + id.lowerBound - 2 - offset)
            offset += entry.size
        }
        return offset == body.count ? (cut, count) : nil
    }

    private static func put(_ byte: UInt8, _ room: UnsafeMutableRawBufferPointer, _ count: Int) -> Int {
        unsafe room[count] = byte
        return count + 1
    }

    private static func store<Number: FixedWidthInteger & BitwiseCopyable>(
        _ number: Number,
        _ room: UnsafeMutableRawBufferPointer,
        _ place: Int
    ) {
        precondition(place >= 0 && place + MemoryLayout<Number>.size <= room.count)
        unsafe room.storeBytes(of: number.littleEndian, toByteOffset: place, as: Number.self)
    }

    private static func time(_ body: Span<UInt8>, _ place: Int) -> Int64 {
        precondition(place >= 0 && place + 8 <= body.count)
        // The eight bytes lie within the body, as was just made sure of.
        return unsafe Int64(littleEndian: body.bytes.unsafeLoadUnaligned(fromByteOffset: place, as: Int64.self))
    }

    /// How many bytes of an id the template keeps: up to the first sign after letters and digits.
    private static func prefixCount(_ body: Span<UInt8>, _ id: Range<Int>) -> Int {
        for place in id.prefix(prefixMax) {
            switch body[place] {
            case UInt8(ascii: "_"), UInt8(ascii: "."): return place + 1 - id.lowerBound
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"):
                continue
            default: return 0
            }
        }
        return 0
    }

    private static func isEqual(_ body: Span<UInt8>, _ left: Range<Int>, _ right: Range<Int>) -> Bool {
        guard left.count == right.count, left.lowerBound >= 0 else { return false }
        for index in 0..<left.count where body[left.lowerBound + index] != body[right.lowerBound + index] {
            return false
        }
        return true
    }

    /// Whether the template has a management URL: those may be one customer's own.
    public static func hasURL(_ template: UnsafeRawBufferPointer) -> Bool {
        unsafe template.count > 6 && SubscriptionRow.Flags(rawValue: template[6]).contains(.hasURL)
    }

    /// Puts a row's own parts back into its template.
    ///
    /// - Parameters:
    ///   - template: Written by `cut`.
    ///   - room: Takes the body; large enough for the template and the suffix once for each of its entries.
    /// - Returns: The body's length.
    public static func fill(
        _ template: UnsafeRawBufferPointer,
        _ cut: Cut,
        suffix: UnsafeRawBufferPointer,
        into room: UnsafeMutableRawBufferPointer
    ) -> Int {
        let entries = unsafe Int(template[1])
        precondition(template.count + entries * suffix.count <= room.count)
        guard let source = template.baseAddress, let target = room.baseAddress else { return 0 }
        unsafe target.copyMemory(from: source, byteCount: 2)
        var (from, to) = (2, 2)
        for _ in 0..<entries {
            // The template's lengths are those that `cut` has written, so all of this lies in it.
            let size = unsafe Int(UInt32(littleEndian: source.loadUnaligned(fromByteOffset: from, as: UInt32.self)))
            var place = from + SubscriptionRow.fixedSize
            for _ in 0..<2 { place += unsafe 2 + length(source, place) }
            let kept = unsafe length(source, place)
            let head = place + 2 + kept - from
            unsafe (target + to).copyMemory(from: source + from, byteCount: head)
            unsafe store(UInt32(truncatingIfNeeded: size + suffix.count), room, to)
            unsafe store(cut.end, room, to + endPlace)
            unsafe store(cut.periodEnd, room, to + periodPlace)
            unsafe store(cut.graceFrom, room, to + gracePlace)
            unsafe store(UInt16(truncatingIfNeeded: kept + suffix.count), room, to + place - from)
            to += head
            if let bytes = suffix.baseAddress {
                unsafe (target + to).copyMemory(from: bytes, byteCount: suffix.count)
                to += suffix.count
            }
            unsafe (target + to).copyMemory(from: source + from + head, byteCount: size - head)
            to += size - head
            from += size
        }
        return to
    }

    private static func length(_ bytes: UnsafeRawPointer, _ place: Int) -> Int {
        unsafe Int(UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt16.self)))
    }
}
