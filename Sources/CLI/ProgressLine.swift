internal import Foundation
internal import Platform

/// How far a long work has come, on one line of a terminal; nothing where standard error is none.
final class ProgressLine {
    private static let width = 30
    private static let millis = 100

    private let isShown = isatty(STDERR_FILENO) == 1
    private let began = MonotonicNanos.now()
    private var nextAt = MonotonicNanos(value: 0)
    private var hasShown = false

    /// Seconds since it began, never zero.
    var seconds: Double { max(Double(MonotonicNanos.now().nanoseconds(since: began)) / 1e9, 0.001) }

    /// - Parameter share: What is done, 0 to 1.
    func show(_ share: Double, _ text: @autoclosure () -> String) {
        let now = MonotonicNanos.now()
        guard isShown, nextAt <= now || share >= 1 else { return }
        nextAt = now.adding(milliseconds: Self.millis)
        hasShown = true
        let full = Int(min(max(share, 0), 1) * Double(Self.width))
        let bar = String(repeating: "#", count: full) + String(repeating: ".", count: Self.width - full)
        let left = share > 0 ? Int(seconds / share - seconds) : 0
        let line = "\r[\(bar)] \(Int(share * 100))% \(text()), \(left) s left\u{1b}[K"
        FileHandle.standardError.write(Data(line.utf8))
    }

    func end() {
        if hasShown { FileHandle.standardError.write(Data("\n".utf8)) }
        hasShown = false
    }
}
