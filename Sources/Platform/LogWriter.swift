internal import CSystem
internal import Glibc
internal import Synchronization

/// The waiting lines of a log, and the one place that writes them.
final class LogWriter: Sendable {
    /// Lines that waited together are written together, in pieces of a pipe's usual size.
    private static let pieceBytes = 64 << 10

    private let descriptor: Int32
    private let mailbox: Mailbox<ContiguousArray<UInt8>>
    private let posted = Atomic(0)
    private let written = Atomic(0)
    /// Not told of yet, and all of them.
    private let dropped = Atomic(0)
    private let droppedEver = Atomic(0)

    init(descriptor: Int32, linesMax: Int) throws(SystemError) {
        self.descriptor = descriptor
        mailbox = try Mailbox(capacity: linesMax)
    }

    /// Takes a line, or counts it as dropped.
    func post(_ line: ContiguousArray<UInt8>) {
        if mailbox.post(line) {
            posted.add(1, ordering: .relaxed)
        } else {
            dropped.add(1, ordering: .relaxed)
            droppedEver.add(1, ordering: .relaxed)
        }
    }

    /// Lines that were never written because too many waited.
    var droppedCount: Int { droppedEver.load(ordering: .relaxed) }

    func flush(milliseconds: Int) -> Bool {
        let target = posted.load(ordering: .acquiring)
        let deadline = MonotonicNanos.now().adding(milliseconds: milliseconds)
        while written.load(ordering: .acquiring) < target {
            if MonotonicNanos.now() >= deadline { return false }
            var pause = timespec(tv_sec: 0, tv_nsec: 1_000_000)
            unsafe nanosleep(&pause, nil)
        }
        return true
    }

    func close() {
        mailbox.close()
    }

    /// The work of the log's thread: writes until `close`, and then what still waits.
    func writeLines() {
        var lines: ContiguousArray<ContiguousArray<UInt8>> = []
        var piece: ContiguousArray<UInt8> = []
        piece.reserveCapacity(Self.pieceBytes)
        while mailbox.wait(milliseconds: nil) {
            mailbox.drain(into: &lines)
            for line in lines {
                if !piece.isEmpty && piece.count + line.count > Self.pieceBytes {
                    Self.write(piece, to: descriptor)
                    piece.removeAll(keepingCapacity: true)
                }
                piece.append(contentsOf: line)
            }
            let lost = dropped.exchange(0, ordering: .relaxed)
            if lost > 0 { piece.append(contentsOf: Self.lossLine(lost)) }
            Self.write(piece, to: descriptor)
            piece.removeAll(keepingCapacity: true)
            written.add(lines.count, ordering: .releasing)
        }
    }

    private static func lossLine(_ lost: Int) -> ContiguousArray<UInt8> {
        LogLine(
            unixMillis: wallClockMillis(),
            level: "warning",
            message: "log lines dropped",
            fields: [("dropped", .integer(Int64(lost)))]
        ).bytes
    }

    /// Writes all of `bytes`, however long the reader takes.
    static func write(_ bytes: ContiguousArray<UInt8>, to descriptor: Int32) {
        unsafe bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let rest = bytes.count - offset
                let count = unsafe Glibc.write(descriptor, bytes.baseAddress?.advanced(by: offset), rest)
                if count >= 0 {
                    offset += count
                } else if errno == EAGAIN {
                    _ = csystem_poll_writable(descriptor, -1)
                } else if errno != EINTR {
                    // Nobody can be told that standard error is gone.
                    return
                }
            }
        }
    }
}
