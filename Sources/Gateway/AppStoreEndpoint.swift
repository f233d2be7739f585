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

/// Whom a request is about; nobody, when it leaves that to the purchase.
struct NamedUser {
    var user: UserID?
}

/// `POST /v1/app_store/transactions`: an app hands in the signed transaction StoreKit gave it right after a purchase, and is
/// answered with the user's row.
///
/// Body: `{"signed_transaction": "<JWS>", "user_id": "…"?, "signed_renewal_info": "<JWS>"?, "restore": "transfer"|"keep"?}`.
/// Without `user_id` the purchase is the user's whom its `appAccountToken` names; with a user token it is the bearer's.
extension GatewayHandler {
    func submitTransaction(
        _ asker: Asker,
        _ body: UnsafeRawBufferPointer,
        _ query: UnsafeRawBufferPointer,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let adapter = context.registry.adapters[AppStoreAdapter.name.name] as? AppStoreAdapter else {
            write(missing(AppStoreAdapter.name.name), &response)
            return .done
        }
        let known: Set = ["user_id", "signed_transaction", "signed_renewal_info", "restore"]
        guard let members = unsafe members(in: body, known: known, &response) else { return .done }
        guard let transaction = members["signed_transaction"]?.string, !transaction.isEmpty else {
            return refuse("signed_transaction: expected the signed transaction as StoreKit gives it", &response)
        }
        let renewalInfo = members["signed_renewal_info"]
        guard renewalInfo?.isNull ?? true || renewalInfo?.string != nil else {
            return refuse("signed_renewal_info: expected the signed renewal information, or nothing", &response)
        }
        guard let restore = restore(members["restore"]) else {
            return refuse("restore: expected transfer or keep", &response)
        }
        guard let named = named(members["user_id"], asker, &response), unsafe setScope(query: query, &response) else {
            return .done
        }
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
        guard let user = named.user ?? Self.owner(facts) else {
            return refuse("user_id: expected, because the transaction has no appAccountToken", &response)
        }
        var submission = PurchaseSubmission(
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
            by: Actor(keyID: asker.actorID, at: receivedAt)
        )
        if context.sync.canAsk(adapter.provider), let told = adapter.accountToken(of: user, in: verified) {
            submission.thenIfNew = [told.task(of: adapter.provider, at: receivedAt)]
        }
        let reply = SubmissionReply(
            user: user,
            environment: reference.environment,
            entitlement: question.entitlement
        )
        return submit(.submitPurchase(submission), .submission(reply), ticket, &response)
    }

    /// What happens to a purchase that is somebody else's; nil for a word that is not known.
    func restore(_ value: JSON?) -> PurchaseSubmission.Restore? {
        guard let value, !value.isNull else { return context.restore }
        return value.string.flatMap(PurchaseSubmission.Restore.init(rawValue:))
    }

    /// The user that a request names, if it names one: with a user token its bearer, whoever is named. Nil, and answered, for a
    /// name that cannot be one, or somebody else's.
    func named(_ value: JSON?, _ asker: Asker, _ response: inout Response) -> NamedUser? {
        guard let value, !value.isNull else { return NamedUser(user: asker.bearer) }
        guard let user = value.string.flatMap({ UserID($0) }) else {
            write(.invalidUserID, &response)
            return nil
        }
        guard asker.bearer == nil || asker.bearer == user else {
            write(.badRequest("user_id: a user token speaks for its own user only"), &response)
            return nil
        }
        return NamedUser(user: user)
    }

    /// The user that the purchase names.
    private static func owner(_ facts: [Fact]) -> UserID? {
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
