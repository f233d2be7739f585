internal import COpenSSL
internal import Glibc

/// A certificate with its key, and how TLS is spoken with them: 1.2 and 1.3 with forward secrecy only, `http/1.1` by ALPN,
/// no renegotiation, no compression, no early data.
///
/// Immutable once made, and shared by every loop. New files make a new context; connections keep the one they began with.
@safe
public final class TLSContext: @unchecked Sendable {
    // Unchecked because of the pointer: nothing is set after `init`, and OpenSSL counts and locks what sessions share.
    private let context: OpaquePointer
    private let tickets: TicketKeys
    /// Seconds until the certificate is no longer valid, when it was read; negative when it is not.
    public let secondsLeft: Int64

    /// Ciphers of 1.2: ephemeral keys and authenticated encryption only. Those of 1.3 are all so.
    private static let ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20"

    /// Reads the chain (the server's own certificate first) and the key, both in PEM form.
    ///
    /// - Throws: The file that cannot be used, why, and what to do.
    public init(certificate: String, key: String) throws(TLSError) {
        guard let context = unsafe SSL_CTX_new(TLS_server_method()), let tickets = TicketKeys() else {
            throw TLSError(
                part: .certificate,
                file: certificate,
                reason: "OpenSSL cannot start",
                hint: "see the system's log"
            )
        }
        unsafe self.context = context
        self.tickets = tickets
        do throws(TLSError) {
            unsafe try Self.read(certificate: certificate, into: context)
            unsafe try Self.read(key: key, into: context)
        } catch {
            unsafe SSL_CTX_free(context)
            throw error
        }
        secondsLeft = unsafe Self.secondsLeft(of: context)
        configure()
    }

    deinit {
        unsafe SSL_CTX_free(context)
    }

    /// The server's side of one connection; nil when there is no memory for it. Closing the descriptor stays the caller's.
    public func makeSession(descriptor: Int32) -> TLSSession? {
        guard let ssl = unsafe SSL_new(context) else { return nil }
        return unsafe TLSSession(ssl, descriptor: descriptor, context: self)
    }

    private func configure() {
        _ = unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        _ = unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_3_VERSION), nil)
        unsafe SSL_CTX_set_options(context, copenssl_tls_options())
        _ = unsafe SSL_CTX_set_cipher_list(context, Self.ciphers)
        // Output buffers move when they grow, and a connection that waits keeps no buffer of OpenSSL's.
        let mode = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS
        _ = unsafe SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(mode), nil)
        // One read of the socket fetches a record with its header.
        _ = unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_READ_AHEAD, 1, nil)
        // Tickets hold the session; the server keeps none.
        _ = unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
        unsafe SSL_CTX_set_timeout(context, TicketKeys.termSeconds)
        unsafe SSL_CTX_set_num_tickets(context, 1)
        unsafe SSL_CTX_set_alpn_select_cb(context, selectProtocol, nil)
        // The keys live as long as this object, and every session holds it.
        unsafe SSL_CTX_set_ex_data(context, 0, Unmanaged.passUnretained(tickets).toOpaque())
        _ = unsafe SSL_CTX_set_tlsext_ticket_key_evp_cb(context, prepareTicket)
    }

    // MARK: - The files

    private static func read(certificate path: String, into context: OpaquePointer) throws(TLSError) {
        let hint = "--tls-certificate names a PEM file: the server's certificate, then those between it and the root"
        if let reason = unreadable(path) { throw TLSError(part: .certificate, file: path, reason: reason, hint: hint) }
        ERR_clear_error()
        guard unsafe SSL_CTX_use_certificate_chain_file(context, path) != 1 else { return }
        // The first error is the cause, the last one says only where it was met.
        let error = ERR_peek_error()
        let isNoPEM = copenssl_tls_reason(error) == PEM_R_NO_START_LINE
        throw TLSError(
            part: .certificate,
            file: path,
            reason: isNoPEM ? "it holds no certificate in PEM form" : "OpenSSL refuses it: \(text(of: error))",
            hint: hint
        )
    }

    private static func read(key path: String, into context: OpaquePointer) throws(TLSError) {
        let hint = "--tls-key names a PEM file with the certificate's private key, not encrypted"
        if let reason = unreadable(path) { throw TLSError(part: .key, file: path, reason: reason, hint: hint) }
        var status = stat()
        // The group may read it: that is how a system hands one key to several services.
        guard unsafe stat(path, &status) == 0, status.st_mode & 0o007 == 0 else {
            throw TLSError(
                part: .key,
                file: path,
                reason: "everyone on this machine can read it",
                hint: "chmod 600 \(path), and a new key when strangers use this machine"
            )
        }
        ERR_clear_error()
        // Nobody is there to be asked for a password.
        unsafe SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in -1 }
        guard unsafe SSL_CTX_use_PrivateKey_file(context, path, SSL_FILETYPE_PEM) != 1 else { return }
        let error = ERR_peek_last_error()
        let reason =
            switch copenssl_tls_reason(error) {
            case X509_R_KEY_VALUES_MISMATCH, X509_R_KEY_TYPE_MISMATCH: "it is not the key of the certificate"
            default: "it holds no private key that can be used (\(text(of: error)))"
            }
        throw TLSError(part: .key, file: path, reason: reason, hint: hint)
    }

    private static func unreadable(_ path: String) -> String? {
        if unsafe access(path, R_OK) == 0 { return nil }
        return errno == ENOENT ? "no such file" : "it cannot be read: \(unsafe String(cString: strerror(errno)))"
    }

    private static func text(of error: UInt) -> String {
        guard let text = unsafe ERR_reason_error_string(error) else { return "no reason given" }
        return unsafe String(cString: text)
    }

    private static func secondsLeft(of context: OpaquePointer) -> Int64 {
        var (days, seconds): (Int32, Int32) = (0, 0)
        guard let certificate = unsafe SSL_CTX_get0_certificate(context),
            unsafe ASN1_TIME_diff(&days, &seconds, nil, X509_get0_notAfter(certificate)) == 1
        else { return 0 }
        return Int64(days) * 86_400 + Int64(seconds)
    }
}

/// Takes `http/1.1` out of what the client offers (RFC 7301 section 3.2); a client that offers other protocols only is told
/// so by an alert.
private func selectProtocol(
    _ ssl: OpaquePointer?,
    _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenCount: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?,
    _ offeredCount: UInt32,
    _ argument: UnsafeMutableRawPointer?
) -> Int32 {
    guard let chosen = unsafe chosen, let chosenCount = unsafe chosenCount, let offered = unsafe offered else {
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
    let wanted: StaticString = "http/1.1"
    let list = unsafe UnsafeBufferPointer(start: offered, count: Int(offeredCount))
    var index = 0
    while index < list.count {
        let count = Int(unsafe list[index])
        let (start, end) = (index + 1, index + 1 + count)
        guard end <= list.count else { break }
        let name = unsafe UnsafeBufferPointer(rebasing: list[start..<end])
        if unsafe name.elementsEqual(UnsafeBufferPointer(start: wanted.utf8Start, count: wanted.utf8CodeUnitCount)) {
            unsafe chosen.pointee = offered + start
            unsafe chosenCount.pointee = UInt8(count)
            return SSL_TLSEXT_ERR_OK
        }
        index = end
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}

/// Seals or opens one session ticket. 1: with this key; 2: with this key, and a new ticket is due; 0: no ticket.
private func prepareTicket(
    _ ssl: OpaquePointer?,
    _ name: UnsafeMutablePointer<UInt8>?,
    _ vector: UnsafeMutablePointer<UInt8>?,
    _ cipher: OpaquePointer?,
    _ mac: OpaquePointer?,
    _ isSealing: Int32
) -> Int32 {
    guard let ssl = unsafe ssl, let name = unsafe name, let vector = unsafe vector, let cipher = unsafe cipher,
        let mac = unsafe mac, let owner = unsafe SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), 0)
    else { return 0 }
    let keys = unsafe Unmanaged<TicketKeys>.fromOpaque(owner).takeUnretainedValue()
    if isSealing == 1 {
        guard let key = keys.sealing(), unsafe RAND_bytes(vector, 16) == 1 else { return 0 }
        unsafe key.copyName(to: name)
        return unsafe key.prepare(cipher, mac, vector, isSealing: true) ? 1 : 0
    }
    guard let (key, isOld) = unsafe keys.opening(UnsafeRawBufferPointer(start: name, count: TicketKey.nameBytes)),
        unsafe key.prepare(cipher, mac, vector, isSealing: false)
    else { return 0 }
    return isOld ? 2 : 1
}
