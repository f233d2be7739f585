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
        let readiness = context.services.readiness
        let mailbox = mailbox
        switch readiness.answer(at: .now(), { isReady in _ = mailbox.post(.ready(ticket, isReady)) }) {
        case .known(let isReady):
            writeReadiness(isReady, &response)
            return .done
        case .wait: return .later
        case .ask:
            let disposition = submit(.probe(now), .ready, ticket, &response)
            if case .done = disposition { readiness.asked(false, at: .now()) }
            return disposition
        }
    }

    func writeReadiness(_ isReady: Bool, _ response: inout Response) {
        if isReady { writeReady(&response) } else { write(.notReady, &response) }
    }

    func writeReady(_ response: inout Response) {
        json.reset()
        json.raw("{\"status\":\"ready\"}")
        send(200, &response)
    }
}
