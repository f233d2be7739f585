internal import Foundation

/// What the kernel has counted for a process and its children's workers (`/proc`).
struct ProcessFigures {
    /// Processor time so far, in nanoseconds, of all threads that live.
    var cpuNanos = 0
    /// Most memory that was ever resident, and what is now, in KiB. Pages of files count as the kernel counts them.
    var peakKiB = 0
    var residentKiB = 0

    /// The sum over several processes.
    init(of identifiers: [Int32]) {
        for identifier in identifiers {
            let folder = "/proc/\(identifier)"
            // The scheduler's own count is exact, where that of `stat` counts hundredths of a second.
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/task")) ?? []
            for thread in threads {
                let text = Self.read("\(folder)/task/\(thread)/schedstat")
                cpuNanos += text.split(separator: " ").first.flatMap { Int($0) } ?? 0
            }
            for line in Self.read(folder + "/status").split(separator: "\n") {
                let words = line.split(whereSeparator: \.isWhitespace)
                guard words.count >= 2, let value = Int(words[1]) else { continue }
                if words[0] == "VmHWM:" { peakKiB += value }
                if words[0] == "VmRSS:" { residentKiB += value }
            }
        }
    }

    /// Processes whose parent this is.
    static func children(of parent: Int32) -> [Int32] {
        read("/proc/\(parent)/task/\(parent)/children").split(separator: " ").compactMap { Int32($0) }
    }

    /// Load of the machine in the last minute.
    static var load: String {
        read("/proc/loadavg").split(separator: " ").first.map(String.init) ?? "?"
    }

    private static func read(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }
}
