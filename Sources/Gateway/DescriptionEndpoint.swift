internal import HTTPServer

/// `GET /openapi.json`: the API in words that tools read. Open, for it says nothing about anybody.
extension GatewayHandler {
    func showDescription(_ request: Request, _ response: inout Response) -> Disposition {
        let file = APIDescription.embedded
        unsafe file.tag.withUnsafeBytes { tag in
            let isKnown = unsafe request.header("If-None-Match").map { unsafe Self.matches($0, tag) } ?? false
            response.start(isKnown ? 304 : 200)
            if !isKnown { response.header("Content-Type", "application/json") }
            unsafe response.header("ETag", bytes: tag)
            response.header("Cache-Control", "public, max-age=3600")
            response.header("Access-Control-Allow-Origin", "*")
            if isKnown {
                response.finish()
            } else {
                unsafe file.bytes.withUnsafeBytes { unsafe response.finish(body: $0) }
            }
        }
        return .done
    }
}
