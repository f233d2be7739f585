internal import COpenSSL
internal import Foundation
internal import Glibc

/// One connection with TLS to a gateway, as small as can be. For one thread.
final class EncryptedClient {
    private let descriptor: Int32
    private let context: OpaquePointer?
    private let ssl: OpaquePointer?

    init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        context = SSL_CTX_new(TLS_client_method())
        ssl = SSL_new(context)
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        SSL_set_fd(ssl, descriptor)
        guard result == 0, SSL_connect(ssl) == 1 else { throw GatewayTestError("no TLS connection") }
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
        close(descriptor)
    }

    /// Sends a GET and gives the first piece of the answer.
    func ask(_ target: String) throws -> String {
        let request = Array("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        var bytes = [UInt8](repeating: 0, count: 4_096)
        guard SSL_write(ssl, request, Int32(request.count)) == Int32(request.count) else {
            throw GatewayTestError("nothing could be sent")
        }
        let count = SSL_read(ssl, &bytes, Int32(bytes.count))
        guard count > 0 else { throw GatewayTestError("nothing was answered") }
        return String(decoding: bytes[..<Int(count)], as: UTF8.self)
    }
}
