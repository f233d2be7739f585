internal import CEmbedded
internal import Crypto
internal import HTTPServer

/// `GET /admin`: the operators' page. It holds no data and is served without a key; what it shows it asks the API for, with
/// the key of whoever signs in.
extension GatewayHandler {
    func showPage(_ response: inout Response) -> Disposition {
        guard let page = OperatorPage.embedded else {
            write(.notFound, &response)
            return .done
        }
        response.start(200)
        response.header("Content-Type", "text/html; charset=utf-8")
        unsafe page.policy.withUnsafeBytes { unsafe response.header("Content-Security-Policy", bytes: $0) }
        response.header("X-Frame-Options", "DENY")
        response.header("X-Content-Type-Options", "nosniff")
        response.header("Referrer-Policy", "no-referrer")
        response.header("Cross-Origin-Opener-Policy", "same-origin")
        response.header("Cross-Origin-Resource-Policy", "same-origin")
        response.header("Cache-Control", "no-store")
        unsafe page.bytes.withUnsafeBytes { unsafe response.finish(body: $0) }
        return .done
    }
}

/// The page as it is sent, and what a browser may do with it: run its one script, use its one style, and ask this gateway.
struct OperatorPage: Sendable {
    let bytes: [UInt8]
    /// The value of `Content-Security-Policy`.
    let policy: [UInt8]

    private static let path = "Sources/Gateway/Admin/admin.html"

    /// The page inside the program; nil only in a program that was built without it.
    static let embedded: OperatorPage? = {
        for index in 0..<embedded_file_count() {
            // The path and the bytes are constants of the program.
            let file = unsafe embedded_file_at(index)
            guard unsafe String(cString: file.path) == path else { continue }
            return OperatorPage(unsafe [UInt8](UnsafeBufferPointer(start: file.bytes, count: file.size)))
        }
        return nil
    }()

    /// Nil when the page has no style or no script of its own.
    private init?(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let script = Self.digest("script", in: text), let style = Self.digest("style", in: text) else {
            return nil
        }
        self.bytes = bytes
        let directives = [
            "default-src 'none'", "script-src '\(script)'", "style-src '\(style)'", "connect-src 'self'",
            "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
            "require-trusted-types-for 'script'", "trusted-types 'none'",
        ]
        policy = Array(directives.joined(separator: "; ").utf8)
    }

    /// The digest of what stands in the element, as the policy names it.
    private static func digest(_ element: String, in text: String) -> String? {
        guard let start = text.firstRange(of: "<\(element)>"), let end = text.firstRange(of: "</\(element)>"),
            start.upperBound <= end.lowerBound
        else { return nil }
        return "sha256-" + Base64.encode(Digest.sha256(Array(text[start.upperBound..<end.lowerBound].utf8)))
    }
}
