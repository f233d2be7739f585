internal import Entitlements
internal import Foundation
internal import Platform
internal import SQLStorage
internal import Storage

/// What is said to the thread of a receiver.
enum NotificationMessage: Sendable {
    /// There may be new messages.
    case wake
    case answered(Int64, ReceiverAnswer)
    /// The result of an attempt is on the disk, or could not be written.
    case recorded(Int64, Bool)
    case stop
}

/// Tells one receiver what changed: takes what is due from the outbox, sends a few messages at a time, of each user one
/// after the other, and has the writer record what came of it. Lives on a thread of its own, so that a receiver that is
/// slow or gone is nobody else's matter.
final class NotificationWorker {
    /// Messages on their way to a receiver at once.
    static let inFlightMax = 4
    /// How long a receiver may take to answer.
    static let answerSeconds = 15.0
    /// Failures in a row after which the receiver itself is taken to be down: from then on one message at a time is tried.
    static let failuresMax = 5
    /// Longest time between two attempts at one message.
    static let retryMillisMax: Int64 = 3_600_000
    /// Longest time in which a receiver that is down is not tried at all.
    static let pauseMillisMax: Int64 = 60_000
    /// Other programs write to the outbox, too; new messages are looked for this often.
    private static let idleMillis: Int64 = 2000
    private static let stopSeconds = 2

    private struct Flight {
        var message: OutboxMessage
        var deadline: MonotonicNanos
        /// What came of it, until it is recorded.
        var report: OutboxReport?
    }

    private let receiver: NotifyReceiver
    private let store: any Store
    private let reader: any SQLReading
    private let mailbox: Mailbox<NotificationMessage>
    private let client = ReceiverClient()
    private var flights: [Int64: Flight] = [:]
    private var failuresInARow = 0
    private var pausedUntil = MonotonicNanos(value: 0)
    private var nextLook = MonotonicNanos(value: 0)
    private var stopDeadline: MonotonicNanos?
    private var json = JSONWriter()

    init(
        _ receiver: NotifyReceiver,
        _ store: any Store,
        _ mailbox: Mailbox<NotificationMessage>
    ) throws(StorageError) {
        self.receiver = receiver
        self.store = store
        self.mailbox = mailbox
        reader = try store.makeReader()
    }

    /// Works until it is told to stop; messages on their way get a moment to arrive.
    func run() {
        var messages = ContiguousArray<NotificationMessage>()
        while true {
            _ = mailbox.wait(milliseconds: waitMillis)
            mailbox.drain(into: &messages)
            for message in messages { take(message) }
            expire()
            if let stopDeadline {
                if flights.isEmpty || stopDeadline <= .now() { break }
            } else {
                look()
            }
        }
        client.close()
        mailbox.close()
    }

    private var waitMillis: Int {
        let now = MonotonicNanos.now()
        // Answers wake the thread by themselves; time-outs need no more than this precision.
        var until = now.adding(milliseconds: flights.isEmpty ? Int(Self.idleMillis) : 500)
        if stopDeadline == nil, flights.count < limit { until = min(until, max(nextLook, pausedUntil)) }
        return Int((until.nanoseconds(since: now) + 999_999) / 1_000_000)
    }

    /// One that is down is tried with one message.
    private var limit: Int { failuresInARow < Self.failuresMax ? Self.inFlightMax : 1 }

    private func take(_ message: NotificationMessage) {
        switch message {
        case .wake: nextLook = .now()
        case .answered(let sequence, let answer): finish(sequence, answer)
        case .recorded(let sequence, let isDone):
            if isDone {
                flights[sequence] = nil
                nextLook = .now()
            } else {
                flights[sequence]?.deadline = .now().adding(seconds: 1)
            }
        case .stop: stopDeadline = .now().adding(seconds: Self.stopSeconds)
        }
    }

    /// Tries again to record what could not be recorded; what takes too long is cut off by the client.
    private func expire() {
        let now = MonotonicNanos.now()
        for (sequence, flight) in flights where flight.deadline <= now {
            if flight.report != nil { record(sequence) }
        }
    }

    // MARK: - Sending

    private func look() {
        let now = MonotonicNanos.now()
        guard nextLook <= now, pausedUntil <= now else { return }
        guard flights.count < limit else { return }
        guard store.hasLease else {
            nextLook = now.adding(seconds: 1)
            return
        }
        let clock = UnixMillis(wallClockMillis())
        nextLook = now.adding(milliseconds: Int(Self.idleMillis))
        do throws(StorageError) {
            let due = try reader.dueMessages(for: receiver.id, upTo: clock, limit: Self.inFlightMax * 2)
            let busy = Set(flights.values.map(\.message.user))
            for message in due where !busy.contains(message.user) && flights[message.sequence] == nil {
                guard flights.count < limit else { break }
                try start(message, clock)
            }
            if let next = try reader.nextMessage(for: receiver.id), next > clock {
                let millis = min(next.value - clock.value, Self.idleMillis)
                nextLook = now.adding(milliseconds: Int(millis))
            }
        } catch {
            Log.error("the outbox cannot be read", ("reason", .string(error.description)))
        }
        reader.letGo()
    }

    private func start(_ message: OutboxMessage, _ clock: UnixMillis) throws(StorageError) {
        json.reset()
        ChangeEncoder.encode(try AnswerChangeCoding.decode(message.body, user: message.user), into: &json)
        let body = json.bytes
        let seconds = clock.value / 1000
        let (sequence, mailbox) = (message.sequence, mailbox)
        flights[sequence] = Flight(
            message: message,
            deadline: .now().adding(milliseconds: Int(Self.answerSeconds * 1000))
        )
        client.send(
            body,
            to: receiver.url.absoluteString,
            headers: [
                ("Content-Type", "application/json"),
                ("User-Agent", "entitlement-gateway/\(GatewayVersion.text)"),
                ("webhook-id", message.messageID),
                ("webhook-timestamp", String(seconds)),
                (
                    "webhook-signature",
                    receiver.signature(id: message.messageID, timestamp: seconds, body: body)
                ),
            ],
            seconds: Self.answerSeconds
        ) { answer in
            _ = mailbox.post(.answered(sequence, answer))
        }
    }

    // MARK: - What came of it

    private func finish(_ sequence: Int64, _ answer: ReceiverAnswer) {
        guard let flight = flights[sequence], flight.report == nil else { return }
        let clock = UnixMillis(wallClockMillis())
        switch answer {
        case .accepted:
            if failuresInARow >= Self.failuresMax {
                Log.info("a receiver answers again", ("receiver", .string(receiver.place)))
            }
            failuresInARow = 0
            pausedUntil = MonotonicNanos(value: 0)
            flights[sequence]?.report = OutboxReport(flight.message, failure: nil, at: clock)
        case .refused(let reason, let retryAfter):
            let asked = Int64(min(max(retryAfter ?? 0, 0), Int(Self.retryMillisMax / 1000))) * 1000
            let delay = max(Self.backoff(flight.message.attempts, max: Self.retryMillisMax), asked)
            failuresInARow += 1
            if failuresInARow >= Self.failuresMax {
                let pause = Self.backoff(failuresInARow - Self.failuresMax, max: Self.pauseMillisMax)
                pausedUntil = .now().adding(milliseconds: Int(max(pause, min(asked, Self.pauseMillisMax))))
            }
            if failuresInARow == Self.failuresMax || flight.message.attempts == 0 {
                Log.warning(
                    "a notification was not taken; it is tried again",
                    ("receiver", .string(receiver.place)),
                    ("message", .string(flight.message.messageID)),
                    ("reason", .string(reason))
                )
            }
            flights[sequence]?.report = OutboxReport(
                flight.message,
                failure: .init(reason: reason, nextAt: clock.adding(millis: delay)),
                at: clock
            )
        }
        record(sequence)
    }

    private func record(_ sequence: Int64) {
        guard let report = flights[sequence]?.report else { return }
        flights[sequence]?.deadline = .now().adding(seconds: 60)
        let mailbox = mailbox
        let isTaken = store.submit(.sent(report)) { result in
            if case .success = result {
                _ = mailbox.post(.recorded(sequence, true))
            } else {
                _ = mailbox.post(.recorded(sequence, false))
            }
        }
        if !isTaken { flights[sequence]?.deadline = .now().adding(seconds: 1) }
    }

    /// A second, twice as long with every attempt, a quarter more or less by chance.
    private static func backoff(_ attempts: Int, max limit: Int64) -> Int64 {
        let base = min(Int64(1000) << Int64(min(max(attempts, 0), 30)), limit)
        return base * Int64.random(in: 75...125) / 100
    }
}
