internal import Entitlements
internal import HTTPServer
internal import ProviderKit
internal import Providers
internal import Storage

/// What a submission needs when its write is done: whose row is to be answered.
struct SubmissionReply: Sendable {
    var user: UserID
    var environment: StoreEnvironment
    var entitlement: [UInt8]
}

/// `POST /v1/app_store/transactions`: an app hands in the signed transaction StoreKit gave it right after a purchase, and is
/// answered with the user's row.
///
/// Body: `{"signed_transaction": "<JWS>", "user_id": "…"?, "signed_renewal_info": "<JWS>"?, "restore": "transfer"|"keep"?}`.
/// Without `user_id` the purchase is the user's whom its `appAccountToken` names.
extension GatewayHandler {
    func submitTransaction(_ request: Request, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        guard let key = authorize(request, .read, &response) else { return .done }
        guard let adapter = context.registry.adapters[AppStoreAdapter.name.name] as? AppStoreAdapter else {
            write(missing(AppStoreAdapter.name.name), &response)
            return .done
        }
        let known: Set = ["user_id", "signed_transaction", "signed_renewal_info", "restore"]
        guard let body = members(of: request, known: known, &response) else { return .done }
        guard let transaction = body["signed_transaction"]?.string, !transaction.isEmpty else {
            return refuse("signed_transaction: expected the signed transaction as StoreKit gives it", &response)
        }
        let renewalInfo = body["signed_renewal_info"]
        guard renewalInfo?.isNull ?? true || renewalInfo?.string != nil else {
            return refuse("signed_renewal_info: expected the signed renewal information, or nothing", &response)
        }
        guard let restore = restore(body["restore"]) else {
            return refuse("restore: expected transfer or keep", &response)
        }
        guard setScope(request, &response) else { return .done }
        let receivedAt = now
        let verified: VerifiedDelivery
        do throws(VerificationFailure) {
            verified = try adapter.verify(
                transaction: transaction,
                renewalInfo: renewalInfo?.string,
                signers: signers,
                now: receivedAt
            )
        } catch {
            write(.unauthorized, &response)
            return .done
        }
        let event = adapter.normalize(verified)
        guard case .facts(let reference, let facts)? = event.effects.first, let id = reference.ids.first?.id else {
            var reason = "it tells of no purchase"
            if case .quarantined(let why) = event.verdict { reason = why }
            return refuse("signed_transaction: \(reason)", &response)
        }
        guard let user = owner(body["user_id"], facts) else {
            guard body["user_id"] == nil else {
                write(.invalidUserID, &response)
                return .done
            }
            return refuse("user_id: expected, because the transaction has no appAccountToken", &response)
        }
        let submission = PurchaseSubmission(
            event: IncomingEvent(
                provider: adapter.provider,
                event: event,
                receivedAt: receivedAt,
                redactedPayload: { adapter.redact(verified) }
            ),
            id: id,
            environment: reference.environment,
            user: user,
            restore: restore,
            by: Actor(keyID: key.id, at: receivedAt)
        )
        let reply = SubmissionReply(
            user: user,
            environment: reference.environment,
            entitlement: question.entitlement
        )
        return submit(.submitPurchase(submission), .submission(reply), ticket, &response)
    }

    private func restore(_ value: JSON?) -> PurchaseSubmission.Restore? {
        guard let value, !value.isNull else { return context.restore }
        return value.string.flatMap(PurchaseSubmission.Restore.init(rawValue:))
    }

    /// The user asked for, or the one the purchase names.
    private func owner(_ asked: JSON?, _ facts: [Fact]) -> UserID? {
        if let asked, !asked.isNull { return asked.string.flatMap { UserID($0) } }
        for case .owner(let statement) in facts { return statement.users.first }
        return nil
    }

    func finishSubmission(_ reply: SubmissionReply, _ committed: Committed<StoreResult>, _ response: inout Response) {
        guard committed.value == .submitted else {
            write(
                Problem(409, "owned_by_another", "Conflict", "this purchase belongs to another user, and stays theirs"),
                &response
            )
            return
        }
        question.user = Array(reply.user.value.utf8)
        lookup = question.user
        question.environment = reply.environment
        question.entitlement = reply.entitlement
        question.moment = now
        do throws(StorageError) {
            let summary = try encodeAnswer(question.moment)
            unsafe writeAnswer(summary, nil, &response)
        } catch {
            write(.unavailable("the database cannot be read", retryAfter: 1), &response)
        }
    }
}
