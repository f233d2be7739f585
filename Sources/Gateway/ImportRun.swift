internal import Crypto
internal import Entitlements
internal import Foundation
internal import Platform
internal import ProviderKit
internal import SQLStorage
internal import Storage

/// A file that is brought in.
struct ImportedFile {
    private static let pieceBytes = 1 << 20

    let path: String
    let size: Int
    /// The same for the same content, as far as its size and its first mebibyte tell.
    let fingerprint: String
    private let handle: FileHandle

    init(_ path: String) throws(ConfigurationError) {
        guard let handle = FileHandle(forReadingAtPath: path), let size = try? handle.seekToEnd() else {
            throw ConfigurationError(path, "it cannot be read", hint: "import FORMAT FILE names a CSV file")
        }
        self.path = path
        self.size = Int(size)
        self.handle = handle
        try? handle.seek(toOffset: 0)
        let head = (try? handle.read(upToCount: Self.pieceBytes)) ?? Data()
        try? handle.seek(toOffset: 0)
        fingerprint = Digest.sha256Hex(Array("\(size) ".utf8) + [UInt8](head))
    }

    /// The next piece; empty at the end.
    func piece() -> [UInt8] {
        [UInt8]((try? handle.read(upToCount: Self.pieceBytes)) ?? Data())
    }
}

/// One run over a file: line by line into batches, batch by batch into the database.
final class ImportRun {
    /// Events that a dry run looks for at once.
    private static let lookMax = 1000

    private let file: ImportedFile
    private let format: any ImportFormat
    private let store: EventImport?
    private let database: any DatabaseLocation
    private(set) var report: SubscriberImport.Report
    /// Why the file cannot be read on; what came before is in.
    private(set) var failure: ConfigurationError?
    private var batch: [IncomingEvent] = []
    private let arrival = UnixMillis(wallClockMillis())

    init(
        _ file: ImportedFile,
        _ format: any ImportFormat,
        _ store: EventImport?,
        _ database: any DatabaseLocation,
        isDryRun: Bool
    ) {
        self.file = file
        self.format = format
        self.store = store
        self.database = database
        report = SubscriberImport.Report(isDryRun: isDryRun)
    }

    func toTheEnd(
        _ progress: (SubscriberImport.Progress) -> Void,
        _ refusal: (SubscriberImport.Refusal) -> Void
    ) throws {
        let file = file
        var reader = CSVReader { file.piece() }
        var record = CSVRecord()
        do throws(CSVReader.Failure) {
            guard try reader.next(into: &record) else {
                throw CSVReader.Failure(line: 1, reason: "there is nothing in it; the first line names the columns")
            }
        } catch {
            throw ConfigurationError("\(file.path), line \(error.line)", error.reason)
        }
        var row = ImportRow(header: record)
        let missing = format.columns.filter { !row.has($0) }
        guard missing.isEmpty else {
            throw ConfigurationError(
                file.path,
                "it has no column \(missing.joined(separator: ", "))",
                hint: "its columns are \(row.header.joined(separator: ", "))"
            )
        }
        report.continuedAfter = try store?.lastLine()
        let start = report.continuedAfter ?? 0
        while true {
            do throws(CSVReader.Failure) {
                guard try reader.next(into: &row.record) else { break }
            } catch {
                failure = ConfigurationError("\(file.path), line \(error.line)", error.reason)
                break
            }
            guard row.record.line > start else { continue }
            report.lines += 1
            add(row, refusal)
            if batch.count >= store?.batchSize ?? Self.lookMax {
                try flush(upTo: row.record.line)
                progress(done(reader))
            }
        }
        try flush(upTo: row.record.line)
        progress(done(reader))
        if failure == nil { try store?.finish() }
    }

    private func done(_ reader: CSVReader) -> SubscriberImport.Progress {
        .init(bytes: reader.bytesRead, bytesMax: file.size, lines: report.lines, refused: report.refused)
    }

    private func add(_ row: ImportRow, _ refusal: (SubscriberImport.Refusal) -> Void) {
        do throws(ImportFailure) {
            for (provider, event) in try format.events(of: row) {
                batch.append(
                    IncomingEvent(provider: provider, event: event, receivedAt: arrival, redactedPayload: { nil })
                )
            }
        } catch {
            let refused = SubscriberImport.Refusal(line: row.record.line, reason: error.reason)
            report.refused += 1
            if report.refusals.count < SubscriberImport.refusalsMax { report.refusals.append(refused) }
            refusal(refused)
        }
    }

    private func flush(upTo line: Int) throws(StorageError) {
        defer { batch.removeAll(keepingCapacity: true) }
        guard let store else { return try look() }
        for outcome in try store.take(batch, upTo: line) { report.outcomes[outcome.name, default: 0] += 1 }
    }

    /// A dry run tells what is new.
    private func look() throws(StorageError) {
        var known = 0
        if database.isThere {
            known = try EventImport.known(
                batch.map { (provider: $0.provider, eventID: $0.event.eventID) },
                in: database
            )
        }
        report.outcomes["new", default: 0] += batch.count - known
        report.outcomes["known", default: 0] += known
    }
}
