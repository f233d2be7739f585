internal import Entitlements
internal import Platform
internal import Storage

/// Answers that change by the clock alone.
extension SQLiteTransaction {
    func turned(
        _ row: RowRecord,
        upTo moment: UnixMillis,
        of user: UserID,
        in environment: StoreEnvironment
    ) throws(StorageError) -> RowRecord {
        var row = row
        while let turn = row.turnsAt, turn <= moment {
            let before = row.judged
            // Zero is a row from before turns were kept: nobody was told of its answers, so nothing has changed.
            row.judgedAt = turn.value == 0 ? moment : max(row.judgedAt, turn)
            row.turnsAt = RowClock.nextTurn(of: row.body, after: row.judgedAt)
            row.sequence = try nextVersion()
            guard turn.value != 0 else { continue }
            do throws(StorageError) {
                try changes.record(row.sequence, user, environment, from: before, to: row.judged)
            } catch {
                // A row that cannot be read is nothing to tell of, and holds up no other.
                guard case .damaged(let reason) = error else { throw error }
                Log.error("a row cannot be read", ("reason", .string(reason)))
            }
        }
        return row
    }

    /// Turns at most `limit` rows whose moment has come.
    ///
    /// - Returns: How many there were.
    func turnRows(upTo moment: UnixMillis, limit: Int) throws(StorageError) -> Int {
        let due = try database.prepare(
            "SELECT user_id, environment FROM subscription WHERE turns_at <= ? ORDER BY turns_at LIMIT ?"
        )
        due.bind(1, moment.value)
        due.bind(2, Int64(limit))
        var found: [(user: UserID, environment: StoreEnvironment)] = []
        while try due.step() {
            let environment = StoreEnvironment(rawValue: UInt8(truncatingIfNeeded: due.integer(1))) ?? .sandbox
            found.append((UserID(unchecked: due.text(0)), environment))
        }
        due.reset()
        let update = try database.prepare(
            "UPDATE subscription SET judged_at = ?, turns_at = ?, sequence = ? WHERE user_id = ? AND environment = ?"
        )
        for (user, environment) in found {
            guard let row = try row(of: user, in: environment) else { continue }
            let turned = try turned(row, upTo: moment, of: user, in: environment)
            update.bind(1, turned.judgedAt.value)
            update.bind(2, turned.turnsAt?.value)
            update.bind(3, turned.sequence)
            update.bind(4, user.value)
            update.bind(5, Int64(environment.rawValue))
            try update.run()
        }
        return found.count
    }

    /// The first moment at which the clock changes an answer of any row.
    func firstTurn() throws(StorageError) -> UnixMillis? {
        let query = try database.prepare("SELECT min(turns_at) FROM subscription WHERE turns_at IS NOT NULL")
        defer { query.reset() }
        return try query.step() ? query.optionalInteger(0).map(UnixMillis.init) : nil
    }
}
