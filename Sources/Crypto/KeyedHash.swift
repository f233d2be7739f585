/// SipHash-2-4 with 128 bits (Aumasson and Bernstein, "SipHash: a fast short-input PRF"): a hash whose results nobody can
/// steer or guess without the key. For tables in memory, never for what is stored or sent.
///
/// OpenSSL has it, too, and asks its allocator for each message; this runs for each read of the gate. A test compares both.
public struct KeyedHash: Sendable {
    /// 128 bits of a result.
    public struct Value: Sendable, Equatable {
        public let first: UInt64
        public let second: UInt64
    }

    private let key: (UInt64, UInt64)

    /// With a key that only this process knows.
    public init() {
        let bytes = RandomBytes.make(16)
        var words: (UInt64, UInt64) = (0, 0)
        for index in 0..<8 {
            words.0 = words.0 << 8 | UInt64(bytes[index])
            words.1 = words.1 << 8 | UInt64(bytes[index + 8])
        }
        key = words
    }

    init(key: (UInt64, UInt64)) {
        self.key = key
    }

    /// The hash of `bytes` with one byte before them, which tells messages of different kinds apart.
    public func hash(_ kind: UInt8, _ bytes: UnsafeRawBufferPointer) -> Value {
        var state = State(key)
        // The first byte shifts all others: a word is the rest of the last one and what is read now.
        var pending = UInt64(kind)
        var index = 0
        while index &+ 8 <= bytes.count {
            let word = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            state.take(pending | word << 8)
            pending = word >> 56
            index &+= 8
        }
        var filled: UInt64 = 8
        while index < bytes.count {
            pending |= unsafe UInt64(bytes[index]) << filled
            filled &+= 8
            index &+= 1
        }
        if filled == 64 {
            state.take(pending)
            pending = 0
        }
        return state.finish(pending | UInt64(truncatingIfNeeded: bytes.count &+ 1) << 56)
    }

    private struct State {
        private var v0, v1, v2, v3: UInt64

        @inline(__always)
        init(_ key: (UInt64, UInt64)) {
            v0 = key.0 ^ 0x736f_6d65_7073_6575
            v1 = key.1 ^ 0x646f_7261_6e64_6f6d ^ 0xee
            v2 = key.0 ^ 0x6c79_6765_6e65_7261
            v3 = key.1 ^ 0x7465_6462_7974_6573
        }

        @inline(__always)
        private static func rotate(_ value: UInt64, _ bits: UInt64) -> UInt64 {
            value &<< bits | value &>> (64 &- bits)
        }

        @inline(__always)
        private mutating func round() {
            v0 = v0 &+ v1
            v1 = Self.rotate(v1, 13) ^ v0
            v0 = Self.rotate(v0, 32)
            v2 = v2 &+ v3
            v3 = Self.rotate(v3, 16) ^ v2
            v0 = v0 &+ v3
            v3 = Self.rotate(v3, 21) ^ v0
            v2 = v2 &+ v1
            v1 = Self.rotate(v1, 17) ^ v2
            v2 = Self.rotate(v2, 32)
        }

        @inline(__always)
        mutating func take(_ word: UInt64) {
            v3 ^= word
            round()
            round()
            v0 ^= word
        }

        @inline(__always)
        mutating func finish(_ last: UInt64) -> Value {
            take(last)
            v2 ^= 0xee
            for _ in 0..<4 { round() }
            let first = v0 ^ v1 ^ v2 ^ v3
            v1 ^= 0xdd
            for _ in 0..<4 { round() }
            return Value(first: first, second: v0 ^ v1 ^ v2 ^ v3)
        }
    }
}
