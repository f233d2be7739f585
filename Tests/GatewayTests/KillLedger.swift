internal import Glibc
internal import Synchronization
internal import TestSupport

/// One delivery of the kill test, and what became of it.
struct LedgerEntry: Sendable {
    var event: RevenueCatEvent
    var isShared: Bool
    /// Nil while nobody has answered.
    var outcome: String?
    /// It has gone out at least once.
    var isSent = false
}

/// What is sent under load, and the moment at which the gateway is killed.
///
/// The moment is the answer with a random number: a client that has just been told 200 is the one that would lose most by
/// a program that answers too soon. It waits for an answer at which enough others are in flight.
final class KillSwitch: Sendable {
    private struct State {
        var inFlight = 0
        var answersLeft: Int
        /// Deliveries without an answer when the signal was sent; nil before.
        var atKill: Int?
    }

    static let inFlightMin = 20

    private let process: Int32
    private let state: Mutex<State>

    init(process: Int32, afterAnswers count: Int) {
        self.process = process
        state = Mutex(State(answersLeft: count))
    }

    var inFlightAtKill: Int? { state.withLock(\.atKill) }

    func willSend() {
        state.withLock { $0.inFlight += 1 }
    }

    func wasAnswered() {
        state.withLock { state in
            state.inFlight -= 1
            state.answersLeft -= 1
            guard state.answersLeft <= 0, state.atKill == nil, state.inFlight >= Self.inFlightMin else { return }
            // The whole group: the process is its leader.
            _ = kill(-process, SIGKILL)
            state.atKill = state.inFlight
        }
    }
}

/// What the row of a user must say, by what was sent.
struct ExpectedRow {
    /// Ends of what was answered 200, and of everything that has gone out.
    var answered: [Int64] = []
    var sent: [Int64] = []
}

extension [LedgerEntry] {
    /// By user. The newest period of the one purchase a user has is also the one that ends last.
    var expectedRows: [String: ExpectedRow] {
        var rows: [String: ExpectedRow] = [:]
        for entry in self where entry.isSent {
            rows[entry.event.user, default: ExpectedRow()].sent.append(entry.event.end)
            if entry.outcome != nil { rows[entry.event.user, default: ExpectedRow()].answered.append(entry.event.end) }
        }
        return rows
    }
}
