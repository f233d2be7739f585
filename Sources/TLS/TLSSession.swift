internal import COpenSSL
internal import CSystem
internal import Glibc

/// The server's side of TLS on one connection that never waits. Belongs to the loop of its connection.
///
/// The handshake goes on by itself with `receive` and `send`. Whoever watches the socket must try again whenever it becomes
/// readable *or* writable after `wouldBlock`: either may wait for the other.
@safe
public final class TLSSession {
    private let ssl: OpaquePointer
    /// Holds what the session's callbacks use.
    private let context: TLSContext
    private let descriptor: Int32
    private var hello = HelloGuard()
    private var verdict = HelloGuard.Verdict.fine
    /// OpenSSL must not be asked any more.
    private var isBroken = false
    /// The handshake never took place: bytes go as they are.
    private var isPlain = false
    private var isSendingEnded = false

    /// Takes over `ssl`.
    init?(_ ssl: OpaquePointer, descriptor: Int32, context: TLSContext) {
        unsafe self.ssl = ssl
        self.descriptor = descriptor
        self.context = context
        guard let method = unsafe SocketBIO.method, let bio = unsafe BIO_new(method) else { return nil }
        unsafe BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        unsafe BIO_set_init(bio, 1)
        unsafe SSL_set_bio(ssl, bio, bio)
        unsafe SSL_set_accept_state(ssl)
    }

    deinit {
        unsafe SSL_free(ssl)
    }

    /// Whether the handshake is done.
    public var isEstablished: Bool { unsafe SSL_is_init_finished(ssl) == 1 }

    /// Reads what the peer sent, in the clear.
    public func receive(into room: UnsafeMutableRawBufferPointer) -> TLSTransfer {
        guard let base = room.baseAddress, room.count > 0 else { return .wouldBlock }
        if isPlain || isSendingEnded {
            // Only thrown away from here on; not worth a decryption.
            let count = unsafe csystem_tcp_receive(descriptor, base, room.count)
            if count > 0 { return .bytes(Int(count)) }
            if count == 0 { return .ended }
            return count == -Int64(EAGAIN) ? .wouldBlock : .failed
        }
        if isBroken { return .failed }
        ERR_clear_error()
        var count = 0
        let result = unsafe SSL_read_ex(ssl, base, room.count, &count)
        return result == 1 ? .bytes(count) : outcome(of: result)
    }

    /// Encrypts and sends. After `wouldBlock` the same bytes, or the same and more, must be given again.
    public func send(_ bytes: UnsafeRawBufferPointer) -> TLSTransfer {
        guard let base = bytes.baseAddress, bytes.count > 0 else { return .wouldBlock }
        if isPlain {
            let count = unsafe csystem_tcp_send(descriptor, base, bytes.count)
            if count > 0 { return .bytes(Int(count)) }
            return count == 0 || count == -Int64(EAGAIN) ? .wouldBlock : .failed
        }
        if isBroken || isSendingEnded { return .failed }
        ERR_clear_error()
        var count = 0
        let result = unsafe SSL_write_ex(ssl, base, bytes.count, &count)
        return result == 1 ? .bytes(count) : outcome(of: result)
    }

    /// Tells the peer that nothing more comes (close_notify), if a handshake was done. Does not wait for its answer.
    public func endSending() {
        if isSendingEnded { return }
        isSendingEnded = true
        guard !isBroken, isEstablished else { return }
        ERR_clear_error()
        _ = unsafe SSL_shutdown(ssl)
    }

    private func outcome(of result: Int32) -> TLSTransfer {
        let error = unsafe SSL_get_error(ssl, result)
        if verdict != .fine {
            isBroken = true
            isPlain = true
            return .refused(isPlainText: verdict == .plainText)
        }
        switch error {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
            return .wouldBlock
        case SSL_ERROR_ZERO_RETURN:
            return .ended
        case SSL_ERROR_SSL where !isEstablished:
            // The alert that says why is on its way.
            isBroken = true
            isSendingEnded = true
            return .refused(isPlainText: false)
        default:
            isBroken = true
            return .failed
        }
    }

    // MARK: - OpenSSL's side of the socket

    fileprivate func read(_ bytes: UnsafeMutablePointer<CChar>, _ capacity: Int) -> Int64 {
        guard verdict == .fine else { return -Int64(EPROTO) }
        let count = unsafe csystem_tcp_receive(descriptor, bytes, capacity)
        if count > 0, !hello.isOver {
            verdict = unsafe hello.take(
                UnsafeRawBufferPointer(start: bytes, count: Int(count)),
                endsAtCipherChange: SSL_version(ssl) == TLS1_2_VERSION
            )
            if verdict != .fine { return -Int64(EPROTO) }
        }
        return count
    }

    fileprivate func write(_ bytes: UnsafePointer<CChar>, _ count: Int) -> Int64 {
        unsafe csystem_tcp_send(descriptor, bytes, count)
    }
}

/// A BIO that reads and writes a session's socket. OpenSSL's own would raise SIGPIPE, and shows nobody what comes in.
private enum SocketBIO {
    // Made once and never changed; OpenSSL only reads it.
    nonisolated(unsafe) static let method: OpaquePointer? = {
        let kind = Int32(BIO_TYPE_SOURCE_SINK) | BIO_get_new_index()
        guard let method = unsafe BIO_meth_new(kind, "gateway socket") else { return nil }
        unsafe BIO_meth_set_read_ex(method) { bio, bytes, capacity, count in
            guard let bio = unsafe bio, let bytes = unsafe bytes, let count = unsafe count,
                let session = unsafe session(of: bio)
            else { return 0 }
            unsafe copenssl_bio_clear_retry(bio)
            let result = unsafe session.read(bytes, capacity)
            if result == -Int64(EAGAIN) { unsafe copenssl_bio_retry_read(bio) }
            guard result > 0 else { return 0 }
            unsafe count.pointee = Int(result)
            return 1
        }
        unsafe BIO_meth_set_write_ex(method) { bio, bytes, wanted, count in
            guard let bio = unsafe bio, let bytes = unsafe bytes, let count = unsafe count,
                let session = unsafe session(of: bio)
            else { return 0 }
            unsafe copenssl_bio_clear_retry(bio)
            let result = unsafe session.write(bytes, wanted)
            if result == -Int64(EAGAIN) { unsafe copenssl_bio_retry_write(bio) }
            guard result > 0 else { return 0 }
            unsafe count.pointee = Int(result)
            return 1
        }
        // Nothing is kept back here, so a flush is done at once; all other questions are answered no.
        unsafe BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        return unsafe method
    }()

    private static func session(of bio: OpaquePointer) -> TLSSession? {
        guard let owner = unsafe BIO_get_data(bio) else { return nil }
        return unsafe Unmanaged<TLSSession>.fromOpaque(owner).takeUnretainedValue()
    }
}
