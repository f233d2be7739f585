internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLStorage
internal import Storage

/// `GET /v1/audit`: who changed what with which key, newest first.
extension GatewayHandler {
    func audit(_ request: Request, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        guard authorize(request, .admin, &response) != nil else { return .done }
        guard let page = page(request, &response) else { return .done }
        return sendPage("audit", limit: page.limit, ticket, &response) { reader throws(StorageError) in
            try reader.audit(limit: page.limit, before: page.before)
        } place: {
            $0.sequence
        } write: {
            $0.writeAudit($1)
        }
    }

    private func writeAudit(_ entry: AuditView) {
        json.separate()
        json.raw("{")
        json.members(of: entry)
        json.key("user_id")
        json.optional(entry.user)
        json.raw("}")
    }
}
