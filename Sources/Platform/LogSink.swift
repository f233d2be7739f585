internal import CSystem
internal import Glibc
internal import Synchronization

/// Brings log lines from any thread to one descriptor, by way of a bounded mailbox and a thread that may block.
final class LogSink: Sendable {
    /// Some seconds of a very talkative process; at about 200 bytes a line, less than a megabyte.
    static let linesMax = 4_096
    /// Lines that waited together are written together, in pieces of a pipe's usual size.
    private static let pieceBytes = 64 << 10

    private let descriptor: Int32
    /// Nil when the process has no descriptor left; then lines are written by their callers.
    private let mailbox: Mailbox<ContiguousArray<UInt8>>?
    private let posted = Atomic(0)
    private let written = Atomic(0)
    private let dropped = Atomic(0)

    private init(descriptor: Int32, mailbox: Mailbox<ContiguousArray<UInt8>>?) {
        self.descriptor = descriptor
        self.mailbox = mailbox
    }

    /// A sink for `descriptor`, with its thread running.
    static func started(descriptor: Int32, linesMax: Int = linesMax) -> LogSink {
        guard let mailbox = try? Mailbox<ContiguousArray<UInt8>>(capacity: linesMax) else {
            return LogSink(descriptor: descriptor, mailbox: nil)
        }
        let sink = LogSink(descriptor: descriptor, mailbox: mailbox)
        let thread = try? WorkerThread.start(name: "log") { sink.writeLines(from: mailbox) }
        return thread == nil ? LogSink(descriptor: descriptor, mailbox: nil) : sink
    }

    func log(_ level: StaticString, _ message: StaticString, _ fields: [(StaticString, LogValue)]) {
        let line = LogLine(unixMillis: wallClockMillis(), level: level, message: message, fields: fields).bytes
        guard let mailbox else {
            write(line)
            return
        }
        if mailbox.post(line) {
            posted.add(1, ordering: .relaxed)
        } else {
            dropped.add(1, ordering: .relaxed)
        }
    }

    func flush(milliseconds: Int) -> Bool {
        guard mailbox != nil else { return true }
        let target = posted.load(ordering: .acquiring)
        let deadline = MonotonicNanos.now().adding(milliseconds: milliseconds)
        while written.load(ordering: .acquiring) < target {
            if MonotonicNanos.now() >= deadline { return false }
            var pause = timespec(tv_sec: 0, tv_nsec: 1_000_000)
            unsafe nanosleep(&pause, nil)
        }
        return true
    }

    /// Ends the thread once it has written what waits. Only a sink made for a test ends before its process.
    func close() {
        mailbox?.close()
    }

    private func writeLines(from mailbox: Mailbox<ContiguousArray<UInt8>>) {
        var lines: ContiguousArray<ContiguousArray<UInt8>> = []
        var piece: ContiguousArray<UInt8> = []
        piece.reserveCapacity(Self.pieceBytes)
        while mailbox.wait(milliseconds: nil) {
            mailbox.drain(into: &lines)
            for line in lines {
                if !piece.isEmpty && piece.count + line.count > Self.pieceBytes {
                    write(piece)
                    piece.removeAll(keepingCapacity: true)
                }
                piece.append(contentsOf: line)
            }
            let lost = dropped.exchange(0, ordering: .relaxed)
            if lost > 0 {
                piece.append(
                    contentsOf: LogLine(
                        unixMillis: wallClockMillis(),
                        level: "warning",
                        message: "log lines dropped",
                        fields: [("dropped", .integer(Int64(lost)))]
                    ).bytes
                )
            }
            write(piece)
            piece.removeAll(keepingCapacity: true)
            written.add(lines.count, ordering: .releasing)
        }
    }

    private func write(_ bytes: ContiguousArray<UInt8>) {
        unsafe bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let count = unsafe Glibc.write(
                    descriptor,
                    bytes.baseAddress?.advanced(by: offset),
                    bytes.count - offset
                )
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
