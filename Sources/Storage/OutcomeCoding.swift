package import Entitlements

/// What a purchase's facts come to, as bytes: kept so that electing a row reads no facts.
package enum OutcomeCoding {
    private static let version: UInt8 = 1

    package static func encode(_ outcome: PurchaseOutcome) -> [UInt8] {
        var writer = ByteWriter()
        writer.byte(version)
        writer.text(outcome.provider.name)
        writer.byte(outcome.willRenew ? 1 : 0)
        writer.optional(outcome.store) { $0.text($1) }
        writer.optional(outcome.managementURL) { $0.text($1) }
        writer.optional(outcome.newest) { writer, order in
            writer.signed(order.period)
            writer.signed(order.version)
            writer.signed(order.told)
            writer.byte(UInt8(order.severity))
            writer.text(order.eventID)
        }
        writer.unsigned(UInt64(outcome.lines.count))
        for line in outcome.lines {
            writer.texts(line.products)
            writer.optional(line.entitlements) { $0.texts($1) }
            writer.byte((line.isOneTime ? 1 : 0) | (line.isPast ? 2 : 0))
            for time in [line.end, line.periodEnd, line.purchasedAt, line.graceFrom] {
                writer.optional(time) { $0.signed($1.value) }
            }
            writer.byte(line.live.rawValue)
            writer.byte(line.ended.rawValue)
        }
        return writer.bytes
    }

    package static func decode(_ bytes: [UInt8]) throws(StorageError) -> PurchaseOutcome {
        var reader = ByteReader(bytes)
        guard try reader.byte() == version else { throw .damaged("a purchase of an unknown form") }
        let provider = ProviderID(try reader.text())
        let willRenew = try reader.flag()
        let store = try reader.flag() ? try reader.text() : nil
        let managementURL = try reader.flag() ? try reader.text() : nil
        var newest: StateOrder?
        if try reader.flag() {
            newest = StateOrder(
                period: try reader.signed(),
                version: try reader.signed(),
                told: try reader.signed(),
                severity: Int(try reader.byte()),
                eventID: try reader.text()
            )
        }
        var lines: [PurchaseOutcome.Line] = []
        for _ in 0..<(try reader.unsigned()) { lines.append(try line(&reader)) }
        return PurchaseOutcome(
            provider: provider,
            lines: lines,
            willRenew: willRenew,
            store: store,
            managementURL: managementURL,
            newest: newest
        )
    }

    private static func line(_ reader: inout ByteReader) throws(StorageError) -> PurchaseOutcome.Line {
        func time(_ reader: inout ByteReader) throws(StorageError) -> UnixMillis? {
            try reader.flag() ? UnixMillis(try reader.signed()) : nil
        }
        let products = try reader.texts()
        let entitlements = try reader.flag() ? try reader.texts() : nil
        let flags = try reader.byte()
        guard flags <= 3 else { throw .damaged("a line of an unknown form") }
        let end = try time(&reader)
        let periodEnd = try time(&reader)
        let purchasedAt = try time(&reader)
        let graceFrom = try time(&reader)
        guard let live = Status(rawValue: try reader.byte()), let ended = Status(rawValue: try reader.byte()) else {
            throw .damaged("a status that is none")
        }
        return PurchaseOutcome.Line(
            products: products,
            entitlements: entitlements,
            isOneTime: flags & 1 != 0,
            isPast: flags & 2 != 0,
            end: end,
            periodEnd: periodEnd,
            purchasedAt: purchasedAt,
            live: live,
            graceFrom: graceFrom,
            ended: ended
        )
    }
}
