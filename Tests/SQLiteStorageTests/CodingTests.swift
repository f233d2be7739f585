internal import Entitlements
internal import TestSupport
internal import Testing

@testable internal import SQLStorage
@testable internal import SQLiteStorage
@testable internal import Storage

/// Facts, outcomes, rows and transfers as bytes.
struct CodingTests {
    static let seeds: [UInt64] = [1, 2, 3, 4, UInt64.random(in: .min ... .max)]

    @Test("facts are read back as they were written; damaged bytes are an error, never a trap", arguments: seeds)
    func facts(_ seed: UInt64) {
        var values = RandomValues(seed: seed)
        for round in 0..<400 {
            let recorded = (0..<[1, 1, 2, 4][round % 4]).map { _ in
                RecordedFact(
                    provider: ProviderID("p"),
                    eventID: "e",
                    isSecondHand: Bool.random(using: &values.generator),
                    fact: values.fact()
                )
            }
            let bytes = FactCoding.encode(recorded)
            let read = try? FactCoding.decode(bytes, provider: ProviderID("p"), eventID: "e")
            #expect(read == recorded, "seed \(seed), round \(round)")
            for damaged in values.damage(bytes) {
                _ = try? FactCoding.decode(damaged, provider: ProviderID("p"), eventID: "e")
            }
            // Cut anywhere, a record is never taken for whole.
            for length in 0..<bytes.count {
                #expect(
                    (try? FactCoding.decode(Array(bytes.prefix(length)), provider: ProviderID("p"), eventID: "e"))
                        == nil
                )
            }
        }
    }

    @Test("outcomes are read back as they were written; damaged bytes are an error, never a trap", arguments: seeds)
    func outcomes(_ seed: UInt64) {
        var values = RandomValues(seed: seed)
        for round in 0..<300 {
            let outcome = values.outcome()
            let bytes = OutcomeCoding.encode(outcome)
            #expect((try? OutcomeCoding.decode(bytes)) == outcome, "seed \(seed), round \(round)")
            for damaged in values.damage(bytes) { _ = try? OutcomeCoding.decode(damaged) }
        }
    }

    @Test("rows are read back as they were written; damaged bytes are an error, never a trap", arguments: seeds)
    func rows(_ seed: UInt64) {
        var values = RandomValues(seed: seed)
        for round in 0..<300 {
            let row = values.row()
            let bytes = SubscriptionRow.encode(row)
            #expect((try? SubscriptionRow.decode(bytes)) == row, "seed \(seed), round \(round)")
            for damaged in values.damage(bytes) { _ = try? SubscriptionRow.decode(damaged) }
        }
    }

    @Test("transfers are read back as they were written; damaged bytes are an error, never a trap", arguments: seeds)
    func transfers(_ seed: UInt64) {
        var values = RandomValues(seed: seed)
        for _ in 0..<300 {
            let transfer = Transfer(
                at: values.time(),
                eventID: "e",
                from: values.holder(),
                to: values.holder(),
                environment: .sandbox
            )
            let bytes = TransferCoding.encode(transfer)
            #expect(
                (try? TransferCoding.decode(bytes, at: transfer.at, eventID: "e", environment: .sandbox)) == transfer
            )
            for damaged in values.damage(bytes) {
                _ = try? TransferCoding.decode(damaged, at: transfer.at, eventID: "e", environment: nil)
            }
        }
    }

    @Test("a longer list of entitlements than a row can count is cut, not broken")
    func manyEntitlements() throws {
        var values = RandomValues(seed: 1)
        var entry = values.entitlement()
        let row = Subscription(
            entitlements: (0..<300).map {
                entry.name = "n\($0)"
                return entry
            }
        )
        #expect(try SubscriptionRow.decode(SubscriptionRow.encode(row)).entitlements.count == 255)
        entry.purchaseID = String(repeating: "é", count: 40_000)
        _ = try SubscriptionRow.decode(SubscriptionRow.encode(Subscription(entitlements: [entry])))
    }

    @Test("numbers and texts at their limits")
    func limits() throws {
        for value in [0, 1, -1, 63, 64, -64, -65, Int64.max, Int64.min] {
            var writer = ByteWriter()
            writer.signed(value)
            var reader = ByteReader(writer.bytes)
            #expect(try reader.signed() == value)
        }
        for value in [0, 127, 128, UInt64.max] {
            var writer = ByteWriter()
            writer.unsigned(value)
            var reader = ByteReader(writer.bytes)
            #expect(try reader.unsigned() == value)
        }
        var endless = ByteReader([UInt8](repeating: 0xff, count: 11))
        #expect(throws: StorageError.self) { try endless.unsigned() }
        var boast = ByteReader([0xff, 0xff, 0xff, 0xff, 0x7f, 1])
        #expect(throws: StorageError.self) { try boast.texts() }
    }
}
