internal import Foundation
internal import TestSupport

/// A seller's own system that is told of changed answers.
final class TestReceiver: Sendable {
    struct Delivery: Sendable {
        var headers: [String: String]
        var body: [UInt8]

        var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }
        var data: JSONValue { json["data"] ?? .null }
        var id: String { headers["webhook-id"] ?? "" }

        /// Whether one of the signatures is right, by code of the tests' own.
        func isSigned(by key: [UInt8]) -> Bool {
            let signed = Array("\(id).\(headers["webhook-timestamp"] ?? "").".utf8) + body
            let wanted = "v1," + Data(SHA256Digest.hmac(key: key, signed)).base64EncodedString()
            return (headers["webhook-signature"] ?? "").split(separator: " ").contains { $0 == wanted }
        }
    }

    static let key = Array("a notification key of the tests!".utf8)
    static let secret = "whsec_" + Data(key).base64EncodedString()

    private let results: SharedResults<Delivery>
    private let server: LoopbackServer

    /// - Parameter answer: The status for the delivery that is the nth, counted from 1; nil: no answer at all.
    init(_ answer: @escaping @Sendable (Int, Delivery) -> Int? = { _, _ in 204 }) throws {
        let results = SharedResults<Delivery>()
        self.results = results
        server = try LoopbackServer { peer in
            while let head = peer.readHead() {
                var headers: [String: String] = [:]
                for line in head.components(separatedBy: "\r\n").dropFirst() {
                    guard let colon = line.firstIndex(of: ":") else { continue }
                    headers[line[..<colon].lowercased()] =
                        line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
                }
                if headers["expect"] == "100-continue" { peer.write("HTTP/1.1 100 Continue\r\n\r\n") }
                guard let body = peer.read(count: Int(headers["content-length"] ?? "") ?? 0) else { return }
                let delivery = Delivery(headers: headers, body: body)
                results.add(.success(delivery))
                guard let status = answer(results.count, delivery) else {
                    Thread.sleep(forTimeInterval: 60)
                    return
                }
                let location = status / 100 == 3 ? "Location: http://127.0.0.1:1/\r\n" : ""
                peer.write("HTTP/1.1 \(status) X\r\n\(location)Content-Length: 0\r\n\r\n")
            }
        }
    }

    var port: UInt16 { server.port }
    var count: Int { results.count }
    var url: String { "http://127.0.0.1:\(port)/hooks" }
    var config: String { Self.config([url]) }

    static func config(_ urls: [String], more: String = "") -> String {
        let list = urls.map { "{\"url\": \"\($0)\", \"secret_env\": \"NOTIFY_SECRET\"}" }.joined(separator: ",")
        return "{\"notify\": [\(list)]\(more)}"
    }

    /// Waits until there are so many deliveries, and gives them in the order in which they came.
    func deliveries(_ count: Int, seconds: Double = 20) throws -> [Delivery] {
        try results.all(count, seconds: seconds)
    }
}
