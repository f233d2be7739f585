internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLiteStorage
internal import Storage

/// `GET /v1/events`: what came in and what became of it, newest first.
extension GatewayHandler {
    private static let eventsDefault = 50
    private static let eventsMax = 500

    func events(_ request: Request, _ response: inout Response) -> Disposition {
        guard authorize(request, .admin, &response) != nil else { return .done }
        var filter = EventFilter(limit: Self.eventsDefault)
        func parameter(_ name: StaticString) -> String? {
            guard let value = unsafe RequestTarget.parameter(name, in: request.query) else { return nil }
            let text = unsafe RequestTarget.text(value, plusIsSpace: true) ?? ""
            return text.isEmpty ? nil : text
        }
        if let text = parameter("outcome") {
            guard let outcome = EventOutcome(name: text) else {
                return refuse(
                    "outcome: expected one of \(EventOutcome.allCases.map(\.name).joined(separator: ", "))",
                    &response
                )
            }
            filter.outcome = outcome
        }
        if let text = parameter("provider") { filter.provider = ProviderID(text) }
        if let text = parameter("user_id") {
            guard let user = UserID(text) else {
                write(.invalidUserID, &response)
                return .done
            }
            filter.user = user
        }
        if let text = parameter("limit") {
            guard let limit = Int(text), (1...Self.eventsMax).contains(limit) else {
                return refuse("limit: expected a number from 1 to \(Self.eventsMax)", &response)
            }
            filter.limit = limit
        }
        if let text = parameter("after") {
            guard let place = Int64(text), place > 0 else {
                return refuse("after: expected the next of an earlier page", &response)
            }
            filter.before = place
        }
        do throws(StorageError) {
            let events = try reader.events(filter)
            json.reset()
            json.raw("{\"events\":[")
            for event in events { writeEvent(event) }
            json.raw("],\"next\":")
            if events.count == filter.limit, let last = events.last {
                json.string(String(last.sequence))
            } else {
                json.null()
            }
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
