internal import COpenSSL
internal import Platform
internal import Synchronization

/// The keys that seal session tickets: made by this process, never written down, and gone after two terms.
///
/// A ticket of the present term is taken and one of the term before as well; whoever gets hold of the memory later cannot
/// open what was recorded earlier. Shared by all loops, because a client comes back on any of them; the lock is taken once
/// a handshake.
final class TicketKeys: Sendable {
    /// How long a key seals. A ticket is of use for that long at least and for twice as long at most.
    static let termSeconds = 6 * 3600

    private struct State {
        var current: TicketKey
        var previous: TicketKey?
        var madeAt: MonotonicNanos
    }

    private let state: Mutex<State>

    /// Nil when the system gives no random bytes.
    init?(now: MonotonicNanos = .now()) {
        guard let key = TicketKey() else { return nil }
        state = Mutex(State(current: key, madeAt: now))
    }

    /// The key to seal with. Nil when a new one was due and could not be made.
    func sealing(now: MonotonicNanos = .now()) -> TicketKey? {
        state.withLock { state in
            guard Self.turn(&state, now) else { return nil }
            return state.current
        }
    }

    /// The key with this name, and whether it seals no more.
    func opening(_ name: UnsafeRawBufferPointer, now: MonotonicNanos = .now()) -> (key: TicketKey, isOld: Bool)? {
        state.withLock { state in
            guard Self.turn(&state, now) else { return nil }
            if unsafe state.current.isNamed(name) { return (state.current, false) }
            if let previous = state.previous, unsafe previous.isNamed(name) { return (previous, true) }
            return nil
        }
    }

    private static func turn(_ state: inout State, _ now: MonotonicNanos) -> Bool {
        guard now >= state.madeAt.adding(seconds: termSeconds) else { return true }
        guard let key = TicketKey() else { return false }
        // Nobody came for more than a term: the present key is as old as one before it would be.
        let isLongAgo = now >= state.madeAt.adding(seconds: 2 * termSeconds)
        state.previous = isLongAgo ? nil : state.current
        state.current = key
        state.madeAt = now
        return true
    }
}

/// One key for session tickets: a public name, a key of the cipher, and one of the code of authentication.
@safe
final class TicketKey: @unchecked Sendable {
    // Unchecked because of the pointer; the bytes are written in `init` and wiped in `deinit` only.
    static let nameBytes = 16
    static let partBytes = 32
    private static let bytesCount = nameBytes + 2 * partBytes

    private let bytes: UnsafeMutablePointer<UInt8>

    /// Random; nil when the system gives no random bytes.
    init?() {
        unsafe bytes = .allocate(capacity: Self.bytesCount)
        unsafe bytes.initialize(repeating: 0, count: Self.bytesCount)
        if unsafe RAND_bytes(bytes, Int32(Self.bytesCount)) != 1 { return nil }
    }

    deinit {
        unsafe OPENSSL_cleanse(bytes, Self.bytesCount)
        unsafe bytes.deallocate()
    }

    func isNamed(_ name: UnsafeRawBufferPointer) -> Bool {
        unsafe name.elementsEqual(UnsafeRawBufferPointer(start: bytes, count: Self.nameBytes))
    }

    func copyName(to target: UnsafeMutablePointer<UInt8>) {
        unsafe target.update(from: bytes, count: Self.nameBytes)
    }

    /// Gives OpenSSL the two keys for one ticket.
    func prepare(_ cipher: OpaquePointer, _ mac: OpaquePointer, _ vector: UnsafePointer<UInt8>, isSealing: Bool) -> Bool
    {
        let cipherKey = unsafe bytes + Self.nameBytes
        let macKey = unsafe cipherKey + Self.partBytes
        return unsafe copenssl_ticket_prepare(cipher, mac, cipherKey, macKey, vector, isSealing ? 1 : 0) == 1
    }
}
