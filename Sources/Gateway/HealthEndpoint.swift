internal import HTTPServer
internal import Platform
internal import Storage

/// `GET /healthz`: the process answers. `GET /readyz`: the database takes a write.
extension GatewayHandler {
    func healthy(_ response: inout Response) -> Disposition {
        json.reset()
        json.raw("{\"status\":\"ok\"}")
        send(200, &response)
        return .done
    }

    func ready(_ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        guard let isReady = context.services.readiness.answer(at: .now()) else {
            return submit(.probe(now), .ready, ticket, &response)
        }
        if isReady { writeReady(&response) } else { write(.notReady, &response) }
        return .done
    }

    func writeReady(_ response: inout Response) {
        json.reset()
        json.raw("{\"status\":\"ready\"}")
        send(200, &response)
    }
}
