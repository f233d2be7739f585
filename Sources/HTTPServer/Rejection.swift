/// Why the server itself answers a request, without asking the handler. The connection is closed afterwards.
enum Rejection: UInt8, Error, CaseIterable {
    case malformedRequestLine, malformedTarget, malformedField, bareControl, foldedField
    case missingHost, ambiguousHost, malformedHost
    case malformedLength, repeatedLength, lengthAndCoding
    case malformedCoding, codingInOldVersion, unknownCoding
    case malformedChunk, malformedTrailer
    case unsupportedVersion, unknownExpectation
    case targetTooLong, headTooLarge, tooManyFields, bodyTooLarge
    case headTimeout, bodyTimeout
    case handlerFailed, tooManyConnections, tooMuchBuffered
    case plainText

    /// The status code (RFC 9110 §15).
    var status: Int {
        switch self {
        case .malformedRequestLine, .malformedTarget, .malformedField, .bareControl, .foldedField, .missingHost,
            .ambiguousHost, .malformedHost, .malformedLength, .repeatedLength, .lengthAndCoding, .malformedCoding,
            .codingInOldVersion, .malformedChunk, .malformedTrailer, .plainText:
            400
        case .headTimeout, .bodyTimeout: 408
        case .bodyTooLarge: 413
        case .targetTooLong: 414
        case .unknownExpectation: 417
        case .headTooLarge, .tooManyFields: 431
        case .handlerFailed: 500
        case .unknownCoding: 501
        case .tooManyConnections, .tooMuchBuffered: 503
        case .unsupportedVersion: 505
        }
    }

    /// The stable word for programs.
    var code: StaticString {
        switch status {
        case 408: "request_timeout"
        case 413: "payload_too_large"
        case 414: "uri_too_long"
        case 417: "expectation_failed"
        case 431: "headers_too_large"
        case 500: "internal_error"
        case 501: "not_implemented"
        case 503: "overloaded"
        case 505: "http_version_not_supported"
        default: "bad_request"
        }
    }

    /// The sentence for people. Never a byte of the request.
    var detail: StaticString {
        switch self {
        case .malformedRequestLine: "The request line is not method, target and version with one space between."
        case .malformedTarget: "The request target has a byte that must be percent-encoded, or a form not served here."
        case .malformedField: "A header field has an empty or illegal name, or a control byte in its value."
        case .bareControl: "A line of the head does not end in CRLF, or has a CR inside."
        case .foldedField: "A header field is folded over several lines."
        case .missingHost: "HTTP/1.1 requires a Host header field."
        case .ambiguousHost: "There is more than one Host header field."
        case .malformedHost: "The Host header field is no host and port."
        case .malformedLength: "Content-Length is not one decimal number."
        case .repeatedLength: "There is more than one Content-Length header field."
        case .lengthAndCoding: "Content-Length and Transfer-Encoding exclude each other."
        case .malformedCoding: "Transfer-Encoding is malformed, or chunked is not its last coding."
        case .codingInOldVersion: "HTTP/1.0 has no Transfer-Encoding."
        case .unknownCoding: "The only transfer coding understood here is chunked."
        case .malformedChunk: "The chunked content is malformed."
        case .malformedTrailer: "The trailer section is malformed or too large."
        case .unsupportedVersion: "HTTP/1.1 and HTTP/1.0 are spoken here."
        case .unknownExpectation: "The only expectation understood here is 100-continue."
        case .targetTooLong: "The request target is too long."
        case .headTooLarge: "The header fields are too large."
        case .tooManyFields: "There are too many header fields."
        case .bodyTooLarge: "The content is larger than is accepted here."
        case .headTimeout: "The head of the request did not come in time."
        case .bodyTimeout: "The content of the request did not come in time."
        case .tooManyConnections: "There are too many connections; try again soon."
        case .tooMuchBuffered: "Too much is being sent here at once; try again soon."
        case .handlerFailed: "The request could not be answered."
        case .plainText: "This port speaks HTTPS: the address begins with https://."
        }
    }

    /// Writes the whole answer: problem details (RFC 9457), and the end of the connection.
    func write(into response: inout Response, scratch: ByteBuffer) {
        scratch.removeAll()
        scratch.append("{\"type\":\"about:blank\",\"title\":\"")
        scratch.append(StatusLine.reason(of: status))
        scratch.append("\",\"status\":")
        scratch.append(decimal: status)
        scratch.append(",\"detail\":\"")
        scratch.append(detail)
        scratch.append("\",\"code\":\"")
        scratch.append(code)
        scratch.append("\"}")
        response.start(status)
        response.header("Content-Type", "application/problem+json")
        if status == 503 { response.header("Retry-After", integer: 1) }
        response.closeAfterwards()
        unsafe response.finish(body: scratch.readable)
    }
}
