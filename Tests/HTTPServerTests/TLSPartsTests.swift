import Platform
import TestSupport
import Testing

@testable import TLS

/// The parts of TLS that are values, and the files it is made of.
@Suite struct TLSPartsTests {
    private func verdict(_ bytes: [UInt8], pieces: Int, endsAtCipherChange: Bool = false) -> HelloGuard.Verdict {
        var hello = HelloGuard()
        var start = 0
        while start < bytes.count {
            let end = min(start + pieces, bytes.count)
            let verdict = Array(bytes[start..<end]).withUnsafeBytes {
                hello.take($0, endsAtCipherChange: endsAtCipherChange)
            }
            if verdict != .fine { return verdict }
            start = end
        }
        return .fine
    }

    private static func message(_ length: Int, type: UInt8 = 1) -> [UInt8] {
        [type, UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF)]
    }

    private static func record(_ body: [UInt8], type: UInt8 = 22) -> [UInt8] {
        [type, 3, 1, UInt8(body.count >> 8), UInt8(body.count & 0xFF)] + body
    }

    @Test(arguments: 1...11)
    func theGuardKnowsAGreeting(pieces: Int) throws {
        #expect(verdict(try ClientTLS.greeting(), pieces: pieces) == .fine)
        let large = Self.message(HelloGuard.helloBytesMax)
        let tooLarge = Self.message(HelloGuard.helloBytesMax + 1)
        #expect(verdict(Self.record(large), pieces: pieces) == .fine)
        #expect(verdict(Self.record(tooLarge), pieces: pieces) == .refused)
        // The header of the message cut over two records, and after a first greeting.
        let cut = Self.record(Array(tooLarge[..<2])) + Self.record(Array(tooLarge[2...]))
        #expect(verdict(cut, pieces: pieces) == .refused)
        let first = Self.record(Self.message(3) + [1, 2, 3])
        let change = Self.record([1], type: 20)
        #expect(verdict(first + change + Self.record(tooLarge), pieces: pieces) == .refused)
        #expect(verdict(first + Self.record([0], type: 23) + Self.record(tooLarge), pieces: pieces) == .fine)
        // What follows the change of ciphers in 1.2 is encrypted and may look like anything.
        let all = first + change + Self.record(tooLarge)
        #expect(verdict(all, pieces: pieces, endsAtCipherChange: true) == .fine)
        #expect(verdict(Self.record(Self.message(100_000, type: 16)), pieces: pieces) == .fine)
        #expect(verdict(Array("POST / HTTP/1.1".utf8), pieces: pieces) == .plainText)
        #expect(verdict([0x80, 0x2E, 1], pieces: pieces) == .refused)
    }

    @Test func ticketKeysTurnAndEnd() throws {
        let start = MonotonicNanos.now()
        let keys = try #require(TicketKeys(now: start))
        let first = try #require(keys.sealing(now: start))
        var name = [UInt8](repeating: 0, count: TicketKey.nameBytes)
        first.copyName(to: &name)
        func opening(_ seconds: Int) -> Bool? {
            name.withUnsafeBytes { keys.opening($0, now: start.adding(seconds: seconds))?.isOld }
        }
        #expect(opening(TicketKeys.termSeconds - 1) == false)
        #expect(opening(TicketKeys.termSeconds) == true)
        #expect(keys.sealing(now: start.adding(seconds: TicketKeys.termSeconds)) !== first)
        #expect(opening(2 * TicketKeys.termSeconds - 1) == true)
        #expect(opening(2 * TicketKeys.termSeconds) == nil)
    }

    @Test func aLongSilenceEndsBothKeys() throws {
        let start = MonotonicNanos.now()
        let keys = try #require(TicketKeys(now: start))
        var name = [UInt8](repeating: 0, count: TicketKey.nameBytes)
        try #require(keys.sealing(now: start)).copyName(to: &name)
        let late = start.adding(seconds: 3 * TicketKeys.termSeconds)
        #expect(name.withUnsafeBytes { keys.opening($0, now: late) } == nil)
    }
}
