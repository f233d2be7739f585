internal import Foundation
internal import Synchronization

/// What came back from a request; written by the session's thread, read after it is done.
final class Exchange: Sendable {
    private struct State {
        var status: Int?
        var text = ""
        var reason = "no answer"
    }

    private let state = Mutex(State())

    func set(_ status: Int?, _ data: Data?, _ error: (any Error)?) {
        let text = data.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let reason = error.map { $0.localizedDescription } ?? "no answer"
        state.withLock { $0 = State(status: status, text: text, reason: reason) }
    }

    var status: Int? { state.withLock(\.status) }
    var text: String { state.withLock(\.text) }
    var reason: String { state.withLock(\.reason) }
}
