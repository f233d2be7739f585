internal import Foundation
internal import TestSupport

/// A provider's API on a loopback port: each path has an answer, which a test may change at any time.
final class FakeAPI: Sendable {
    enum Answer: Sendable {
        case body(Int, String, headers: [String] = [])
        /// Only the first half of what is promised comes.
        case halfBody(String)
        /// The answer comes after so many milliseconds.
        case late(Int, String)
        case silence
    }

    private let answers: Locked<[String: Answer]>
    private let seen = Locked<[String]>([])
    private let server: LoopbackServer

    /// - Parameter answers: By path, without the query.
    init(_ answers: [String: Answer]) throws {
        let answers = Locked(answers)
        let seen = self.seen
        self.answers = answers
        server = try LoopbackServer { peer in
            while let head = peer.readHead() {
                let target = head.split(separator: " ").dropFirst().first.map(String.init) ?? ""
                seen.with { $0.append(head) }
                let path = String(target.prefix { $0 != "?" })
                Self.play(answers.with { $0[path] } ?? .body(404, "{}"), peer)
            }
        }
    }

    var base: String { "http://127.0.0.1:\(server.port)" }
    /// The heads of all requests so far.
    var requests: [String] { seen.with { $0 } }

    func set(_ path: String, _ answer: Answer) {
        answers.with { $0[path] = answer }
    }

    func setAll(_ answer: Answer) {
        answers.with { all in for path in all.keys { all[path] = answer } }
    }

    static func play(_ answer: Answer, _ peer: LoopbackPeer) {
        switch answer {
        case .body(let status, let text, let headers): write(status, text, headers, peer)
        case .halfBody(let text):
            peer.write("HTTP/1.1 200 OK\r\nDate: \(date)\r\nContent-Length: \(text.utf8.count * 2)\r\n\r\n\(text)")
            peer.end()
        case .late(let millis, let text):
            usleep(UInt32(millis) * 1000)
            write(200, text, [], peer)
        case .silence: while peer.readHead() != nil {}
        }
    }

    private static func write(_ status: Int, _ text: String, _ headers: [String], _ peer: LoopbackPeer) {
        let fields = (["Date: \(date)", "Content-Length: \(text.utf8.count)"] + headers).joined(separator: "\r\n")
        peer.write("HTTP/1.1 \(status) X\r\n\(fields)\r\n\r\n\(text)")
    }

    private static var date: String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: Date())
    }
}
