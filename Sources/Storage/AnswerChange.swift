package import Entitlements

/// A user's row as it stood at one moment: what an answer is judged from.
package struct JudgedRow: Hashable, Sendable {
    package var version: Int64
    package var updatedAt: UnixMillis?
    package var body: [UInt8]
    package var moment: UnixMillis

    package init(version: Int64, updatedAt: UnixMillis?, body: [UInt8], moment: UnixMillis) {
        self.version = version
        self.updatedAt = updatedAt
        self.body = body
        self.moment = moment
    }

    /// Somebody of whom nothing is known.
    package static func nothing(version: Int64 = 0, updatedAt: UnixMillis? = nil, at moment: UnixMillis) -> JudgedRow {
        JudgedRow(
            version: version,
            updatedAt: updatedAt,
            body: SubscriptionRow.encode(Subscription()),
            moment: moment
        )
    }
}

/// That the answer about one entitlement of one user is another now.
package struct AnswerChange: Hashable, Sendable {
    /// Place among all changes of all users.
    package var sequence: Int64
    package var user: UserID
    package var environment: StoreEnvironment
    package var entitlement: String
    package var before: JudgedRow
    package var after: JudgedRow
    /// The user is erased: nothing may be kept after this has been told.
    package var isLast: Bool

    package init(
        sequence: Int64,
        user: UserID,
        environment: StoreEnvironment,
        entitlement: String,
        before: JudgedRow,
        after: JudgedRow,
        isLast: Bool = false
    ) {
        self.sequence = sequence
        self.user = user
        self.environment = environment
        self.entitlement = entitlement
        self.before = before
        self.after = after
        self.isLast = isLast
    }

    /// Names of the entitlements about which the two rows answer differently, ascending.
    package static func entitlements(from before: JudgedRow, to after: JudgedRow) throws(StorageError) -> [String] {
        let (old, new) = (try answers(before), try answers(after))
        return Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
    }

    /// What an answer shows, without what every write of the row moves.
    private struct Shown: Equatable {
        var isEntitled: Bool
        var status: Status
        var entry: Subscription.Entitlement
    }

    private static func answers(_ row: JudgedRow) throws(StorageError) -> [String: Shown] {
        var answers: [String: Shown] = [:]
        for entry in try SubscriptionRow.decode(row.body).entitlements {
            var seen = entry
            // These only tell how the answer will change; how it stands is beside them.
            (seen.graceFrom, seen.live, seen.ended) = (nil, .none, .none)
            answers[entry.name] = Shown(
                isEntitled: entry.isEntitled(at: row.moment),
                status: entry.status(at: row.moment),
                entry: seen
            )
        }
        return answers
    }
}

/// When the clock alone changes what a row answers.
package enum RowClock {
    /// The first such moment after `moment`; nil when there is none.
    package static func nextTurn(of body: [UInt8], after moment: UnixMillis) -> UnixMillis? {
        guard body.count >= 2 else { return nil }
        var next: UnixMillis?
        var offset = 2
        for _ in 0..<body[1] {
            guard let entry = RowEntry(body.span, at: offset) else { return next }
            for turn in [entry.end, entry.graceFrom] {
                guard let turn, turn > moment, turn <= entry.end ?? .latest else { continue }
                next = min(next ?? turn, turn)
            }
            offset += entry.size
        }
        return next
    }
}
