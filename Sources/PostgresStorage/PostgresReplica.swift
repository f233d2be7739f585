#if Postgres
    internal import Platform
    internal import SQLStorage
    internal import Storage
    internal import Synchronization

    /// A copy of the database that the server keeps up to date, and what is known of how far it is behind.
    ///
    /// No clock of a server is asked. Where the primary's log ends is noted with the time of this process; when the copy has
    /// replayed up to there it holds everything up to that time, also where nobody writes. A row that was changed later than that
    /// is asked of the primary, so whoever was told of a change finds it.
    final class PostgresReplica: Sendable {
        /// More rows than this changed since the copy was whole, and all of them count as changed.
        private static let changedMax = 50_000
        /// What is told of changes is looked after about once a second: a bound below that would never hold.
        private static let hearingMillis = 3000

        let address: PostgresAddress
        let measurements = ReplicaMeasurements()
        private let lagMillis: Int

        private struct State {
            /// Up to when the copy holds everything; nil when that is not known.
            var wholeAt: MonotonicNanos?
            /// Up to when every change was heard of, and whether somebody still listens.
            var heardAt: MonotonicNanos?
            var isDeaf = true
            /// Rows changed since, and all changes in their order.
            var changed: [ChangedRow: MonotonicNanos] = [:]
            var order: [(row: ChangedRow, at: MonotonicNanos)] = []
            /// When something was changed that is not known by its rows.
            var everythingAt = MonotonicNanos(value: 0)
        }

        private let state = Mutex(State())

        /// - Parameter lagSeconds: What the copy may be behind.
        init(_ address: PostgresAddress, lagSeconds: Int) {
            self.address = address
            lagMillis = lagSeconds * 1000
        }

        // MARK: - What is changed

        func changed(_ rows: [ChangedRow]) {
            guard !rows.isEmpty else { return }
            let now = MonotonicNanos.now()
            state.withLock { state in
                for row in rows {
                    state.changed[row] = now
                    state.order.append((row, now))
                }
                guard state.order.count > Self.changedMax else { return }
                (state.changed, state.order, state.everythingAt) = ([:], [], now)
            }
        }

        /// Something was changed, and by whom and what is not known.
        func everythingChanged() {
            let now = MonotonicNanos.now()
            state.withLock { $0.everythingAt = now }
        }

        /// Every change up to this moment was heard of; nil: nobody hears now. Without the primary, which tells of changes, the copy
        /// goes on answering as long as it may be behind.
        func heard(upTo moment: MonotonicNanos?) {
            state.withLock { state in
                guard let moment else {
                    state.isDeaf = true
                    return
                }
                // What was said meanwhile is not known.
                if state.isDeaf { state.everythingAt = .now() }
                (state.heardAt, state.isDeaf) = (moment, false)
            }
        }

        // MARK: - How far it is

        /// - Parameter moment: The copy holds everything up to then; nil when that is not known.
        func found(wholeAt moment: MonotonicNanos?) {
            let isUsed = state.withLock { state in
                state.wholeAt = moment
                guard let moment else { return false }
                let past = state.order.prefix { $0.at <= moment }
                for (row, at) in past where state.changed[row] == at { state.changed[row] = nil }
                state.order.removeFirst(past.count)
                return mayBeAsked(state, .now())
            }
            measurements.note(wholeAt: moment, isUsed: isUsed)
        }

        private func mayBeAsked(_ state: State, _ now: MonotonicNanos) -> Bool {
            guard let wholeAt = state.wholeAt, let heardAt = state.heardAt else { return false }
            return now <= wholeAt.adding(milliseconds: lagMillis)
                && now <= heardAt.adding(milliseconds: max(lagMillis, Self.hearingMillis))
                && state.everythingAt <= wholeAt
        }

        /// Which of these rows the copy may be asked for.
        func knows(_ questions: [RowQuestion]) -> [Bool] {
            let now = MonotonicNanos.now()
            return state.withLock { state in
                guard mayBeAsked(state, now) else { return [Bool](repeating: false, count: questions.count) }
                return questions.map { question in
                    !question.isNewest
                        && state.changed[ChangedRow(user: question.user, environment: question.environment)] == nil
                }
            }
        }
    }
#endif
