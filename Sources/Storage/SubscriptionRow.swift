public import Entitlements

/// The body of a user's row as bytes, and a way to read it in place.
///
/// Layout: `version` (1 byte), number of entitlements (1 byte), then each entitlement:
/// length of the whole entry (4 bytes, little endian), flags (1), live status (1), ended status (1), end, period end and
/// grace start (8 bytes each, little endian, meaningless where the flag is off), then name, provider, purchase id, product,
/// store and management URL, each with its length (2 bytes, little endian). Fixed places first, so that the gate finds what
/// it needs without reading the texts.
public enum SubscriptionRow {
    static let version: UInt8 = 1
    static let fixedSize = 4 + 3 + 24

    struct Flags: OptionSet {
        let rawValue: UInt8
        static let hasEnd = Flags(rawValue: 1)
        static let hasPeriodEnd = Flags(rawValue: 2)
        static let hasGrace = Flags(rawValue: 4)
        static let willRenew = Flags(rawValue: 8)
        static let hasProduct = Flags(rawValue: 16)
        static let hasStore = Flags(rawValue: 32)
        static let hasURL = Flags(rawValue: 64)
    }

    /// More entitlements than any seller names; the rest of a longer list would not fit the count.
    static let entitlementsMax = 255

    public static func encode(_ subscription: Subscription) -> [UInt8] {
        let entries = subscription.entitlements.prefix(entitlementsMax)
        var bytes: [UInt8] = [version, UInt8(entries.count)]
        for entry in entries {
            var flags: Flags = []
            if entry.end != nil { flags.insert(.hasEnd) }
            if entry.periodEnd != nil { flags.insert(.hasPeriodEnd) }
            if entry.graceFrom != nil { flags.insert(.hasGrace) }
            if entry.willRenew { flags.insert(.willRenew) }
            if entry.productID != nil { flags.insert(.hasProduct) }
            if entry.store != nil { flags.insert(.hasStore) }
            if entry.managementURL != nil { flags.insert(.hasURL) }
            var body: [UInt8] = [flags.rawValue, entry.live.rawValue, entry.ended.rawValue]
            for time in [entry.end, entry.periodEnd, entry.graceFrom] {
                append(UInt64(bitPattern: time?.value ?? 0), bytes: 8, to: &body)
            }
            let texts = [
                entry.name, entry.provider.name, entry.purchaseID, entry.productID ?? "", entry.store ?? "",
                entry.managementURL ?? "",
            ]
            for text in texts {
                let utf8 = Array(text.utf8.prefix(Int(UInt16.max)))
                append(UInt64(utf8.count), bytes: 2, to: &body)
                body += utf8
            }
            append(UInt64(body.count + 4), bytes: 4, to: &bytes)
            bytes += body
        }
        return bytes
    }

    private static func append(_ value: UInt64, bytes count: Int, to bytes: inout [UInt8]) {
        for shift in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(shift)))) }
    }

    /// The row as values.
    public static func decode(_ bytes: [UInt8]) throws(StorageError) -> Subscription {
        guard bytes.count >= 2, bytes[0] == version else { throw .damaged("a row of an unknown form") }
        var entries: [Subscription.Entitlement] = []
        var offset = 2
        for _ in 0..<bytes[1] {
            guard let entry = RowEntry(bytes.span, at: offset) else { throw .damaged("a row ends too early") }
            func text(_ place: RowEntry.Text) -> String {
                String(decoding: bytes[place.start..<place.start + place.count], as: UTF8.self)
            }
            entries.append(
                Subscription.Entitlement(
                    name: text(entry.name),
                    provider: ProviderID(text(entry.provider)),
                    purchaseID: text(entry.purchaseID),
                    productID: entry.product.map(text),
                    store: entry.store.map(text),
                    managementURL: entry.managementURL.map(text),
                    willRenew: entry.willRenew,
                    end: entry.end,
                    periodEnd: entry.periodEnd,
                    live: entry.live,
                    graceFrom: entry.graceFrom,
                    ended: entry.ended
                )
            )
            offset += entry.size
        }
        return Subscription(entitlements: entries)
    }
}

/// One entitlement of a row, read in place: times by value, texts as places in the row.
public struct RowEntry {
    /// Where a text stands in the row.
    public struct Text {
        public var start: Int
        public var count: Int
    }

    public let size: Int
    public let live: Status
    public let ended: Status
    public let end: UnixMillis?
    public let periodEnd: UnixMillis?
    public let graceFrom: UnixMillis?
    public let willRenew: Bool
    public let name: Text
    public let provider: Text
    public let purchaseID: Text
    public let product: Text?
    public let store: Text?
    public let managementURL: Text?

    /// Nil when the bytes are not an entry.
    public init?(_ row: Span<UInt8>, at offset: Int) {
        guard offset >= 0, row.count - offset >= SubscriptionRow.fixedSize else { return nil }
        func byte(_ place: Int) -> UInt8 { row[place] }
        func number<Number: FixedWidthInteger & BitwiseCopyable>(_ place: Int, as type: Number.Type) -> Number {
            precondition(place >= 0 && place + MemoryLayout<Number>.size <= row.count)
            // The bytes lie within the row, as was just made sure of.
            return unsafe Number(littleEndian: row.bytes.unsafeLoadUnaligned(fromByteOffset: place, as: type))
        }
        let size = Int(number(offset, as: UInt32.self))
        guard size >= SubscriptionRow.fixedSize, size <= row.count - offset else { return nil }
        let flags = SubscriptionRow.Flags(rawValue: byte(offset + 4))
        guard let live = Status(rawValue: byte(offset + 5)), let ended = Status(rawValue: byte(offset + 6)) else {
            return nil
        }
        self.size = size
        self.live = live
        self.ended = ended
        func time(_ place: Int, _ flag: SubscriptionRow.Flags) -> UnixMillis? {
            flags.contains(flag) ? UnixMillis(number(offset + place, as: Int64.self)) : nil
        }
        end = time(7, .hasEnd)
        periodEnd = time(15, .hasPeriodEnd)
        graceFrom = time(23, .hasGrace)
        willRenew = flags.contains(.willRenew)
        var place = offset + SubscriptionRow.fixedSize
        let limit = offset + size
        guard let name = Self.text(row, &place, limit), let provider = Self.text(row, &place, limit),
            let purchaseID = Self.text(row, &place, limit), let product = Self.text(row, &place, limit),
            let store = Self.text(row, &place, limit), let url = Self.text(row, &place, limit)
        else { return nil }
        self.name = name
        self.provider = provider
        self.purchaseID = purchaseID
        self.product = flags.contains(.hasProduct) ? product : nil
        self.store = flags.contains(.hasStore) ? store : nil
        managementURL = flags.contains(.hasURL) ? url : nil
    }

    /// The text at `place`, which moves behind it; nil when it does not end before `limit`.
    @inline(__always)
    private static func text(_ row: Span<UInt8>, _ place: inout Int, _ limit: Int) -> Text? {
        guard place &+ 2 <= limit, limit <= row.count else { return nil }
        // Both bytes lie within the row, as was just made sure of.
        let count = unsafe Int(
            UInt16(littleEndian: row.bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt16.self))
        )
        let start = place &+ 2
        guard start &+ count <= limit else { return nil }
        place = start &+ count
        return Text(start: start, count: count)
    }
}
