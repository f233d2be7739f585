internal import CSystem
internal import Glibc

/// What became of an attempt to read or write without waiting.
enum TransferResult {
    /// So many bytes, at least one.
    case bytes(Int)
    /// Nothing now; the poller will tell.
    case wouldBlock
    /// The peer sends no more. Only from `receive`.
    case ended
    /// The connection is of no further use.
    case failed
}

/// The way bytes get from and to a client: every read, write and close of a connection goes through here.
///
/// Plain TCP. An encrypted transport becomes a second case beside the descriptor, with the same five verbs; everything
/// above deals in bytes and in "not now" only.
struct Transport {
    let descriptor: Int32

    func receive(into room: UnsafeMutableRawBufferPointer) -> TransferResult {
        guard let base = room.baseAddress, room.count > 0 else { return .wouldBlock }
        let count = unsafe csystem_tcp_receive(descriptor, base, room.count)
        if count > 0 { return .bytes(Int(count)) }
        if count == 0 { return .ended }
        return count == -Int64(EAGAIN) ? .wouldBlock : .failed
    }

    func send(_ bytes: UnsafeRawBufferPointer) -> TransferResult {
        guard let base = bytes.baseAddress, bytes.count > 0 else { return .wouldBlock }
        let count = unsafe csystem_tcp_send(descriptor, base, bytes.count)
        if count > 0 { return .bytes(Int(count)) }
        return count == 0 || count == -Int64(EAGAIN) ? .wouldBlock : .failed
    }

    /// Tells the peer that nothing more will be sent.
    func endSending() {
        _ = csystem_tcp_shutdown_writing(descriptor)
    }

    /// Closes; the kernel still delivers what was sent, unless bytes of the peer lie unread.
    func close() {
        csystem_close(descriptor)
    }

    /// Closes with a reset; what the peer did not take is thrown away.
    func abort() {
        csystem_tcp_abort(descriptor)
    }
}
