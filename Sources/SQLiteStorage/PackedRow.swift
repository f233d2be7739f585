internal import Crypto
internal import Entitlements
internal import SQLStorage
internal import Storage

/// A row as few words: what most rows look like takes six or seven of them (48 or 56 bytes), any other one its bytes.
///
///     word 0    who: 32 bits of the hash, then what the rest is (see `Layout`)
///     word 1    who: 64 bits more of the hash
///     words 2-3 from a template: version (40 bits), time of writing (44), end of access (44)
///               whole: version, time of writing
///     words 4-  from a template: the end of the purchase's id, ten signs a word; end of the period and begin of the grace,
///               where they are others than the end of access and none
///               whole: the body's bytes
///
/// Belongs to one reader: the memory it packs into and unpacks from is used again.
@safe
final class PackedRow {
    static let wordsMax = 63
    static let headWords = 4
    private static let suffixMax = 60
    private static let signsInWord = 10
    /// What is longer is not cut: some twenty entitlements.
    private static let roomBytes = 2048

    /// The low 32 bits of word 0.
    struct Layout {
        var bits: UInt32

        init(_ word: UInt64) {
            bits = UInt32(truncatingIfNeeded: word)
        }

        init(words: Int, bodyCount: Int) {
            bits = UInt32(words) | UInt32(bodyCount) << 9
        }

        init(words: Int, template: Int, suffix: Int, hasPeriod: Bool, hasGrace: Bool) {
            bits = UInt32(words) | 1 << 6 | (hasGrace ? 1 << 7 : 0) | (hasPeriod ? 1 << 8 : 0)
            bits |= UInt32(suffix) << 9 | UInt32(template) << 16
        }

        /// Words in all; zero where no row stands.
        var words: Int { Int(bits & 63) }
        var isFromTemplate: Bool { bits & 1 << 6 != 0 }
        var hasGrace: Bool { bits & 1 << 7 != 0 }
        var hasPeriod: Bool { bits & 1 << 8 != 0 }
        var suffix: Int { Int(bits >> 9 & 63) }
        var template: Int { Int(bits >> 16) }
        var bodyCount: Int { Int(bits >> 9) }
    }

    /// Memory of `wordsMax` words.
    let words: UnsafeMutablePointer<UInt64>
    private let room: UnsafeMutableRawBufferPointer
    private let suffixRoom: UnsafeMutableRawBufferPointer
    private let templates: RowTemplates

    init(_ templates: RowTemplates) {
        self.templates = templates
        unsafe words = .allocate(capacity: Self.wordsMax)
        unsafe words.initialize(repeating: 0, count: Self.wordsMax)
        unsafe room = .allocate(byteCount: Self.roomBytes, alignment: 16)
        unsafe suffixRoom = .allocate(byteCount: Self.suffixMax, alignment: 16)
    }

    deinit {
        unsafe words.deallocate()
        unsafe room.deallocate()
        unsafe suffixRoom.deallocate()
    }

    /// What word 0 of a user's row begins with.
    static func who(_ hash: KeyedHash.Value) -> UInt64 { hash.first << 32 }

    // MARK: - Packing

    /// Packs a row into `words`.
    ///
    /// - Returns: How many words it takes; nil for one that is too long.
    func pack(_ hash: KeyedHash.Value, _ row: borrowing RowView) -> Int? {
        unsafe words[1] = hash.second
        if let count = packByTemplate(hash, row) { return count }
        let count = Self.headWords + (row.body.count + 7) / 8
        guard count <= Self.wordsMax else { return nil }
        unsafe words[0] = Self.who(hash) | UInt64(Layout(words: count, bodyCount: row.body.count).bits)
        unsafe words[2] = UInt64(bitPattern: row.version)
        unsafe words[3] = UInt64(bitPattern: row.updatedAt.value)
        unsafe words[count - 1] = 0
        guard row.body.count > 0 else { return count }
        unsafe row.body.withUnsafeBytes { bytes in
            let target = unsafe UnsafeMutableRawBufferPointer(start: words + Self.headWords, count: bytes.count)
            unsafe target.copyMemory(from: bytes)
        }
        return count
    }

    private func packByTemplate(_ hash: KeyedHash.Value, _ row: borrowing RowView) -> Int? {
        let (timeMax, versionMax): (Int64, Int64) = (1 << 44, 1 << 40)
        guard let (cut, templateCount) = unsafe RowTemplate.cut(row.body, into: room),
            cut.suffix.count <= Self.suffixMax, (0..<timeMax).contains(cut.end),
            (0..<timeMax).contains(row.updatedAt.value), (0..<versionMax).contains(row.version)
        else { return nil }
        var count = Self.headWords
        var word: UInt64 = 0
        for (index, place) in cut.suffix.enumerated() {
            guard let sign = Self.sign(row.body[place]) else { return nil }
            word = word << 6 | sign
            if (index + 1) % Self.signsInWord == 0 || place + 1 == cut.suffix.upperBound {
                unsafe words[count] = word
                word = 0
                count += 1
            }
        }
        let (hasPeriod, hasGrace) = (cut.periodEnd != cut.end, cut.graceFrom != 0)
        if hasPeriod {
            unsafe words[count] = UInt64(bitPattern: cut.periodEnd)
            count += 1
        }
        if hasGrace {
            unsafe words[count] = UInt64(bitPattern: cut.graceFrom)
            count += 1
        }
        let template = unsafe UnsafeRawBufferPointer(rebasing: room[..<templateCount])
        guard let number = unsafe templates.number(of: template, isRare: RowTemplate.hasURL(template)) else {
            return nil
        }
        let layout = Layout(
            words: count,
            template: number,
            suffix: cut.suffix.count,
            hasPeriod: hasPeriod,
            hasGrace: hasGrace
        )
        let updatedAt = UInt64(row.updatedAt.value)
        unsafe words[0] = Self.who(hash) | UInt64(layout.bits)
        unsafe words[2] = UInt64(row.version) << 24 | updatedAt & 0xFF_FFFF
        unsafe words[3] = (updatedAt >> 24) << 44 | UInt64(cut.end)
        return count
    }

    /// Six bits for the signs that ids are made of.
    private static func sign(_ byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt64(byte - UInt8(ascii: "A")) + 10
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt64(byte - UInt8(ascii: "a")) + 36
        case UInt8(ascii: "_"): 62
        case UInt8(ascii: "-"): 63
        default: nil
        }
    }

    private static let signs: StaticString = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"

    // MARK: - Unpacking

    /// Calls `body` with the row that stands in `words`, packed by any reader.
    func withRow(_ body: (borrowing RowView?) -> Void) {
        let layout = unsafe Layout(words[0])
        guard layout.isFromTemplate else {
            let bytes = unsafe UnsafeRawBufferPointer(start: words + Self.headWords, count: layout.bodyCount)
            let view = unsafe RowView(
                version: Int64(bitPattern: words[2]),
                updatedAt: UnixMillis(Int64(bitPattern: words[3])),
                body: bytes.assumingMemoryBound(to: UInt8.self).span
            )
            return body(view)
        }
        let (second, third) = unsafe (words[2], words[3])
        let end = Int64(third & 0xFFF_FFFF_FFFF)
        var place = Self.headWords + (layout.suffix + Self.signsInWord - 1) / Self.signsInWord
        var cut = RowTemplate.Cut(end: end, periodEnd: end, graceFrom: 0, suffix: 0..<layout.suffix)
        if layout.hasPeriod {
            cut.periodEnd = unsafe Int64(bitPattern: words[place])
            place += 1
        }
        if layout.hasGrace { cut.graceFrom = unsafe Int64(bitPattern: words[place]) }
        unpackSuffix(layout.suffix)
        let count = unsafe RowTemplate.fill(
            templates[layout.template],
            cut,
            suffix: UnsafeRawBufferPointer(rebasing: suffixRoom[..<layout.suffix]),
            into: room
        )
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: room[..<count])
        let view = unsafe RowView(
            version: Int64(second >> 24),
            updatedAt: UnixMillis(Int64((third >> 44) << 24 | second & 0xFF_FFFF)),
            body: bytes.assumingMemoryBound(to: UInt8.self).span
        )
        return body(view)
    }

    private func unpackSuffix(_ count: Int) {
        let signs = unsafe Self.signs.utf8Start
        var done = 0
        while done < count {
            var word = unsafe words[Self.headWords + done / Self.signsInWord]
            let next = min(done + Self.signsInWord, count)
            var place = next
            while place > done {
                place &-= 1
                unsafe suffixRoom[place] = signs[Int(word & 63)]
                word >>= 6
            }
            done = next
        }
    }
}
