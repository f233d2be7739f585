internal import CSystem
internal import Glibc
internal import TLS

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
    /// The peer does not speak TLS where that is spoken; one that speaks plain HTTP can still be answered. Only from
    /// `receive`.
    case refused(isPlainText: Bool)
}

/// The way bytes get from and to a client: every read, write and close of a connection goes through here.
///
/// Plain TCP, or TLS over it: everything above deals in bytes and in "not now" only.
struct Transport {
    let descriptor: Int32
    /// Nil for plain TCP.
    private let session: TLSSession?

    init(descriptor: Int32, session: TLSSession? = nil) {
        self.descriptor = descriptor
        self.session = session
    }

    /// Whether reading may wait for the socket to take bytes and the other way round, and a short read says nothing of what
    /// is still to be read.
    var isEncrypted: Bool { session != nil }

    func receive(into room: UnsafeMutableRawBufferPointer) -> TransferResult {
        if let session { return TransferResult(unsafe session.receive(into: room)) }
        guard let base = room.baseAddress, room.count > 0 else { return .wouldBlock }
        let count = unsafe csystem_tcp_receive(descriptor, base, room.count)
        if count > 0 { return .bytes(Int(count)) }
        if count == 0 { return .ended }
        return count == -Int64(EAGAIN) ? .wouldBlock : .failed
    }

    func send(_ bytes: UnsafeRawBufferPointer) -> TransferResult {
        if let session { return TransferResult(unsafe session.send(bytes)) }
        guard let base = bytes.baseAddress, bytes.count > 0 else { return .wouldBlock }
        let count = unsafe csystem_tcp_send(descriptor, base, bytes.count)
        if count > 0 { return .bytes(Int(count)) }
        return count == 0 || count == -Int64(EAGAIN) ? .wouldBlock : .failed
    }

    /// Tells the peer that nothing more will be sent.
    func endSending() {
        session?.endSending()
        _ = csystem_tcp_shutdown_writing(descriptor)
    }

    /// Closes; the kernel still delivers what was sent, unless bytes of the peer lie unread.
    func close() {
        session?.endSending()
        csystem_close(descriptor)
    }

    /// Closes with a reset; what the peer did not take is thrown away.
    func abort() {
        csystem_tcp_abort(descriptor)
    }
}

extension TransferResult {
    fileprivate init(_ transfer: TLSTransfer) {
        self =
            switch transfer {
            case .bytes(let count): .bytes(count)
            case .wouldBlock: .wouldBlock
            case .ended: .ended
            case .failed: .failed
            case .refused(let isPlainText): .refused(isPlainText: isPlainText)
            }
    }
}
