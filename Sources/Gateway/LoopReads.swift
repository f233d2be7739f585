internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLStorage
internal import SQLiteStorage
internal import Storage

/// What reads beside the gate's are asked of: a connection, with the statements for licences on it.
struct Views {
    let reader: any SQLReading
    let licenses: LicenseReader

    init(_ reader: any SQLReading) throws(StorageError) {
        self.reader = reader
        licenses = try LicenseReader(reader)
    }
}

/// Whose row, and in which environment.
struct RowKey: Hashable, Sendable {
    var user: UserID
    var environment: StoreEnvironment
}

/// What was read elsewhere for a loop.
enum ReadValue: Sendable {
    case rows([RowKey: FoundRow])
    case view(any Sendable)
}

/// How a loop goes on when it has what it asked for.
enum WaitingRead {
    /// The same question again, with the row at hand.
    case question(ReplyTicket, AnswerQuestion, lookup: [UInt8], RowContinuation)
    /// - Parameter known: Rows that need not be read again.
    case queries(ReplyTicket, AnswerQuestion, [UserID], asked: [[UInt8]], known: [RowKey: FoundRow])
    case view(ReplyTicket, (GatewayHandler, any Sendable, inout Response) throws(StorageError) -> Disposition)
    case poll(ReplyTicket, isOver: Bool)
    /// What another thread has told, again.
    case message(ReplyTicket, LoopMessage)

    var ticket: ReplyTicket {
        switch self {
        case .question(let ticket, _, _, _), .queries(let ticket, _, _, _, _), .view(let ticket, _),
            .poll(let ticket, _),
            .message(let ticket, _):
            ticket
        }
    }
}

/// What is done with a row when it is there.
enum RowContinuation {
    case answer(query: [UInt8], ifNoneMatch: [UInt8]?)
    case gate(query: [UInt8])
}

/// How a loop reads: with a connection of its own where that is a matter of microseconds, else through a thread that reads
/// for it, so that no loop waits for a network.
struct LoopReads {
    let local: SQLiteReader?
    let localViews: Views?
    /// Nil where the loop reads itself.
    let thread: ReadThread?
    /// Rows that were read for what is being handled just now.
    var fetched: [RowKey: FoundRow] = [:]
    private var waiting: [Int: WaitingRead] = [:]
    private var last = 0

    init(_ store: any Store, _ loop: Mailbox<LoopMessage>) throws {
        if let store = store as? SQLiteStore {
            let reader = try store.makeReader(keepsRows: true)
            (local, localViews, thread) = (reader, try Views(reader), nil)
        } else {
            (local, localViews) = (nil, nil)
            thread = try ReadThread(store, loop)
        }
    }

    mutating func wait(for read: WaitingRead) -> Int {
        last += 1
        waiting[last] = read
        return last
    }

    mutating func take(_ number: Int) -> WaitingRead? { waiting.removeValue(forKey: number) }
}

extension GatewayHandler {
    /// Whether rows come from elsewhere, so that a request waits for its own.
    var readsElsewhere: Bool { reads.thread != nil }

    // MARK: - Reads of administrators and licences

    /// Reads, here or elsewhere, and goes on with what was found.
    func view<Value: Sendable>(
        _ ticket: ReplyTicket,
        _ response: inout Response,
        _ read: @escaping @Sendable (Views) throws(StorageError) -> Value,
        _ then: @escaping (GatewayHandler, Value, inout Response) throws(StorageError) -> Disposition
    ) -> Disposition {
        if let views = reads.localViews {
            do throws(StorageError) {
                return try then(self, try read(views), &response)
            } catch {
                failRead(error, &response)
                return .done
            }
        }
        let number = reads.wait(
            for: .view(ticket) { handler, value, response throws(StorageError) in
                guard let value = value as? Value else { throw .unavailable("another read was answered") }
                return try then(handler, value, &response)
            }
        )
        return ask(.init(number: number, work: .view { views throws(StorageError) in try read(views) }), &response)
    }

    // MARK: - Rows

    /// Lets a request wait for the row of the user that stands in `lookup`.
    ///
    /// - Parameter isNewest: As the last commit has left it; else a copy of the database may answer.
    func waitForRow(
        _ ticket: ReplyTicket,
        _ then: RowContinuation,
        isNewest: Bool = false,
        _ response: inout Response
    ) -> Disposition {
        let key = RowKey(
            user: UserID(unchecked: String(decoding: lookup, as: UTF8.self)),
            environment: question.environment
        )
        let number = reads.wait(for: .question(ticket, question, lookup: lookup, then))
        return ask(.init(number: number, work: .rows([key], isNewest: isNewest)), &response)
    }

    func waitForRows(
        _ ticket: ReplyTicket,
        _ users: [UserID],
        asked: [[UInt8]],
        _ response: inout Response
    ) -> Disposition {
        let environment = question.environment
        let number = reads.wait(for: .queries(ticket, question, users, asked: asked, known: [:]))
        let keys = users.map { RowKey(user: $0, environment: environment) }
        return ask(.init(number: number, work: .rows(keys, isNewest: false)), &response)
    }

    // MARK: - What a copy of the database has said

    /// Whether the answer just worked out is to be asked of the primary before anybody hears of it: a copy that is behind may
    /// say no to somebody who has just paid, and may know less than whoever asks.
    ///
    /// - Parameter known: The version that the one who asks knows of.
    func mustConfirm(_ summary: AnswerSummary, known: Int64) -> Bool {
        guard readsElsewhere, let row = reads.fetched[rowOfQuestion], !row.isNewest else { return false }
        guard !summary.isEntitled || summary.version < known else { return false }
        context.store.replica?.confirmations.add()
        return true
    }

    /// Asks the primary for those of the users to whom a copy says no; nil when there is none.
    func confirm(
        _ ticket: ReplyTicket,
        _ users: [UserID],
        asked: [[UInt8]],
        doubtful: [UserID],
        _ response: inout Response
    ) -> Disposition? {
        guard !doubtful.isEmpty else { return nil }
        context.store.replica?.confirmations.add(doubtful.count)
        let environment = question.environment
        let number = reads.wait(for: .queries(ticket, question, users, asked: asked, known: reads.fetched))
        let keys = doubtful.map { RowKey(user: $0, environment: environment) }
        return ask(.init(number: number, work: .rows(keys, isNewest: true)), &response)
    }

    var rowOfQuestion: RowKey {
        RowKey(user: UserID(unchecked: String(decoding: lookup, as: UTF8.self)), environment: question.environment)
    }

    private func ask(_ read: ReadThread.Read, _ response: inout Response) -> Disposition {
        if reads.thread?.ask(read) == true { return .later }
        _ = reads.take(read.number)
        write(.unavailable("more reads are waiting than the database takes", retryAfter: 1), &response)
        return .done
    }

    /// The row of the question, when it was read for what is being handled.
    func fetchedRow() throws(StorageError) -> RowCopy {
        guard let row = reads.fetched[rowOfQuestion] else { throw .unavailable("a row was not read in time") }
        return row.copy
    }

    /// Looks at a waiting poll when its row is there. False when that could not be asked for.
    func look(later poll: LongPoll, isOver: Bool) -> Bool {
        let key = RowKey(
            user: UserID(unchecked: String(decoding: poll.lookup, as: UTF8.self)),
            environment: poll.question.environment
        )
        let number = reads.wait(for: .poll(poll.ticket, isOver: isOver))
        if reads.thread?.ask(.init(number: number, work: .rows([key], isNewest: true))) == true { return true }
        _ = reads.take(number)
        return false
    }

    /// True when what another thread has told needs rows first: it comes again when they are there.
    func isPutOff(_ message: LoopMessage) -> Bool {
        guard readsElsewhere, reads.fetched.isEmpty, let (ticket, keys) = Self.rowsNeeded(by: message) else {
            return false
        }
        let number = reads.wait(for: .message(ticket, message))
        if reads.thread?.ask(.init(number: number, work: .rows(keys, isNewest: true))) == true { return true }
        _ = reads.take(number)
        return false
    }

    private static func rowsNeeded(by message: LoopMessage) -> (ReplyTicket, [RowKey])? {
        switch message {
        case .stored(let ticket, let continuation, .success(let committed)):
            switch (continuation, committed.value) {
            case (.license(.activated), .license(.activated(let license, _))):
                return (ticket, [RowKey(user: license.user, environment: .production)])
            case (.submission(let reply), .submitted):
                return (ticket, [RowKey(user: reply.user, environment: reply.environment)])
            case (.claimed(let user, _), _):
                var kept = user
                guard UserID.normalize(&kept) else { return nil }
                let user = UserID(unchecked: String(decoding: kept, as: UTF8.self))
                return (ticket, StoreEnvironment.allCases.map { RowKey(user: user, environment: $0) })
            default: return nil
            }
        case .synced(let ticket, let asked, _):
            let user = UserID(unchecked: String(decoding: asked.user, as: UTF8.self))
            return (ticket, [RowKey(user: user, environment: asked.environment)])
        case .claimRead(let ticket, _, let report):
            guard report.result?.value == .submitted, let owner = report.owner else { return nil }
            return (ticket, [RowKey(user: owner.user, environment: owner.environment)])
        default: return nil
        }
    }

    // MARK: - What was read

    func take(_ number: Int, _ result: Result<ReadValue, StorageError>, _ replies: Replies<GatewayHandler>) {
        guard let read = reads.take(number) else { return }
        defer { reads.fetched.removeAll() }
        let value: ReadValue
        do throws(StorageError) {
            value = try result.get()
        } catch {
            polls.remove(read.ticket)
            return reply(to: read.ticket, replies) { response in failRead(error, &response) }
        }
        if case .rows(let rows) = value { reads.fetched = rows }
        switch (read, value) {
        case (.view(let ticket, let then), .view(let value)):
            resume(ticket, replies) { response in
                do throws(StorageError) {
                    return try then(self, value, &response)
                } catch {
                    failRead(error, &response)
                    return .done
                }
            }
        case (.question(let ticket, let asked, let lookup, let continuation), _):
            resume(ticket, replies) { response in
                (question, self.lookup) = (asked, lookup)
                switch continuation {
                case .answer(let query, let tag):
                    return unsafe query.withUnsafeBytes { query in
                        unsafe (tag ?? []).withUnsafeBytes { bytes in
                            unsafe answer(query: query, ifNoneMatch: tag == nil ? nil : bytes, &response, ticket)
                        }
                    }
                case .gate(let query):
                    return unsafe query.withUnsafeBytes { unsafe gate(query: $0, &response, ticket) }
                }
            }
            // A change that came between this read and the wait was told to nobody: one more look.
            if let poll = polls[ticket] { _ = look(later: poll, isOver: false) }
        case (.queries(let ticket, let asked, let users, let ids, let known), _):
            reads.fetched.merge(known) { new, _ in new }
            resume(ticket, replies) { response in
                question = asked
                return answer(users, asked: ids, &response, ticket)
            }
        case (.poll(let ticket, let isOver), _):
            if let poll = polls[ticket] { look(poll, isOver: isOver, replies) }
        case (.message(_, let message), _): receive(message, replies)
        case (.view(let ticket, _), .rows):
            reply(to: ticket, replies) { response in failRead(.unavailable("another read was answered"), &response) }
        }
    }
}
