internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLiteStorage
internal import Storage
internal import Synchronization

/// One change of one row as a piece of an event stream; several where several entitlements changed with it.
struct FeedEvent: Sendable {
    var sequence: Int64
    var user: UserID
    var environment: StoreEnvironment
    var bytes: [UInt8]
}

/// What a stream asks for: the changes after a place, or from now on.
struct FeedRequest: Sendable {
    var ticket: ReplyTicket
    var loop: Mailbox<LoopMessage>
    /// Nil: from now on.
    var after: Int64?
    var user: UserID?
    var environment: StoreEnvironment
}

/// Changes that were read from the database for one stream.
struct FeedPage: Sendable {
    var events: [FeedEvent]
    /// Everything up to this place is told with these.
    var cursor: Int64
    /// Nothing more was there when it was read: what comes later is told as it happens.
    var isLast: Bool
}

/// What is asked of the feed's thread.
enum FeedMessage: Sendable {
    case changed([AnswerChange])
    case read(FeedRequest)
    case export(UserID, ReplyTicket, Mailbox<LoopMessage>)
}

/// The thread that puts changes in words for everyone who listens, reads for those who come back what they have missed,
/// and does other reading that would hold up a loop. Nothing is put in words while nobody listens.
final class ChangeFeed: ChangeListener {
    /// More changes than this waiting for their words, and streams read from the database instead.
    private static let waitingMax = 10_000

    private let mailbox: Mailbox<FeedMessage>
    private let bell: OutboxBell
    private let listeners = Atomic<Int>(0)
    private let hasLost = Atomic<Bool>(false)

    init(_ bell: OutboxBell) throws(SystemError) {
        mailbox = try Mailbox<FeedMessage>(capacity: Self.waitingMax)
        self.bell = bell
    }

    func start(_ context: FeedContext) throws(SystemError) -> WorkerThread {
        let mailbox = mailbox
        return try WorkerThread.start(name: "changes") { [self] in
            do throws(StorageError) {
                try FeedWorker(context, takeLost: { self.hasLost.exchange(false, ordering: .relaxed) }).run(mailbox)
            } catch {
                Log.error("nobody is told of changes", ("reason", .string(error.description)))
                mailbox.close()
            }
        }
    }

    func stop() { mailbox.close() }

    /// False when too much waits.
    func ask(_ message: FeedMessage) -> Bool { mailbox.post(message) }

    func join() { listeners.wrappingAdd(1, ordering: .relaxed) }
    func leave() { listeners.wrappingSubtract(1, ordering: .relaxed) }

    // MARK: - The writer's calls

    var isListening: Bool { listeners.load(ordering: .relaxed) > 0 }

    func changed(_ changes: [AnswerChange]) {
        if !mailbox.post(.changed(changes)) { hasLost.store(true, ordering: .relaxed) }
    }

    func outboxGrew() { bell.ring() }

    func othersWrote() {
        bell.ring()
        guard isListening else { return }
        hasLost.store(true, ordering: .relaxed)
        mailbox.post(.changed([]))
    }
}

/// What the feed's thread works with.
struct FeedContext: Sendable {
    var store: SQLiteStore
    var loops: LoopMailboxes
    var defaultEntitlement: String
    var payloadDays: Int?
    /// Seats of a licence that names no number of its own.
    var maxDevices: Int
}

/// The feed's thread.
private final class FeedWorker {
    /// Rows read at once for one stream.
    static let pageMax = 500
    /// How often old payloads and dead letters are looked for, and again sooner where there are many.
    static let pruneSeconds = 600

    private let context: FeedContext
    private let reader: SQLiteReader
    private let takeLost: () -> Bool
    private var json = JSONWriter()
    private var pruneAt = MonotonicNanos.now().adding(seconds: 5)

    init(_ context: FeedContext, takeLost: @escaping () -> Bool) throws(StorageError) {
        self.context = context
        self.takeLost = takeLost
        reader = try context.store.makeReader()
    }

    func run(_ mailbox: Mailbox<FeedMessage>) {
        var messages = ContiguousArray<FeedMessage>()
        while true {
            let wait = Int(pruneAt.nanoseconds(since: .now()) / 1_000_000) + 1
            _ = mailbox.wait(milliseconds: wait)
            let isLast = mailbox.drain(into: &messages)
            if messages.isEmpty, isLast { return }
            for message in messages { take(message) }
            if takeLost() { context.loops.post(.feedLost) }
            if pruneAt <= .now() { prune() }
            reader.letGo()
        }
    }

    private func take(_ message: FeedMessage) {
        switch message {
        case .changed(let changes): context.loops.post(.feed(events(of: changes)))
        case .read(let request):
            do throws(StorageError) {
                _ = request.loop.post(.feedPage(request.ticket, try page(request)))
            } catch {
                Log.error("a read failed", ("reason", .string(error.description)))
                _ = request.loop.post(.feedPage(request.ticket, nil))
            }
        case .export(let user, let ticket, let loop):
            do throws(StorageError) {
                _ = loop.post(.exported(ticket, try export(user)))
            } catch {
                Log.error("a read failed", ("reason", .string(error.description)))
                _ = loop.post(.exported(ticket, nil))
            }
        }
    }

    private func export(_ user: UserID) throws(StorageError) -> [UInt8] {
        try PersonExport.encode(user, reader, context.defaultEntitlement, maxDevices: context.maxDevices)
    }

    private func prune() {
        let now = UnixMillis(wallClockMillis())
        pruneAt = .now().adding(seconds: Self.pruneSeconds)
        let horizon = context.payloadDays.map { now.adding(days: -$0) }
        _ = context.store.submit(.prune(payloadsBefore: horizon, now: now)) { _ in }
    }

    // MARK: - Events

    /// The changes of one sequence become one event, so that a stream never stops between them.
    private func events(of changes: [AnswerChange]) -> [FeedEvent] {
        var events: [FeedEvent] = []
        for (index, change) in changes.enumerated() {
            json.reset()
            ChangeEncoder.encode(change, into: &json)
            let isLast = index + 1 == changes.count || changes[index + 1].sequence != change.sequence
            let frame = Self.frame(json.bytes, sequence: isLast ? change.sequence : nil)
            if let last = events.last, last.sequence == change.sequence {
                events[events.count - 1].bytes += frame
            } else {
                events.append(
                    FeedEvent(
                        sequence: change.sequence,
                        user: change.user,
                        environment: change.environment,
                        bytes: frame
                    )
                )
            }
        }
        return events
    }

    private func page(_ request: FeedRequest) throws(StorageError) -> FeedPage {
        guard let after = request.after else {
            return FeedPage(events: [], cursor: try reader.lastSequence(), isLast: true)
        }
        let rows = try reader.changedRows(
            after: after,
            in: request.environment,
            limit: Self.pageMax,
            user: request.user
        )
        var events: [FeedEvent] = []
        for (user, sequence, row) in rows {
            var names = try SubscriptionRow.decode(row.body).entitlements.map(\.name)
            if names.isEmpty { names = [context.defaultEntitlement] }
            var bytes: [UInt8] = []
            for name in names {
                json.reset()
                ChangeEncoder.encode(row, user, request.environment, name, into: &json)
                bytes += Self.frame(json.bytes, sequence: name == names.last ? sequence : nil)
            }
            events.append(
                FeedEvent(sequence: sequence, user: user, environment: request.environment, bytes: bytes)
            )
        }
        return FeedPage(
            events: events,
            cursor: rows.last?.sequence ?? after,
            isLast: rows.count < Self.pageMax
        )
    }

    /// An event of a stream (WHATWG HTML section 9.2); JSON has no line breaks.
    private static func frame(_ data: [UInt8], sequence: Int64?) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(data.count + 64)
        if let sequence { bytes += "id: \(sequence)\n".utf8 }
        bytes += "event: \(ChangeEncoder.type)\ndata: ".utf8
        bytes += data
        bytes += "\n\n".utf8
        return bytes
    }
}
