internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLiteStorage
internal import Storage

/// `GET /v1/events`: what came in and what became of it, newest first.
extension GatewayHandler {
    func events(_ request: Request, _ response: inout Response) -> Disposition {
        guard authorize(request, .admin, &response) != nil else { return .done }
        var filter = EventFilter()
        if let text = parameter("outcome", of: request) {
            guard let outcome = EventOutcome(name: text) else {
                return refuse(
                    "outcome: expected one of \(EventOutcome.allCases.map(\.name).joined(separator: ", "))",
                    &response
                )
            }
            filter.outcome = outcome
        }
        if let text = parameter("provider", of: request) { filter.provider = ProviderID(text) }
        if let text = parameter("user_id", of: request) {
            guard let user = UserID(text) else {
                write(.invalidUserID, &response)
                return .done
            }
            filter.user = user
        }
        guard let page = page(request, &response) else { return .done }
        (filter.limit, filter.before) = (page.limit, page.before)
        do throws(StorageError) {
            let events = try reader.events(filter)
            json.reset()
            json.raw("{\"events\":[")
            for event in events { writeEvent(event) }
            json.raw("],\"next\":")
            writeNext(events.last?.sequence, isFull: events.count == filter.limit)
            json.raw("}")
            send(200, &response)
        } catch {
            Log.error("a read failed", ("reason", .string(error.description)))
            write(.unavailable("the database cannot be read", retryAfter: 1), &response)
        }
        return .done
    }

    func writeEvent(_ event: EventView) {
        json.separate()
        json.raw("{")
        json.key("provider")
        json.string(event.provider.name)
        json.key("event_id")
        json.string(event.eventID)
        json.key("type")
        json.string(event.type)
        json.key("outcome")
        json.string(event.outcome.name)
        json.key("user_id")
        json.optional(event.user)
        json.key("environment")
        json.optional(event.environment?.name)
        json.key("occurred_at")
        json.time(event.occurredAt)
        json.key("received_at")
        json.time(event.receivedAt)
        json.key("reason")
        json.optional(event.reason)
        json.raw("}")
    }
}
