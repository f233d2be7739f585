internal import Entitlements
internal import Storage

/// The writing side of the outbox: what comes of attempts, and what is kept how long.
struct Outbox {
    /// A message is tried for this long.
    static let triesMillis = 3 * UnixMillis.millisPerDay
    /// A dead letter is kept for this long.
    static let deadLetterMillis = 30 * UnixMillis.millisPerDay
    /// Rows of one step of work that may be long.
    static let batchMax = 500

    let database: any SQLDatabase

    /// Takes the result of an attempt.
    func record(_ report: OutboxReport) throws(StorageError) {
        guard let failure = report.failure else { return try delivered(report) }
        try run(
            """
            UPDATE outbox SET attempts = attempts + 1, failed_at = coalesce(failed_at, ?1), next_at = ?2, reason = ?3
            WHERE seq = ?4 AND message_id = ?5 AND dead_at IS NULL
            """,
            .integer(report.at.value),
            .integer(failure.nextAt.value),
            .text(failure.reason),
            .integer(report.sequence),
            .text(report.messageID)
        )
        try run(
            "INSERT INTO failing_receiver (receiver, since) VALUES (?, ?) ON CONFLICT DO NOTHING",
            .text(report.receiver),
            .integer(report.at.value)
        )
        try giveUp(report)
    }

    private func delivered(_ report: OutboxReport) throws(StorageError) {
        try run(
            "DELETE FROM outbox WHERE seq = ? AND message_id = ?",
            .integer(report.sequence),
            .text(report.messageID)
        )
        try promote(report.user.value, report.receiver, report.at)
        try run("DELETE FROM failing_receiver WHERE receiver = ?", .text(report.receiver))
        guard database.changes > 0 else { return }
        // It is back: what failed meanwhile need not wait for its own turn.
        try run(
            """
            UPDATE outbox SET next_at = ?1 WHERE seq IN (
                SELECT seq FROM outbox WHERE receiver = ?2 AND next_at > ?1 LIMIT \(Self.batchMax))
            """,
            .integer(report.at.value),
            .text(report.receiver)
        )
    }

    /// The next message of the user is the one to send.
    private func promote(_ user: String, _ receiver: String, _ at: UnixMillis) throws(StorageError) {
        try run(
            """
            UPDATE outbox SET next_at = ?1 WHERE next_at IS NULL AND seq = (
                SELECT min(seq) FROM outbox WHERE receiver = ?2 AND user_id = ?3 AND dead_at IS NULL)
            """,
            .integer(at.value),
            .text(receiver),
            .text(user)
        )
    }

    /// A message that failed for three days is given up, and so is all that waits as long for a receiver that does.
    private func giveUp(_ report: OutboxReport) throws(StorageError) {
        let horizon = report.at.adding(millis: -Self.triesMillis).value
        let query = try database.prepare(
            """
            SELECT seq, user_id FROM outbox WHERE seq = ?1 AND message_id = ?4 AND failed_at <= ?2 AND dead_at IS NULL
            UNION
            SELECT seq, user_id FROM (SELECT seq, user_id FROM outbox
                WHERE receiver = ?3 AND dead_at IS NULL AND created_at <= ?2
                    AND (SELECT since FROM failing_receiver WHERE receiver = ?3) <= ?2
                ORDER BY seq LIMIT \(Self.batchMax)) AS waiting
            """
        )
        query.bind(1, report.sequence)
        query.bind(2, horizon)
        query.bind(3, report.receiver)
        query.bind(4, report.messageID)
        var dead: [(sequence: Int64, user: String)] = []
        while try query.step() { dead.append((query.integer(0), query.text(1))) }
        query.reset()
        for (sequence, user) in dead {
            try run("DELETE FROM outbox WHERE seq = ? AND is_last = 1", .integer(sequence))
            try run(
                "UPDATE outbox SET dead_at = ?, next_at = NULL WHERE seq = ?",
                .integer(report.at.value),
                .integer(sequence)
            )
            try promote(user, report.receiver, report.at)
        }
    }

    /// Puts a dead letter back among those that wait; nil for all dead letters, some at a time.
    ///
    /// - Returns: How many there were.
    func resend(_ messageID: String?, at moment: UnixMillis) throws(StorageError) -> Int {
        let query = try database.prepare(
            """
            SELECT seq, receiver, user_id FROM outbox WHERE dead_at IS NOT NULL AND (?1 IS NULL OR message_id = ?1)
            ORDER BY seq LIMIT \(Self.batchMax)
            """
        )
        query.bind(1, messageID)
        var found: [(sequence: Int64, receiver: String, user: String)] = []
        while try query.step() { found.append((query.integer(0), query.text(1), query.text(2))) }
        query.reset()
        for (sequence, receiver, user) in found {
            // Behind whatever of the user is waiting, if anything is: what is sent next may not be overtaken.
            try run(
                """
                UPDATE outbox SET dead_at = NULL, failed_at = NULL, attempts = 0, created_at = ?1, next_at = NULL
                WHERE seq = ?2
                """,
                .integer(moment.value),
                .integer(sequence)
            )
            let waits = try database.prepare(
                "SELECT 1 FROM outbox WHERE receiver = ? AND user_id = ? AND next_at IS NOT NULL"
            )
            waits.bind(1, receiver)
            waits.bind(2, user)
            let isBehind = try waits.step()
            waits.reset()
            if !isBehind { try promote(user, receiver, moment) }
        }
        return found.count
    }

    /// Removes kept payloads from before `payloads` and dead letters of a month, some at a time.
    ///
    /// Only payloads of events whose facts are kept go: of a quarantined event the payload is all there is.
    ///
    /// - Parameter receivers: Those that are configured.
    /// - Returns: How many there were.
    func prune(payloads: UnixMillis?, now: UnixMillis, receivers: [String]) throws(StorageError) -> Int {
        var count = 0
        if let payloads {
            try run(
                """
                UPDATE event SET payload = NULL WHERE seq IN (SELECT seq FROM event
                    WHERE outcome IN (\(EventOutcome.parked.rawValue), \(EventOutcome.unmapped.rawValue))
                        AND payload IS NOT NULL AND received_at < ? LIMIT \(Self.batchMax))
                """,
                .integer(payloads.value)
            )
            count += database.changes
        }
        let horizon = now.adding(millis: -Self.deadLetterMillis).value
        try run(
            """
            DELETE FROM outbox WHERE seq IN (
                SELECT seq FROM outbox WHERE dead_at IS NOT NULL AND dead_at < ? LIMIT \(Self.batchMax))
            """,
            .integer(horizon)
        )
        count += database.changes
        // Messages to a receiver that is configured no more are tried by nobody.
        for receiver in try receiversWithMessages() where !receivers.contains(receiver) {
            try run(
                """
                DELETE FROM outbox WHERE seq IN (SELECT seq FROM outbox
                    WHERE receiver = ?1 AND dead_at IS NULL AND created_at < ?2 LIMIT \(Self.batchMax))
                """,
                .text(receiver),
                .integer(now.adding(millis: -Self.triesMillis).value)
            )
            count += database.changes
        }
        return count
    }

    private func receiversWithMessages() throws(StorageError) -> [String] {
        // From one to the next in the index: there are few receivers and perhaps many messages.
        let next = try database.prepare("SELECT min(receiver) FROM outbox WHERE dead_at IS NULL AND receiver > ?")
        var found: [String] = []
        while true {
            next.bind(1, found.last ?? "")
            defer { next.reset() }
            guard try next.step(), let receiver = next.optionalText(0) else { return found }
            found.append(receiver)
        }
    }

    private enum Value {
        case integer(Int64)
        case text(String)
    }

    private func run(_ sql: String, _ values: Value...) throws(StorageError) {
        let statement = try database.prepare(sql)
        for (index, value) in values.enumerated() {
            switch value {
            case .integer(let number): statement.bind(Int32(index + 1), number)
            case .text(let text): statement.bind(Int32(index + 1), text)
            }
        }
        try statement.run()
    }
}
