internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLStorage
internal import Storage

/// `GET /v1/providers`: which are on and which are off and why, when each was last heard of, and what came of its deliveries.
extension GatewayHandler {
    func providers(_ request: Request, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        guard authorize(request, .admin, &response) != nil else { return .done }
        return view(ticket, &response) { views throws(StorageError) in
            try views.reader.lastArrivals()
        } _: { handler, arrivals, response in
            handler.writeProviders(arrivals, &response)
            return .done
        }
    }

    private func writeProviders(_ arrivals: [ProviderID: UnixMillis], _ response: inout Response) {
        let registry = context.registry
        json.reset()
        json.raw("{\"providers\":[")
        for name in Set(registry.adapters.keys).union(registry.off.keys).sorted() {
            writeProvider(name, lastArrival: arrivals[ProviderID(name)])
        }
        json.raw("],\"counted_since\":")
        json.time(context.services.measurements.startedAt)
        json.raw("}")
        send(200, &response)
    }

    private func writeProvider(_ name: String, lastArrival: UnixMillis?) {
        let isOn = context.registry.adapters[name] != nil
        let measured = context.webhooks[name]
        json.separate()
        json.raw("{")
        json.key("provider")
        json.string(name)
        json.key("on")
        json.bool(isOn)
        json.key("set_to_turn_on")
        json.optional(isOn ? nil : context.registry.off[name])
        json.key("products")
        json.string(context.policy.products[ProviderID(name)] == nil ? "all" : "mapped")
        json.key("last_delivery_at")
        json.time([lastArrival, measured?.lastDelivery].compactMap(\.self).max())
        json.key("outcomes")
        json.raw("{")
        for outcome in EventOutcome.allCases {
            json.key(outcome.name)
            json.integer(Int64(measured?.count(outcome) ?? 0))
        }
        json.key("unauthorized")
        json.integer(Int64(measured?.unauthorized.value ?? 0))
        json.key("failed")
        json.integer(Int64(measured?.failed.value ?? 0))
        json.raw("}}")
    }
}
