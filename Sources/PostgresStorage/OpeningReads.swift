#if Postgres
    /// What a transaction that writes asks before it writes for the first time. That is the same every time (counters and settings),
    /// so the questions of the last one go out with BEGIN, and their answers are there when they are asked for.
    struct OpeningReads {
        struct Question: Hashable {
            var sql: String
            var values: [PostgresValue]
        }

        private static let countMax = 8

        private var expected: [Question] = []
        private var asked: [Question] = []
        private var answers: [PostgresResult] = []
        /// Nothing was written yet in this transaction.
        private var isOpen = false

        /// What to ask together with the beginning.
        mutating func begin() -> [Question] {
            (asked, answers, isOpen) = ([], [], true)
            return expected
        }

        /// - Parameter results: In the order of the questions.
        mutating func came(_ results: [PostgresResult]) { answers = results }

        /// The answer that is there already; nil when it must be asked for.
        mutating func answer(to question: Question) -> PostgresResult? {
            guard isOpen else { return nil }
            let place = asked.count
            asked.append(question)
            guard place < answers.count, place < expected.count, expected[place] == question else {
                // Another order than the last time: no later answer is in its place.
                answers = []
                return nil
            }
            return answers[place]
        }

        /// Something is written: what was read before counts no more.
        mutating func end() {
            guard isOpen else { return }
            (expected, answers, isOpen) = (Array(asked.prefix(Self.countMax)), [], false)
        }

        /// The connection is another one.
        mutating func forget() { (answers, isOpen) = ([], false) }
    }
#endif
