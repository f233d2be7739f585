/// The log of the process: one JSON object a line on standard error.
///
/// Each line has "time" (RFC 3339, UTC, milliseconds), "level" and "message", then the given fields. Writing is the
/// work of one thread of its own: a reader that does not read never blocks a caller. When 4,096 lines wait, further
/// lines are dropped, and their number is logged as soon as lines get through again.
public enum Log {
    private static let sink = LogSink(descriptor: 2)

    /// Logs that something expected happened.
    public static func info(_ message: StaticString, _ fields: (StaticString, LogValue)...) {
        sink.log("info", message, fields)
    }

    /// Logs that something went wrong which the program copes with.
    public static func warning(_ message: StaticString, _ fields: (StaticString, LogValue)...) {
        sink.log("warning", message, fields)
    }

    /// Logs that something went wrong which somebody must look at.
    public static func error(_ message: StaticString, _ fields: (StaticString, LogValue)...) {
        sink.log("error", message, fields)
    }

    /// Lines of this process that were never written because too many waited.
    public static var droppedCount: Int { sink.droppedCount }

    /// Waits until every line logged so far is written, at most `milliseconds`; false when the time was over first.
    @discardableResult
    public static func flush(milliseconds: Int) -> Bool {
        sink.flush(milliseconds: milliseconds)
    }
}
