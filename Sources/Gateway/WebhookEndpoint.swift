internal import Entitlements
internal import HTTPServer
internal import Platform
internal import ProviderKit
internal import Providers
internal import Storage

/// `POST /v1/webhooks/{provider}` (contract section 4): verify the raw bytes, put them in the product's words, hand them to
/// the writer, and answer 200 when they are on the disk.
extension GatewayHandler {
    func webhooks(
        _ name: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let provider = unsafe RequestTarget.text(name), let adapter = context.registry.adapters[provider] else {
            write(unsafe missing(RequestTarget.text(name) ?? ""), &response)
            return .done
        }
        guard isMethod(.post, "POST", request, &response) else { return .done }
        if let adapter = adapter as? GooglePlayAdapter { return push(adapter, request, &response, ticket) }
        let delivery = WebhookDelivery(body: unsafe [UInt8](request.body), signers: signers) { name in
            unsafe request.header(named: name).map { unsafe String(decoding: $0, as: UTF8.self) }
        }
        let receivedAt = now
        do throws(VerificationFailure) {
            let verified = try adapter.verify(delivery, now: receivedAt)
            return take(verified, adapter, delivery.body.count, receivedAt, &response, ticket)
        } catch {
            // Which check failed is nobody's business outside.
            context.webhooks[provider]?.unauthorized.add()
            write(.unauthorized, &response)
            return .done
        }
    }

    func missing(_ name: String) -> Problem {
        guard context.registry.isKnown(name) else {
            return Problem(404, "unknown_provider", "Not Found", "no provider has this name")
        }
        return Problem(404, "provider_not_configured", "Not Found", "this provider is off: its secret is not set")
    }

    func take(
        _ verified: VerifiedDelivery,
        _ adapter: any ProviderAdapter,
        _ bodyBytes: Int,
        _ receivedAt: UnixMillis,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        var event = adapter.normalize(verified)
        if let addresses = context.buyerAddresses { event = addresses.added(to: event, from: verified.body) }
        if event.verdict == .counted {
            context.webhooks[adapter.provider.name]?.took(.observed, at: receivedAt)
            writeOutcome(.observed, event.eventID, &response)
            return .done
        }
        let incoming = IncomingEvent(
            provider: adapter.provider,
            event: event,
            receivedAt: receivedAt,
            redactedPayload: { adapter.redact(verified) }
        )
        let continuation = Continuation.webhook(provider: adapter.provider.name, eventID: event.eventID)
        let lookups = context.sync.canAsk(adapter.provider) ? adapter.lookups(after: verified, event) : []
        let then = lookups.map { $0.task(of: adapter.provider, at: receivedAt, after: SyncWorker.lookupMillis) }
        let command = then.isEmpty ? StoreCommand.ingest(incoming) : .takeReading(.init(events: [incoming], then: then))
        let disposition = submit(command, bytes: bodyBytes, continuation, ticket, &response)
        if case .done = disposition { context.webhooks[adapter.provider.name]?.failed.add() }
        return disposition
    }

    func finishWebhook(_ eventID: String, _ committed: Committed<StoreResult>, _ response: inout Response) {
        guard let outcome = committed.value.outcome else { return }
        writeOutcome(outcome, eventID, &response)
    }

    func writeOutcome(_ outcome: EventOutcome, _ eventID: String, _ response: inout Response) {
        json.reset()
        json.raw("{\"outcome\":")
        json.string(outcome.name)
        json.raw(",\"event_id\":")
        json.string(eventID)
        json.raw("}")
        send(200, &response)
    }
}
