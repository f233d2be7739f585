internal import Entitlements
internal import Storage

/// The facts of a purchase where they are kept, to be changed one by one: a person is forgotten, and the rest stays.
struct StoredFacts {
    private let query: any SQLStatement
    private let update: any SQLStatement
    private let delete: any SQLStatement

    init(_ database: any SQLDatabase) throws(StorageError) {
        query = try database.prepare(
            """
            SELECT fact.event, fact.place, fact.body, event.provider, event.event_id
            FROM fact JOIN event ON event.seq = fact.event WHERE fact.purchase = ?
            """
        )
        update = try database.prepare("UPDATE fact SET body = ? WHERE purchase = ? AND event = ? AND place = ?")
        delete = try database.prepare("DELETE FROM fact WHERE purchase = ? AND event = ? AND place = ?")
    }

    /// Puts what `body` gives in place of each fact; nil takes it away.
    ///
    /// - Returns: The events some of whose facts are others now.
    @discardableResult
    func change(of key: PurchaseKey, _ body: (RecordedFact) -> RecordedFact?) throws(StorageError) -> [EventSequence] {
        query.bind(1, key)
        defer { query.reset() }
        var changed: [(event: EventSequence, place: Int64, facts: [RecordedFact])] = []
        while try query.step() {
            let facts = try FactCoding.decode(
                query.blob(2),
                provider: ProviderID(query.text(3)),
                eventID: query.text(4)
            )
            let kept = facts.compactMap(body)
            if kept != facts { changed.append((query.integer(0), query.integer(1), kept)) }
        }
        query.reset()
        for (event, place, facts) in changed {
            let statement = facts.isEmpty ? delete : update
            var next: Int32 = 1
            if !facts.isEmpty {
                statement.bind(next, FactCoding.encode(facts))
                next += 1
            }
            statement.bind(next, key)
            statement.bind(next + 1, event)
            statement.bind(next + 2, place)
            try statement.run()
        }
        return changed.map(\.event)
    }
}
