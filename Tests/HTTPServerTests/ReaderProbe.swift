@testable import HTTPServer

/// What a connection's bytes mean, in order, as a value that can be compared.
enum Reading: Equatable {
    case request(ReadRequest)
    case sendContinue
    case reject(Rejection)
}

struct ReadRequest: Equatable {
    var method: Method
    var name: String
    var path: String
    var query: String
    var fields: [String]
    var body: String
    var keepsAlive: Bool
    var isHTTP11: Bool
}

/// Feeds `pieces` one after the other to a reader, as a connection does, and gives everything it made of them.
func readings(of pieces: [[UInt8]], limits: ServerLimits = ServerLimits()) -> [Reading] {
    var reader = RequestReader()
    var head = RequestHead()
    let input = ByteBuffer(capacity: 16)
    var result: [Reading] = []
    for piece in pieces {
        piece.withUnsafeBytes { input.append($0) }
        advancing: while true {
            switch reader.advance(input, limits: limits, head: &head) {
            case .needMore:
                break advancing
            case .sendContinue:
                result.append(.sendContinue)
            case .reject(let rejection):
                return result + [.reject(rejection)]
            case .request(let layout):
                let bytes = Array(input.readable)
                func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
                result.append(
                    .request(
                        ReadRequest(
                            method: head.method,
                            name: text(head.methodName),
                            path: text(head.path),
                            query: text(head.query),
                            fields: head.fields.map { "\(text($0.name))=\(text($0.value))" },
                            body: text(layout.body),
                            keepsAlive: head.keepsAlive,
                            isHTTP11: head.isHTTP11
                        )
                    )
                )
                input.consume(layout.consumed)
            }
            if input.isEmpty { break }
        }
    }
    return result
}

func readings(of text: String, limits: ServerLimits = ServerLimits()) -> [Reading] {
    readings(of: [Array(text.utf8)], limits: limits)
}

/// Every way to cut `bytes` in two, and the cut into single bytes.
func cuts(of bytes: [UInt8]) -> [[[UInt8]]] {
    [bytes.map { [$0] }] + (0...bytes.count).map { [Array(bytes[..<$0]), Array(bytes[$0...])] }
}
