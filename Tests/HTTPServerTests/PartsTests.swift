import Platform
import Testing

@testable import HTTPServer

@Suite struct ByteBufferTests {
    private func text(_ buffer: ByteBuffer) -> String { String(decoding: buffer.readable, as: UTF8.self) }

    @Test func growsAndKeepsItsBytes() {
        let buffer = ByteBuffer(capacity: 8)
        buffer.append("abcdef")
        buffer.consume(4)
        buffer.append("ghijkl")
        #expect(buffer.capacity == 8)
        #expect(text(buffer) == "efghijkl")
        buffer.append("m")
        #expect(buffer.capacity == 16)
        #expect(text(buffer) == "efghijklm")
        buffer.truncate(to: 2)
        #expect(text(buffer) == "ef")
        buffer.consume(2)
        #expect(buffer.isEmpty && buffer.writable.count == 16)
    }

    @Test(arguments: [
        0, 1, 9, 10, 11, 99, 100, 65_535, 999_999_999_999_999_999, 1_000_000_000_000_000_000, Int.max, -1, -10, Int.min,
    ])
    func writesDecimals(value: Int) {
        let buffer = ByteBuffer(capacity: 1)
        buffer.append(decimal: value)
        #expect(text(buffer) == "\(value)")
    }

    @Test func thePoolGivesTheLastBufferFirst() {
        let pool = BufferPool()
        let first = pool.take()
        first.append("left over")
        pool.give(first)
        let second = pool.take()
        #expect(first === second && second.isEmpty)
        second.reserve(BufferPool.bufferBytes + 1)
        pool.give(second)
        #expect(pool.take() !== second)
    }
}

@Suite struct TimerQueuesTests {
    private let limits = ServerLimits(headSeconds: 1, bodySeconds: 2, idleSeconds: 3, writeSeconds: 4, lingerSeconds: 5)
    private func at(_ seconds: Int) -> MonotonicNanos { MonotonicNanos(value: 1_000).adding(seconds: seconds) }

    @Test func expireInTheirOrder() {
        var timers = TimerQueues(limits)
        #expect(timers.nextDeadline == nil)
        timers.set(.idle, for: 7, now: at(0))
        timers.set(.head, for: 3, now: at(0))
        timers.set(.head, for: 4, now: at(1))
        timers.set(.linger, for: 0, now: at(0))
        #expect(timers.nextDeadline == at(1))
        #expect(timers.popExpired(now: MonotonicNanos(value: at(1).value - 1)) == nil)
        #expect(timers.popExpired(now: at(1))?.slot == 3)
        #expect(timers.limit(of: 3) == nil)
        #expect(timers.popExpired(now: at(1)) == nil)
        #expect(timers.nextDeadline == at(2))
        var slots: [UInt32] = []
        while let expired = timers.popExpired(now: at(9)) { slots.append(expired.slot) }
        #expect(Set(slots) == [4, 7, 0])
        #expect(timers.nextDeadline == nil)
    }

    @Test func aSlotHasOneLimit() {
        var timers = TimerQueues(limits)
        timers.set(.head, for: 1, now: at(0))
        timers.set(.body, for: 1, now: at(0))
        #expect(timers.limit(of: 1) == .body)
        #expect(timers.nextDeadline == at(2))
        timers.set(.body, for: 1, now: at(1))
        #expect(timers.nextDeadline == at(3))
        timers.clear(1)
        timers.clear(1)
        timers.clear(99)
        #expect(timers.nextDeadline == nil && timers.limit(of: 99) == nil)
    }

    /// Random moves against the plain way of doing it.
    @Test func agreesWithAPlainList() {
        var timers = TimerQueues(limits)
        var plain: [UInt32: (TimeLimit, MonotonicNanos)] = [:]
        let seconds: [TimeLimit: Int] = [.head: 1, .body: 2, .idle: 3, .write: 4, .linger: 5]
        var state: UInt64 = 42
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
        for step in 0..<5_000 {
            let slot = UInt32(random(20))
            switch random(3) {
            case 0:
                timers.clear(slot)
                plain[slot] = nil
            case 1:
                let limit = TimeLimit.allCases[random(5)]
                timers.set(limit, for: slot, now: at(step))
                plain[slot] = (limit, at(step).adding(seconds: seconds[limit]!))
            default:
                while let (slot, limit) = timers.popExpired(now: at(step)) {
                    #expect(plain[slot]?.0 == limit && plain[slot]!.1 <= at(step))
                    plain[slot] = nil
                }
                #expect(plain.values.allSatisfy { $0.1 > at(step) })
            }
            #expect(timers.nextDeadline == plain.values.map(\.1).min())
        }
    }
}

@Suite struct ListenAddressTests {
    @Test(arguments: [
        ("127.0.0.1:8080", "127.0.0.1", 8080, "127.0.0.1:8080"), ("0.0.0.0:0", "0.0.0.0", 0, "0.0.0.0:0"),
        ("[::1]:8080", "::1", 8080, "[::1]:8080"), ("[0:0:0:0:0:0:0:1]:65535", "::1", 65_535, "[::1]:65535"),
        ("[::]:080", "::", 80, "[::]:80"),
    ])
    func reads(text: String, host: String, port: Int, description: String) throws {
        let address = try ListenAddress(text)
        #expect(address.host == host && address.port == port && address.description == description)
        #expect(try ListenAddress(address.description) == address)
    }

    @Test(arguments: [
        "", ":", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1",
        "127.0.0.1: 80", "127.0.0.1:8O", "127.0.0.1:000080", "localhost:80", "::1:80", "[::1]", "[::1:80",
        "[127.0.0.1]:80",
        "127.1:80", "127.0.0.1\0:80", "[fe80::1%lo]:80", "127.0.0.1:８０",
    ])
    func refuses(text: String) {
        #expect(throws: ServerError.malformedAddress(text)) { try ListenAddress(text) }
    }
}

@Suite struct ByteSetTests {
    private static let alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

    @Test func holdsWhatTheStandardsSay() {
        let expected: [(ByteSet, String)] = [
            (.token, "!#$%&'*+-.^_`|~" + Self.alphanumeric), (.target, "-._~!$&'()*+,;=:@/?%" + Self.alphanumeric),
            (.host, "-._~!$&'()*+,;=%:[]" + Self.alphanumeric),
        ]
        for (set, text) in expected {
            for byte in UInt8.min...UInt8.max { #expect(set.contains(byte) == text.utf8.contains(byte), "\(byte)") }
        }
    }

    @Test func lowersLettersOnly() {
        for byte in UInt8.min...UInt8.max {
            let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            #expect(ASCII.lowercased(byte) == (isUpper ? byte + 32 : byte))
            #expect(ASCII.hexValue(byte) == Int(String(UnicodeScalar(byte)), radix: 16))
        }
    }
}

@Suite struct DateHeaderTests {
    @Test(arguments: [
        (784_111_777_000, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
        (1_798_761_600_999, "Date: Fri, 01 Jan 2027 00:00:00 GMT\r\n"),
    ])
    func writesTheFixedForm(unixMillis: Int64, line: String) {
        let date = DateHeader()
        let output = ByteBuffer(capacity: 8)
        date.rewrite(now: .now(), unixMillis: unixMillis)
        date.append(to: output)
        #expect(String(decoding: output.readable, as: UTF8.self) == line)
    }
}
