package import Entitlements
package import Storage

/// What waits to be told, for those who tell it.
extension SQLReading {
    /// No attempt is put off for longer: what is due later was put off by a clock that was ahead.
    private static var delayMillisMax: Int64 { 2 * 3_600_000 }

    /// Messages whose moment has come, of each user the earliest only, at most `limit`.
    package func dueMessages(
        for receiver: String,
        upTo moment: UnixMillis,
        limit: Int
    ) throws(StorageError) -> [OutboxMessage] {
        letGo()
        let query = try database.prepare(
            "\(Self.messageColumns) WHERE receiver = ? AND next_at <= ? ORDER BY next_at, seq LIMIT ?"
        )
        query.bind(1, receiver)
        query.bind(2, moment.value)
        query.bind(3, Int64(limit))
        let due = try messages(query)
        guard due.count < limit else { return due }
        let late = try database.prepare(
            "\(Self.messageColumns) WHERE receiver = ? AND next_at > ? ORDER BY next_at, seq LIMIT ?"
        )
        late.bind(1, receiver)
        late.bind(2, moment.adding(millis: Self.delayMillisMax).value)
        late.bind(3, Int64(limit - due.count))
        return due + (try messages(late))
    }

    /// When the next message of a receiver is to be sent.
    package func nextMessage(for receiver: String) throws(StorageError) -> UnixMillis? {
        letGo()
        let query = try database.prepare(
            "SELECT min(next_at) FROM outbox WHERE receiver = ? AND next_at IS NOT NULL"
        )
        query.bind(1, receiver)
        return try query.step() ? query.optionalInteger(0).map(UnixMillis.init) : nil
    }

    /// Messages as administrators see them, newest first.
    package func messages(
        dead: Bool,
        limit: Int,
        before: Int64?
    ) throws(StorageError) -> [OutboxMessage] {
        letGo()
        let query = try database.prepare(
            "\(Self.messageColumns) WHERE dead_at IS \(dead ? "NOT " : "")NULL AND seq < ? ORDER BY seq DESC LIMIT ?"
        )
        query.bind(1, before ?? .max)
        query.bind(2, Int64(limit))
        return try messages(query)
    }

    /// Everything of a person that waits or was given up.
    package func messages(of user: UserID) throws(StorageError) -> [OutboxMessage] {
        let query = try database.prepare("\(Self.messageColumns) WHERE user_id = ? ORDER BY seq")
        query.bind(1, user.value)
        return try messages(query)
    }

    /// How many messages wait and how many were given up, by receiver.
    package func messageCounts() throws(StorageError) -> [OutboxCount] {
        letGo()
        let query = try database.prepare(
            "SELECT receiver, count(*) - count(dead_at), count(dead_at) FROM outbox GROUP BY receiver ORDER BY receiver"
        )
        var counts: [OutboxCount] = []
        while try query.step() {
            counts.append(
                OutboxCount(receiver: query.text(0), waiting: Int(query.integer(1)), dead: Int(query.integer(2)))
            )
        }
        return counts
    }

    /// When the oldest message that waits was made; nil for none.
    package func oldestMessage() throws(StorageError) -> UnixMillis? {
        letGo()
        let query = try database.prepare("SELECT created_at FROM outbox WHERE dead_at IS NULL ORDER BY seq LIMIT 1")
        return try query.step() ? UnixMillis(query.integer(0)) : nil
    }

    private static var messageColumns: String {
        "SELECT seq, receiver, user_id, message_id, body, created_at, attempts, dead_at, reason FROM outbox"
    }

    private func messages(_ query: any SQLStatement) throws(StorageError) -> [OutboxMessage] {
        var found: [OutboxMessage] = []
        while try query.step() {
            found.append(
                OutboxMessage(
                    sequence: query.integer(0),
                    receiver: query.text(1),
                    user: UserID(unchecked: query.text(2)),
                    messageID: query.text(3),
                    body: query.blob(4),
                    createdAt: UnixMillis(query.integer(5)),
                    attempts: Int(query.integer(6)),
                    deadAt: query.optionalInteger(7).map(UnixMillis.init),
                    reason: query.optionalText(8)
                )
            )
        }
        return found
    }

    // MARK: - Changes

    /// Rows that changed after a place in the order of changes, in that order: of each row its last change only.
    ///
    /// - Parameter user: Only of this user.
    package func changedRows(
        after sequence: Int64,
        in environment: StoreEnvironment,
        limit: Int,
        user: UserID?
    ) throws(StorageError) -> [(user: UserID, sequence: Int64, row: JudgedRow)] {
        letGo()
        let query = try database.prepare(
            """
            SELECT user_id, sequence, version, updated_at, body, judged_at FROM subscription
            WHERE sequence > ?1 AND environment = ?2 \(user == nil ? "" : "AND user_id = ?4")
            ORDER BY sequence LIMIT ?3
            """
        )
        query.bind(1, sequence)
        query.bind(2, Int64(environment.rawValue))
        query.bind(3, Int64(limit))
        if let user { query.bind(4, user.value) }
        var found: [(user: UserID, sequence: Int64, row: JudgedRow)] = []
        while try query.step() {
            let judgedAt = query.integer(5)
            found.append(
                (
                    UserID(unchecked: query.text(0)),
                    query.integer(1),
                    JudgedRow(
                        version: query.integer(2),
                        updatedAt: UnixMillis(query.integer(3)),
                        body: query.blob(4),
                        moment: UnixMillis(judgedAt == 0 ? query.integer(3) : judgedAt)
                    )
                )
            )
        }
        return found
    }

    /// The place of the newest change of all.
    package func lastSequence() throws(StorageError) -> Int64 {
        letGo()
        let query = try database.prepare("SELECT value FROM meta WHERE name = 'version'")
        guard try query.step() else { return 0 }
        return Int64(String(decoding: query.blob(0), as: UTF8.self)) ?? 0
    }
}
