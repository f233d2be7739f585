internal import Platform
internal import Testing

@testable internal import Gateway

/// Where a request comes from, and when to make it wait.
@Suite("Client addresses")
struct ClientAddressTests {
    @Test(arguments: [
        ("10.1.2.3", "10.0.0.0/8", true), ("11.1.2.3", "10.0.0.0/8", false), ("127.0.0.1", "127.0.0.1", true),
        ("::ffff:127.0.0.1", "127.0.0.1", true), ("2001:db8::1", "2001:db8::/32", true), ("::1", "127.0.0.1", false),
        ("1.2.3.4", "0.0.0.0/0", true), ("10.128.0.0", "10.0.0.0/9", false), ("nobody", "0.0.0.0/0", false),
    ])
    func ranges(address: String, range: String, isInside: Bool) {
        #expect(AddressRange(range)?.contains(address) == isInside)
    }

    @Test(arguments: ["", "proxy", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "::/129", "10.0.0.0/x", "300.1.1.1"])
    func whatIsNoRange(text: String) {
        #expect(AddressRange(text) == nil)
    }

    @Test(
        "the last address that no trusted proxy has",
        arguments: [
            ("192.0.2.1", "198.51.100.1", "192.0.2.1"), ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
            ("10.0.0.1", "203.0.113.9, 198.51.100.1", "198.51.100.1"),
            ("10.0.0.1", "203.0.113.9, 198.51.100.1, 10.0.0.2", "198.51.100.1"),
            ("10.0.0.1", ",203.0.113.9,198.51.100.1", "198.51.100.1"), ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
            ("10.0.0.1", "", "10.0.0.1"),
            ("10.0.0.1", "unknown, 10.0.0.2", "10.0.0.2"), ("10.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"),
            ("10.0.0.1", "198.51.100.1:4711", "198.51.100.1"), ("10.0.0.1", "2001:db8::1", "2001:db8::1"),
        ]
    )
    func forwarded(peer: String, field: String, expected: String) {
        let trusted = [AddressRange("10.0.0.0/8")!]
        #expect(ClientAddress.client(peer: peer, forwarded: field, trusting: trusted) == expected)
    }

    @Test func oneCustomerOfAProviderIsCountedOnce() {
        #expect(ClientAddress.countedAs("2001:db8:1:2::1") == ClientAddress.countedAs("2001:db8:1:2:ffff::9"))
        #expect(ClientAddress.countedAs("2001:db8:1:2::1") != ClientAddress.countedAs("2001:db8:1:3::1"))
        #expect(ClientAddress.countedAs("192.0.2.1") != ClientAddress.countedAs("192.0.2.2"))
        #expect(ClientAddress.countedAs("::ffff:192.0.2.1") == ClientAddress.countedAs("192.0.2.1"))
    }

    @Test func soManyAtOnceAndThenOneForEachPause() {
        var limiter = GuessLimiter(atOnce: 3, secondsEach: 10)
        let start = MonotonicNanos(value: 1_000_000_000)
        for _ in 0..<3 {
            #expect(limiter.wait([1], now: start) == nil)
            limiter.count([1], now: start)
        }
        #expect(limiter.wait([1], now: start) == 10)
        #expect(limiter.wait([2], now: start) == nil)
        #expect(limiter.wait([1], now: start.adding(seconds: 5)) == 5)
        #expect(limiter.wait([1], now: start.adding(seconds: 11)) == nil)
        for _ in 0..<1000 { limiter.count([1], now: start) }
        // An hour of guessing shuts nobody out for a day.
        #expect(limiter.wait([1], now: start) ?? 0 <= 40)
        #expect(limiter.wait([1], now: start.adding(seconds: 41)) == nil)
    }

    @Test func manyAddressesAreForgottenBeforeAGuesser() {
        var limiter = GuessLimiter(atOnce: 3, secondsEach: 10)
        let now = MonotonicNanos(value: 1_000_000_000)
        for _ in 0..<10 { limiter.count([0xff], now: now) }
        for number in 0..<(GuessLimiter.entriesMax + 10) {
            limiter.count([UInt8(number & 255), UInt8(number >> 8 & 255)], now: now)
        }
        #expect(limiter.wait([0xff], now: now) != nil)
    }

    @Test(arguments: [
        ("session=abc", "abc"), ("a=b; session=abc; c=d", "abc"), ("session=\"abc\"", "abc"), ("xsession=abc", nil),
        ("session=", nil), ("", nil), ("session", nil), ("a=session=abc", nil), ("session=abc ", "abc"),
    ])
    func cookies(field: String, value: String?) {
        let bytes = Array(field.utf8)
        let found = bytes.withUnsafeBytes { bytes in
            GatewayHandler.cookie("session", in: bytes).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(found == value)
    }
}
