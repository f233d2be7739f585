import COpenSSL
import Glibc

/// The client's side of TLS on a blocking socket.
final class ClientTLS {
    struct Settings {
        var versions = TLS1_2_VERSION...TLS1_3_VERSION
        var protocols = ["http/1.1"]
        /// What a former connection left to be resumed.
        var session: OpaquePointer?
    }

    enum Failure: Error, Equatable {
        /// The handshake ended with this alert, or with 0 when the connection ended instead.
        case handshake(alert: Int32)
        /// The connection ended without close_notify, or was damaged.
        case cutOff
    }

    private let context: OpaquePointer
    private let ssl: OpaquePointer

    init(descriptor: Int32, _ settings: Settings) throws {
        signal(SIGPIPE, SIG_IGN)
        (context, ssl) = try Self.make(settings)
        SSL_set_fd(ssl, descriptor)
    }

    deinit {
        // Else OpenSSL takes the session for one that went wrong, and never resumes it.
        SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        SSL_free(ssl)
        SSL_CTX_free(context)
    }

    private static func make(_ settings: Settings) throws -> (OpaquePointer, OpaquePointer) {
        guard let context = SSL_CTX_new(TLS_client_method()), let ssl = SSL_new(context) else {
            throw Failure.handshake(alert: 0)
        }
        SSL_ctrl(ssl, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(settings.versions.lowerBound), nil)
        SSL_ctrl(ssl, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(settings.versions.upperBound), nil)
        // Lets the client offer what the server must refuse.
        SSL_set_cipher_list(ssl, "ALL:@SECLEVEL=0")
        let names = settings.protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        if !names.isEmpty { SSL_set_alpn_protos(ssl, names, UInt32(names.count)) }
        if let session = settings.session { SSL_set_session(ssl, session) }
        return (context, ssl)
    }

    /// The first bytes of a client that would go on with a handshake.
    static func greeting() throws -> [UInt8] {
        let (context, ssl) = try make(Settings())
        defer {
            SSL_free(ssl)
            SSL_CTX_free(context)
        }
        guard let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem()) else {
            throw Failure.handshake(alert: 0)
        }
        SSL_set_bio(ssl, input, output)
        SSL_connect(ssl)
        var bytes = [UInt8](repeating: 0, count: 8_192)
        let count = BIO_read(output, &bytes, Int32(bytes.count))
        return Array(bytes[..<Int(count)])
    }

    func connect() throws {
        ERR_clear_error()
        guard SSL_connect(ssl) != 1 else { return }
        let reason = copenssl_tls_reason(ERR_peek_last_error())
        // Reasons from 1000 on are alerts of the peer (SSL_AD_REASON_OFFSET).
        throw Failure.handshake(alert: reason > 1_000 ? reason - 1_000 : 0)
    }

    var version: Int32 { SSL_version(ssl) }
    var cipher: String { SSL_CIPHER_get_name(SSL_get_current_cipher(ssl)).map { String(cString: $0) } ?? "" }
    var isResumed: Bool { SSL_session_reused(ssl) == 1 }
    /// To be resumed once; for the caller to free.
    var session: OpaquePointer? { SSL_get1_session(ssl) }
    var isRenegotiationRefused: Bool {
        ERR_clear_error()
        return SSL_renegotiate(ssl) != 1 || SSL_do_handshake(ssl) != 1
    }

    var chosenProtocol: String {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &count)
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    }

    /// The common name of the server's certificate.
    var serverName: String {
        guard let certificate = SSL_get1_peer_certificate(ssl) else { return "" }
        defer { X509_free(certificate) }
        var text = [CChar](repeating: 0, count: 256)
        X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, &text, Int32(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    func write(_ bytes: [UInt8]) -> Bool {
        ERR_clear_error()
        return bytes.isEmpty || SSL_write(ssl, bytes, Int32(bytes.count)) == Int32(bytes.count)
    }

    /// 0 only after the server said that it sends no more.
    func read(_ room: inout [UInt8]) throws -> Int {
        ERR_clear_error()
        let count = SSL_read(ssl, &room, Int32(room.count))
        if count > 0 { return Int(count) }
        if SSL_get_error(ssl, count) == SSL_ERROR_ZERO_RETURN { return 0 }
        throw Failure.cutOff
    }
}
