internal import Foundation
internal import Platform

/// Where a command's words go: what was asked for to standard output, everything else to standard error.
enum Terminal {
    static func output(_ text: String) {
        write(text, STDOUT_FILENO)
    }

    static func error(_ text: String) {
        write(text, STDERR_FILENO)
    }

    static func exit(_ status: ExitStatus) -> Never {
        _ = Log.flush(milliseconds: 1000)
        Foundation.exit(status.rawValue)
    }

    private static func write(_ text: String, _ descriptor: Int32) {
        FileHandle(fileDescriptor: descriptor).write(Data((text.hasSuffix("\n") ? text : text + "\n").utf8))
    }
}
