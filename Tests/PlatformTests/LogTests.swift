import Glibc
import Testing

@testable import Platform

@Suite struct LogTests {
    private func text(_ message: StaticString, _ fields: [(StaticString, LogValue)]) -> String {
        String(
            decoding: LogLine(unixMillis: 1_798_761_600_042, level: "info", message: message, fields: fields).bytes,
            as: UTF8.self
        )
    }

    @Test func writesOneObjectALine() {
        let line = text("hello", [("user", .string("u1")), ("count", .integer(-7)), ("fresh", .boolean(true))])
        #expect(
            line == """
                {"time":"2027-01-01T00:00:00.042Z","level":"info","message":"hello","user":"u1","count":-7,"fresh":true}

                """
        )
    }

    @Test(arguments: [
        ("a\"b", #"a\"b"#), ("a\\b", #"a\\b"#), ("a\nb\r\tc", #"a\nb\r\tc"#), ("\u{0}\u{1f}", #"\u0000\u001f"#),
        ("\u{7f}", #"\u007f"#), ("é…😀", "é…😀"), ("", ""),
    ])
    func escapes(value: String, written: String) {
        #expect(text("m", [("v", .string(value))]).hasSuffix("\"v\":\"\(written)\"}\n"))
    }

    @Test func cutsLongValuesBetweenScalars() {
        let line = text("m", [("v", .string(String(repeating: "é", count: 5_000)))])
        #expect(line.hasSuffix("é…\"}\n"))
        #expect(line.utf8.count < 4_300)
    }

    private func makePipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        return (ends[0], ends[1])
    }

    /// Reads whole lines until `isEnough`, or until nothing comes for five seconds.
    private func readLines(_ descriptor: Int32, until isEnough: ([Substring]) -> Bool) -> [Substring] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
            if bytes.last == UInt8(ascii: "\n") && isEnough(lines) { return lines }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 5_000) == 1 else { return lines }
            let count = read(descriptor, &piece, piece.count)
            if count <= 0 { return lines }
            bytes.append(contentsOf: piece[..<count])
        }
    }

    private func lossesTold(in lines: [Substring]) -> Int {
        lines.filter { $0.contains("lines dropped") }
            .compactMap { $0.split(separator: ":").last.flatMap { Int($0.dropLast()) } }
            .reduce(0, +)
    }

    @Test func keepsTheOrderOfLines() throws {
        let ends = try makePipe()
        let sink = LogSink(descriptor: ends.write)
        for number in 0..<200 { sink.log("info", "line", [("number", .integer(Int64(number)))]) }
        #expect(sink.flush(milliseconds: 5_000))
        sink.log("info", "end", [])
        let lines = readLines(ends.read, until: { $0.count > 200 })
        #expect(lines.count == 201)
        for (number, line) in lines.dropLast().enumerated() { #expect(line.hasSuffix("\"number\":\(number)}")) }
        sink.close()
        close(ends.read)
    }

    @Test func aBlockedReaderBlocksNobodyAndLossesAreCounted() throws {
        let ends = try makePipe()
        let sink = LogSink(descriptor: ends.write, linesMax: 8)
        // A pipe holds 64 KiB; these are 800 KB.
        let filler = LogValue.string(String(repeating: "x", count: 4_000))
        let start = MonotonicNanos.now()
        for _ in 0..<200 { sink.log("info", "filler", [("x", filler)]) }
        #expect(MonotonicNanos.now() < start.adding(seconds: 5))
        #expect(!sink.flush(milliseconds: 20))
        // Once somebody reads, the loss is told.
        let lines = readLines(ends.read) { lines in
            lines.filter { $0.contains("\"filler\"") }.count + lossesTold(in: lines) >= 200
        }
        let written = lines.filter { $0.contains("\"filler\"") }.count
        #expect(written > 0 && lossesTold(in: lines) > 0)
        #expect(written + lossesTold(in: lines) == 200)
        // Told once in the log, counted for good.
        #expect(sink.droppedCount == 200 - written)
        sink.close()
        close(ends.read)
    }

    @Test func describesErrors() {
        #expect(SystemError.call("bind", EADDRINUSE).description == "bind: Address already in use (98)")
        #expect(throws: SystemError.call("bind", EACCES)) { try checked(-EACCES, "bind") }
        #expect(throws: Never.self) { try checked(3, "bind") }
    }
}
