internal import Entitlements
internal import HTTPServer
internal import Platform
internal import ProviderKit
internal import SQLStorage
internal import Storage

/// `POST /v1/events/{provider}/{event_id}/replay`: takes a recorded event in again, as its adapter reads it today.
extension GatewayHandler {
    func replay(
        _ provider: UnsafeRawBufferPointer,
        _ eventID: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let key = authorize(request, .admin, &response) else { return .done }
        guard let name = unsafe RequestTarget.text(provider), let eventID = unsafe RequestTarget.text(eventID) else {
            return refuse("event_id: expected UTF-8", &response)
        }
        let keyID = key.id
        return view(ticket, &response) { views throws(StorageError) in
            try views.reader.event(ProviderID(name), eventID)
        } _: { handler, known, response in
            handler.replay(known, name, eventID, keyID, &response, ticket)
        }
    }

    private func replay(
        _ known: RecordedEvent?,
        _ name: String,
        _ eventID: String,
        _ keyID: String,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let known else {
            write(.notFound("no event of this provider has this id"), &response)
            return .done
        }
        var incoming: IncomingEvent?
        if let payload = known.payload {
            guard let adapter = context.registry.adapters[name] else {
                write(.notReplayable("its provider is off, so nobody can read its body"), &response)
                return .done
            }
            incoming = Self.incoming(known, payload, adapter)
        } else if known.outcome == .quarantined || known.outcome == .observed {
            write(.notReplayable("nothing is kept of it that could be read again"), &response)
            return .done
        }
        // Without a body there are the facts it told, and they are worked out again.
        let command = StoreCommand.replay(known.sequence, incoming, by: Actor(keyID: keyID, at: now))
        return submit(command, .replay(provider: name, eventID: eventID), ticket, &response)
    }

    /// The event as its kept body tells it now, under the id and the arrival it was recorded with.
    private static func incoming(
        _ known: RecordedEvent,
        _ payload: [UInt8],
        _ adapter: any ProviderAdapter
    ) -> IncomingEvent {
        // Its signature was checked when it came, and only what had passed was kept.
        var event = adapter.normalize(
            VerifiedDelivery(verified: payload, eventID: known.eventID, receivedAt: known.receivedAt)
        )
        event.eventID = known.eventID
        return IncomingEvent(
            provider: adapter.provider,
            event: event,
            receivedAt: known.receivedAt,
            redactedPayload: { payload }
        )
    }

    func finishReplay(
        _ provider: String,
        _ eventID: String,
        _ committed: Committed<StoreResult>,
        _ response: inout Response
    ) {
        switch committed.value {
        case .replayed(let outcome):
            json.reset()
            json.raw("{")
            json.key("outcome")
            json.string(outcome.name)
            json.key("provider")
            json.string(provider)
            json.key("event_id")
            json.string(eventID)
            json.raw("}")
            send(200, &response)
        case .notReplayable: write(.notReplayable("it was replayed or erased meanwhile"), &response)
        default: write(.notFound("no event of this provider has this id"), &response)
        }
    }
}
