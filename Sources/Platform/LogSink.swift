/// Brings log lines from any thread to one descriptor, by way of a bounded mailbox and a thread that may block.
struct LogSink: Sendable {
    /// Some seconds of a very talkative process; at about 200 bytes a line, less than a megabyte.
    static let linesMax = 4_096

    private struct Running: Sendable {
        let writer: LogWriter
        let thread: WorkerThread
    }

    private let descriptor: Int32
    /// Nil when the process has no descriptor or no room for a thread left; then lines are written by their callers.
    private let running: Running?

    /// Starts the thread.
    init(descriptor: Int32, linesMax: Int = linesMax) {
        self.descriptor = descriptor
        do throws(SystemError) {
            let writer = try LogWriter(descriptor: descriptor, linesMax: linesMax)
            running = Running(writer: writer, thread: try WorkerThread.start(name: "log") { writer.writeLines() })
        } catch {
            running = nil
        }
    }

    func log(_ level: StaticString, _ message: StaticString, _ fields: [(StaticString, LogValue)]) {
        let line = LogLine(unixMillis: wallClockMillis(), level: level, message: message, fields: fields).bytes
        if let running {
            running.writer.post(line)
        } else {
            LogWriter.write(line, to: descriptor)
        }
    }

    /// Lines that were never written because too many waited.
    var droppedCount: Int { running?.writer.droppedCount ?? 0 }

    func flush(milliseconds: Int) -> Bool {
        running?.writer.flush(milliseconds: milliseconds) ?? true
    }

    /// Returns when what waits is written and the thread has ended. To be called once; only a test's sink ends before
    /// its process.
    func close() {
        running?.writer.close()
        running?.thread.join()
    }
}
