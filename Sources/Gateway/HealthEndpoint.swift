internal import HTTPServer
internal import Platform
internal import Storage

/// `GET /healthz`: the process answers. `GET /readyz`: the database takes a write.
extension GatewayHandler {
    /// A write that went through this long ago still counts: readiness is asked often, and each answer may cost a sync.
    private static let readyMillis = 1000

    func healthy(_ response: inout Response) -> Disposition {
        json.reset()
        json.raw("{\"status\":\"ok\"}")
        send(200, &response)
        return .done
    }

    func ready(_ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        if let readyAt, MonotonicNanos.now() < readyAt.adding(milliseconds: Self.readyMillis) {
            writeReady(&response)
            return .done
        }
        return submit(.probe(now), .ready, ticket, &response)
    }

    func writeReady(_ response: inout Response) {
        json.reset()
        json.raw("{\"status\":\"ready\"}")
        send(200, &response)
    }
}
