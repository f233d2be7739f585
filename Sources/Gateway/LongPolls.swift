internal import Entitlements
internal import HTTPServer
internal import Platform
internal import Storage

/// One reader that waits for its answer to change.
struct LongPoll {
    var ticket: ReplyTicket
    var question: AnswerQuestion
    /// The user in the kept form.
    var lookup: [UInt8]
    var after: Int64
    /// The question names its own moment, so the clock does not change the answer.
    var isAt: Bool
    /// What the answer was when the wait began.
    var first: AnswerSummary
    /// When the wait is over.
    var deadline = MonotonicNanos(value: 0)
    /// When to look again, because the clock may have changed the answer.
    var wakeAt = MonotonicNanos(value: 0)
}

/// The readers of one loop that wait. Found by user when a row changes, and by time.
struct LongPolls {
    private var polls: [ReplyTicket: LongPoll] = [:]
    private var byUser: [[UInt8]: Set<ReplyTicket>] = [:]
    private(set) var nextDeadline: MonotonicNanos?

    mutating func add(_ poll: LongPoll, wait seconds: Int64, clock: UnixMillis, at now: MonotonicNanos) {
        var poll = poll
        poll.deadline = now.adding(seconds: Int(seconds))
        poll.wakeAt = poll.deadline
        if !poll.isAt, let change = poll.first.changesAt {
            // One millisecond more than the difference: the change has come when the timer has.
            let millis = min(change.value - clock.value, seconds * 1000) + 1
            poll.wakeAt = min(poll.deadline, now.adding(milliseconds: Int(max(millis, 1))))
        }
        polls[poll.ticket] = poll
        byUser[poll.lookup, default: []].insert(poll.ticket)
        nextDeadline = min(nextDeadline ?? poll.wakeAt, poll.wakeAt)
    }

    mutating func remove(_ ticket: ReplyTicket) {
        guard let poll = polls.removeValue(forKey: ticket) else { return }
        byUser[poll.lookup]?.remove(ticket)
        if byUser[poll.lookup]?.isEmpty == true { byUser[poll.lookup] = nil }
        nextDeadline = polls.values.map(\.wakeAt).min()
    }

    func isWaiting(_ ticket: ReplyTicket) -> Bool { polls[ticket] != nil }

    subscript(_ ticket: ReplyTicket) -> LongPoll? { polls[ticket] }

    func waiting(for user: [UInt8]) -> [LongPoll] {
        byUser[user]?.compactMap { polls[$0] } ?? []
    }

    var all: [LongPoll] { Array(polls.values) }

    func due(_ now: MonotonicNanos) -> [LongPoll] {
        polls.values.filter { $0.wakeAt <= now }
    }

    /// Looks again at this moment.
    mutating func postpone(_ ticket: ReplyTicket, to moment: MonotonicNanos) {
        polls[ticket]?.wakeAt = moment
        nextDeadline = polls.values.map(\.wakeAt).min()
    }
}

extension GatewayHandler {
    /// Rows were written: who waits for one of them is answered when its version is greater than the one known.
    func rowsChanged(_ rows: [ChangedRow], _ replies: Replies<GatewayHandler>) {
        guard polls.nextDeadline != nil else { return }
        for row in rows {
            for poll in polls.waiting(for: Array(row.user.value.utf8)) { look(poll, isOver: false, replies) }
        }
    }

    func pollsDue(_ moment: MonotonicNanos, _ replies: Replies<GatewayHandler>) {
        for poll in polls.due(moment) { look(poll, isOver: moment >= poll.deadline, replies) }
    }

    /// Answers everyone who waits with what is known now.
    func endPolls(_ replies: Replies<GatewayHandler>) {
        for poll in polls.all { look(poll, isOver: true, replies) }
    }

    func look(_ poll: LongPoll, isOver: Bool, _ replies: Replies<GatewayHandler>) {
        if readsElsewhere, reads.fetched.isEmpty, look(later: poll, isOver: isOver) {
            // Until the row is there.
            polls.postpone(poll.ticket, to: .now().adding(seconds: 1))
            return
        }
        question = poll.question
        lookup = poll.lookup
        let clock = now
        if !poll.isAt { question.moment = clock }
        do throws(StorageError) {
            let summary = try encodeAnswer(clock)
            let hasChanged =
                summary.version > poll.after || summary.isEntitled != poll.first.isEntitled
                || summary.status != poll.first.status
            guard hasChanged || isOver else {
                var next = poll.deadline
                if !poll.isAt, let change = summary.changesAt {
                    // A little more than the difference: the change has come when the timer has.
                    let millis = min(max(change.value - clock.value + 1, 5), Self.waitSecondsMax * 1000)
                    next = min(next, MonotonicNanos.now().adding(milliseconds: Int(millis)))
                }
                polls.postpone(poll.ticket, to: next)
                return
            }
            polls.remove(poll.ticket)
            reply(to: poll.ticket, replies) { response in unsafe writeAnswer(summary, nil, &response) }
        } catch {
            polls.remove(poll.ticket)
            reply(to: poll.ticket, replies) { response in
                write(.unavailable("the database cannot be read", retryAfter: 1), &response)
            }
        }
    }
}
