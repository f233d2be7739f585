internal import HTTPServer

/// Which web pages may read the answers of `/v1/me/…` and of the licence paths (Fetch standard, "CORS protocol").
extension GatewayHandler {
    /// Answers a page's question beforehand, and remembers for the answer which page asks.
    func crossOrigin(
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket,
        _ work: (inout Response) -> Disposition
    ) -> Disposition {
        access.origin = allowedOrigin(of: request)
        defer { access.origin = nil }
        if request.method == .options {
            response.start(204)
            if access.origin != nil {
                addOrigin(&response)
                response.header("Access-Control-Allow-Methods", "GET, POST, DELETE")
                response.header("Access-Control-Allow-Headers", "Authorization, Content-Type, If-None-Match")
                response.header("Access-Control-Max-Age", "600")
            }
            response.header("Allow", "GET, HEAD, POST, DELETE, OPTIONS")
            response.finish()
            return .done
        }
        let disposition = work(&response)
        if case .later = disposition, let origin = access.origin { access.origins[ticket] = origin }
        return disposition
    }

    private func allowedOrigin(of request: Request) -> [UInt8]? {
        let allowed = context.access.origins
        guard !allowed.isEmpty, let field = unsafe request.header("Origin") else { return nil }
        let origin = unsafe String(decoding: field, as: UTF8.self)
        if allowed.contains(origin.lowercased()) { return Array(origin.utf8) }
        return allowed.contains("*") ? [UInt8(ascii: "*")] : nil
    }

    /// To be called between `start` and `finish` of every answer that a page may read.
    func addOrigin(_ response: inout Response) {
        guard let origin = access.origin else { return }
        unsafe origin.withUnsafeBytes { unsafe response.header("Access-Control-Allow-Origin", bytes: $0) }
        response.header("Access-Control-Expose-Headers", "ETag, Retry-After")
        response.header("Vary", "Origin")
        // Pages that are named may send cookies; "every page" may not (the Fetch standard has the browser refuse it).
        if origin.count > 1 { response.header("Access-Control-Allow-Credentials", "true") }
    }
}
