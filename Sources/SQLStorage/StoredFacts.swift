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
        update = try database.prepare("UPDATE fact SET body = ?4 WHERE purchase = ?1 AND event = ?2 AND place = ?3")
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
            statement.bind(1, key)
            statement.bind(2, event)
            statement.bind(3, place)
            if !facts.isEmpty { statement.bind(4, FactCoding.encode(facts)) }
            try statement.run()
        }
        return changed.map(\.event)
    }
}
