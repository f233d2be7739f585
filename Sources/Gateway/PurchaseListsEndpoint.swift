internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLStorage
internal import Storage

/// Purchases that somebody has to look at: `GET /v1/purchases/parked` of nobody, `GET /v1/purchases/overlapping` of people
/// who pay twice.
extension GatewayHandler {
    func parkedPurchases(_ request: Request, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        guard authorize(request, .admin, &response) != nil else { return .done }
        guard let page = page(request, &response) else { return .done }
        return sendPage("purchases", limit: page.limit, ticket, &response) { reader throws(StorageError) in
            try reader.parked(limit: page.limit, before: page.before)
        } place: {
            $0.sequence
        } write: {
            $0.writeParked($1)
        }
    }

    private func writeParked(_ purchase: ParkedPurchase) {
        let candidate = purchase.outcome.map { Candidate(purchaseID: purchase.purchaseID, outcome: $0) }
        let latest = context.policy.elect([candidate].compactMap(\.self)).entitlements
            .max { ($0.end ?? .latest) < ($1.end ?? .latest) }
        json.separate()
        json.raw("{")
        json.key("purchase_id")
        json.string(purchase.purchaseID)
        json.key("provider")
        json.string(purchase.provider.name)
        json.key("environment")
        json.string(purchase.environment.name)
        json.key("status")
        json.string(latest?.status(at: now).name ?? Status.none.name)
        json.key("access_until")
        json.time(latest?.end)
        json.key("lifetime")
        json.bool(latest.map { $0.end == nil } ?? false)
        json.key("product_ids")
        json.raw("[")
        for product in Set(purchase.outcome?.lines.flatMap(\.products) ?? []).sorted() {
            json.separate()
            json.string(product)
        }
        json.raw("]")
        json.key("claims")
        json.raw("[")
        for customer in purchase.customers { writeClaim(customer.provider.name, customer.value, of: "customer") }
        for id in purchase.ids where context.registry.isKnown(id.namespace) {
            writeClaim(id.namespace, id.value, of: "purchase")
        }
        json.raw("]}")
    }

    /// What `POST /v1/users/{user_id}/identities` takes.
    private func writeClaim(_ provider: String, _ externalID: String, of kind: StaticString) {
        json.separate()
        json.raw("{")
        json.key("of")
        json.string(kind)
        json.key("provider")
        json.string(provider)
        json.key("external_id")
        json.string(externalID)
        json.raw("}")
    }

    func overlappingPurchases(
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard authorize(request, .admin, &response) != nil else { return .done }
        let mailbox = mailbox
        let isTaken = context.services.counting.askOverlapping(context.policy) { counted in
            _ = mailbox.post(.overlapping(ticket, counted))
        }
        guard isTaken else {
            write(.unavailable("too many wait for the counts already", retryAfter: 1), &response)
            return .done
        }
        return .later
    }

    func writeOverlapping(_ counted: CountedOverlap?, _ response: inout Response) {
        guard let counted else {
            return write(.unavailable("the database cannot be read", retryAfter: 1), &response)
        }
        json.reset()
        json.raw("{\"count\":")
        json.integer(Int64(counted.people.count))
        json.key("counted_at")
        json.time(counted.at)
        json.key("people")
        json.raw("[")
        for person in counted.people.listed {
            json.separate()
            json.raw("{")
            json.key("user_id")
            json.string(person.user)
            json.key("purchases")
            json.raw("[")
            for purchase in person.purchases {
                json.separate()
                json.raw("{")
                json.key("purchase_id")
                json.string(purchase.purchaseID)
                json.key("provider")
                json.optional(purchase.provider?.name)
                json.key("access_until")
                json.time(purchase.end)
                json.raw("}")
            }
            json.raw("]}")
        }
        json.raw("]}")
        send(200, &response)
    }
}
