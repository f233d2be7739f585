@testable internal import HTTPServer

extension FuzzTarget {
    static let requests = [
        FuzzTarget(name: "requests", check: Requests.check),
        FuzzTarget(name: "chunks", check: Requests.checkChunks),
    ]
}

/// The bytes of a connection: what is read from them depends on the bytes alone, never on how they are cut.
private enum Requests {
    /// Small limits, so that short inputs reach them.
    private static let limits = ServerLimits(headBytesMax: 512, targetBytesMax: 128, headersMax: 8, bodyBytesMax: 256)

    private enum Reading: Equatable {
        case sendContinue
        case rejected(Rejection)
        case request(line: [UInt8], fields: [[UInt8]], body: [UInt8], keepsAlive: Bool, path: Range<Int>)
    }

    private static func readings(_ pieces: [ArraySlice<UInt8>]) -> [Reading] {
        var reader = RequestReader()
        var head = RequestHead()
        let input = ByteBuffer(capacity: 64)
        var readings: [Reading] = []
        for piece in pieces {
            piece.withUnsafeBytes { input.append($0) }
            reading: while !input.isEmpty {
                switch reader.advance(input, limits: limits, head: &head) {
                case .needMore: break reading
                case .sendContinue: readings.append(.sendContinue)
                case .reject(let rejection): return readings + [.rejected(rejection)]
                case .request(let layout):
                    let bytes = Array(input.readable)
                    require(layout.consumed > 0 && layout.consumed <= bytes.count, "a request lies in its bytes")
                    require(layout.body.upperBound <= layout.consumed, "content lies in its request")
                    let end = head.query.upperBound
                    readings.append(
                        .request(
                            line: Array(bytes[head.methodName] + [0] + bytes[head.path] + [0] + bytes[head.query]),
                            fields: head.fields.map { Array(bytes[$0.name] + [0x3A] + bytes[$0.value]) },
                            body: Array(bytes[layout.body]),
                            keepsAlive: head.keepsAlive,
                            path: end..<end
                        )
                    )
                    input.consume(layout.consumed)
                }
            }
        }
        return readings
    }

    /// An interim answer depends on whether the content was there already, and on nothing else.
    private static func final(_ readings: [Reading]) -> [Reading] { readings.filter { $0 != .sendContinue } }

    private static func compare(_ bytes: [UInt8], cut: Int) {
        let whole = final(readings([bytes[...]]))
        let pieces = final(readings([bytes[..<cut], bytes[cut...]]))
        require(whole == pieces, "one piece reads as two do: \(whole) and \(pieces)")
        if bytes.count <= 96 {
            let single = final(readings(bytes.indices.map { bytes[$0...$0] }))
            require(whole == single, "one piece reads as single bytes do: \(whole) and \(single)")
        }
        for case .request(_, let fields, let body, _, _) in whole {
            require(fields.count <= limits.headersMax && body.count <= limits.bodyBytesMax, "limits hold")
            for field in fields {
                require(!field.contains { $0 == 0 || $0 == 0x0D || $0 == 0x0A }, "no field holds the end of a line")
            }
        }
    }

    static let check: @Sendable ([UInt8]) -> Void = { input in
        guard let last = input.last else { return }
        let bytes = Array(input.dropLast())
        compare(bytes, cut: bytes.isEmpty ? 0 : Int(last) * bytes.count / 256)
    }

    private static let chunkedHead = Array("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)

    /// The rest of an input as chunks; and any content, put into chunks of any size, comes out as it was.
    static let checkChunks: @Sendable ([UInt8]) -> Void = { input in
        guard let first = input.first else { return }
        let rest = Array(input.dropFirst())
        let coded = chunkedHead + rest
        compare(coded, cut: chunkedHead.count + Int(first) * rest.count / 256)

        let content = Array(rest.prefix(limits.bodyBytesMax))
        guard content.count <= 64 else { return }
        var chunked = chunkedHead
        var left = content[...]
        var size = Int(first) % 17 + 1
        while !left.isEmpty {
            let piece = left.prefix(size)
            chunked += Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [0x0D, 0x0A]
            left = left.dropFirst(size)
            size = size % 17 + 1
        }
        chunked += Array("0\r\n\r\n".utf8)
        let readings = readings([chunked[..<(chunked.count / 2)], chunked[(chunked.count / 2)...]])
        guard case .request(_, _, let body, _, _) = readings.first, readings.count == 1 else {
            return require(false, "good chunks are read: \(readings)")
        }
        require(body == content, "content comes out of chunks as it went in")
    }
}
