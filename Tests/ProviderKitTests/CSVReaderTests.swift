internal import Entitlements
internal import Testing

@testable internal import ProviderKit

@Suite("CSV")
struct CSVReaderTests {
    /// The fields and the first line of each record, read in pieces of `size` bytes.
    private static func read(_ text: String, size: Int) throws(CSVReader.Failure) -> [(line: Int, fields: [String])] {
        var rest = Array(text.utf8)[...]
        var reader = CSVReader {
            defer { rest = rest.dropFirst(size) }
            return Array(rest.prefix(size))
        }
        var record = CSVRecord()
        var records: [(line: Int, fields: [String])] = []
        while try reader.next(into: &record) {
            records.append((record.line, (0..<record.count).map { record[$0] }))
        }
        return records
    }

    @Test(
        "whatever the pieces it comes in",
        arguments: [1, 2, 3, 7, 1000]
    )
    func records(size: Int) throws {
        let text = "\u{feff}a,b,c\r\n1,\"x, \"\"y\"\"\r\nz\",3\n\n\r\n,,\r4,5\"6,\"\"\nlast"
        let records = try Self.read(text, size: size)
        // The mark at the beginning is known when it comes in one piece.
        if size >= 3 { #expect(records.first?.fields == ["a", "b", "c"]) }
        #expect(
            records.dropFirst().map(\.fields) == [
                ["1", "x, \"y\"\r\nz", "3"], ["", "", ""], ["4", "5\"6", ""], ["last"],
            ]
        )
        #expect(records.map(\.line) == [1, 2, 6, 7, 8])
    }

    @Test func aQuoteThatIsNeverClosedIsTold() throws {
        let failure = #expect(throws: CSVReader.Failure.self) { try Self.read("a\nb,\"c\nd\n", size: 4) }
        #expect(failure?.line == 2)
    }

    @Test func aRecordWithoutEndIsTold() {
        let text = "\"" + String(repeating: "x", count: CSVReader.recordBytesMax + 10)
        #expect(throws: CSVReader.Failure.self) { try Self.read(text, size: 4096) }
    }

    @Test(arguments: [
        ("2027-01-02T03:04:05Z", 1_798_859_045_000, 0), ("2027-01-02", 1_798_848_000_000, 86_400_000),
        ("2027-01-02 03:04", 1_798_859_040_000, 60_000), ("2027-01-02 03:04:05", 1_798_859_045_000, 0),
        ("1798859045", 1_798_859_045_000, 0), ("1798859045000", 1_798_859_045_000, 0),
    ])
    func times(text: String, millis: Int64, precision: Int64) throws {
        var records = CSVRecord()
        var reader = CSVReader { [] }
        _ = try reader.next(into: &records)
        var bytes = Array("at\n\(text)\n".utf8)
        reader = CSVReader {
            defer { bytes = [] }
            return bytes
        }
        _ = try reader.next(into: &records)
        var row = ImportRow(header: records)
        _ = try reader.next(into: &row.record)
        #expect(try row.time("at")?.value == millis)
        #expect(try row.end("at")?.value == millis + precision)
    }
}
