internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLStorage
internal import Storage

/// `GET /v1/events`: what came in and what became of it, newest first.
extension GatewayHandler {
    func events(_ request: Request, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
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
        let asked = filter
        return sendPage("events", limit: page.limit, ticket, &response) { reader throws(StorageError) in
            try reader.events(asked)
        } place: {
            $0.sequence
        } write: {
            $0.writeEvent($1)
        }
    }

    func writeEvent(_ event: EventView) {
        json.separate()
        json.raw("{")
        json.members(of: event)
        json.raw("}")
    }
}
