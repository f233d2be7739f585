internal import Entitlements
internal import HTTPServer
internal import Platform
internal import ProviderKit
internal import Providers
internal import Storage

/// A push whose token waits for Google's keys.
struct ParkedPush {
    var ticket: ReplyTicket
    var token: [UInt8]
    var body: [UInt8]
}

/// `POST /v1/webhooks/google_play`: notifications that Pub/Sub pushes. The bearer token says who pushes; the notification says
/// only that something has changed, so it is kept, Google is asked, and the answer is what the delivery comes to.
extension GatewayHandler {
    /// Pub/Sub waits for ten seconds unless told otherwise.
    private static let deadlineMillis = 8000
    private static let parkedPushesMax = 256

    func push(
        _ adapter: GooglePlayAdapter,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let token = unsafe bearer(of: request) else { return refusePush(&response) }
        return unsafe push(adapter, token, request.body, &response, ticket)
    }

    private func push(
        _ adapter: GooglePlayAdapter,
        _ token: UnsafeRawBufferPointer,
        _ body: UnsafeRawBufferPointer,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let push = context.registry.googlePush else { return refusePush(&response) }
        switch unsafe access.pushTokens.verify(token, now: now) {
        case .user(let account) where account.verifiedEmail == push.email:
            return take(unsafe [UInt8](body), adapter, &response, ticket)
        case .user, .refused: return refusePush(&response)
        case .needsKeys:
            guard let keys = context.publishedKeys, let place = context.services.pushIssuer,
                access.parkedPushes.count < Self.parkedPushesMax, !isStopping, keys.want(place)
            else {
                write(.keysUnavailable, &response)
                return .done
            }
            access.parkedPushes.append(
                ParkedPush(ticket: ticket, token: unsafe [UInt8](token), body: unsafe [UInt8](body))
            )
            return .later
        }
    }

    private func refusePush(_ response: inout Response) -> Disposition {
        context.webhooks[GooglePlayAdapter.name.name]?.unauthorized.add()
        write(.unauthorized, &response)
        return .done
    }

    /// Takes up the pushes that waited for Google's keys.
    func takePushes(_ finding: PublishedKeys.Finding, _ replies: Replies<GatewayHandler>) {
        if case .keys(let keys) = finding { access.pushTokens.set(keys, of: 0) }
        let waiting = access.parkedPushes
        access.parkedPushes.removeAll()
        for parked in waiting {
            resume(parked.ticket, replies) { response in
                if case .unavailable = finding {
                    write(.keysUnavailable, &response)
                    return .done
                }
                // A key that was not known before and is not known now is nobody's.
                let verdict = unsafe parked.token.withUnsafeBytes { unsafe access.pushTokens.verify($0, now: now) }
                guard case .user(let account) = verdict, account.verifiedEmail == context.registry.googlePush?.email,
                    let adapter = context.registry.adapters[GooglePlayAdapter.name.name] as? GooglePlayAdapter
                else { return refusePush(&response) }
                return take(parked.body, adapter, &response, parked.ticket)
            }
        }
    }

    private func take(
        _ body: [UInt8],
        _ adapter: GooglePlayAdapter,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        let push = GooglePlayPush(body)
        guard case .success(let notification) = push.content else {
            return take(push.delivery, adapter, body.count, now, &response, ticket)
        }
        // Somebody else's app: the same account may push for several.
        guard notification.package == adapter.package else { return refusePush(&response) }
        guard case .purchase = notification.subject else {
            return take(push.delivery, adapter, body.count, now, &response, ticket)
        }
        let task = ProviderTask(
            provider: adapter.provider,
            kind: .read,
            key: push.messageID,
            body: body,
            createdAt: now,
            nextAt: now.adding(millis: SyncWorker.ownMillis)
        )
        let mailbox = mailbox
        let isTaken = context.sync.deliver(task, deadlineMillis: Self.deadlineMillis) { report in
            _ = mailbox.post(.delivered(ticket, provider: task.provider.name, eventID: task.key, report))
        }
        guard isTaken else {
            write(.unavailable("more deliveries are being looked at than the gateway takes"), &response)
            return .done
        }
        return .later
    }

    /// What a delivery came to that had to be looked at.
    func finishDelivery(_ provider: String, _ eventID: String, _ report: SyncReport, _ response: inout Response) {
        guard let outcome = report.result?.value.outcome else {
            context.webhooks[provider]?.failed.add()
            write(.providerUnavailable(provider), &response)
            return
        }
        context.webhooks[provider]?.took(outcome, at: now)
        writeOutcome(outcome, eventID, &response)
    }
}
