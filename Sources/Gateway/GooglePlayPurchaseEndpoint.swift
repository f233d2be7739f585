internal import Entitlements
internal import HTTPServer
internal import Platform
internal import ProviderKit
internal import Providers
internal import Storage

/// `POST /v1/google_play/purchases`: an app hands in the purchase token that Google Play gave it right after a purchase; Google
/// is asked what it is worth, the purchase is acknowledged, and the answer is the user's row.
///
/// Body: `{"purchase_token": "…", "user_id": "…"?, "restore": "transfer"|"keep"?}`. Without `user_id` the purchase is the user's
/// whom its obfuscated account id names; with a user token it is the bearer's.
extension GatewayHandler {
    private static let purchaseMillis = 8000
    private static let purchaseTokenBytesMax = 2048

    func submitPurchase(
        _ asker: Asker,
        _ body: UnsafeRawBufferPointer,
        _ query: UnsafeRawBufferPointer,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard context.sync.canAsk(GooglePlayAdapter.name) else {
            write(missing(GooglePlayAdapter.name.name), &response)
            return .done
        }
        let known: Set = ["purchase_token", "user_id", "restore"]
        guard let members = unsafe members(in: body, known: known, &response) else { return .done }
        guard let token = members["purchase_token"]?.string, !token.isEmpty,
            token.utf8.count <= Self.purchaseTokenBytesMax
        else { return refuse("purchase_token: expected the token as Google Play gives it", &response) }
        guard let named = named(members["user_id"], asker, &response) else { return .done }
        guard let restore = restore(members["restore"]) else {
            return refuse("restore: expected transfer or keep", &response)
        }
        guard unsafe setScope(query: query, &response) else { return .done }
        let claim = PurchaseClaim(
            id: ExternalID(namespace: GooglePlayAdapter.tokenNamespace, value: token),
            user: named.user,
            restore: restore,
            by: Actor(keyID: asker.actorID, at: now)
        )
        let (entitlement, mailbox) = (question.entitlement, mailbox)
        let isTaken = context.sync.claim(claim, at: GooglePlayAdapter.name, deadlineMillis: Self.purchaseMillis) {
            report in
            _ = mailbox.post(.claimRead(ticket, entitlement: entitlement, report))
        }
        guard isTaken else {
            write(.unavailable("more purchases are being looked at than the gateway takes"), &response)
            return .done
        }
        return .later
    }

    func finishClaim(_ entitlement: [UInt8], _ report: SyncReport, _ response: inout Response) {
        guard let result = report.result else {
            guard report.isUnknown, report.unreachable.isEmpty else {
                return write(.providerUnavailable(GooglePlayAdapter.name.name), &response)
            }
            let problem = Problem(
                404,
                "purchase_not_found",
                "Not Found",
                "Google Play does not know this purchase token"
            )
            return write(problem, &response)
        }
        guard let owner = report.owner else {
            if result.value.outcome == .observed {
                return write(
                    Problem(409, "purchase_pending", "Conflict", "the purchase is not paid yet, or means nothing"),
                    &response
                )
            }
            if result.value.outcome == .quarantined {
                return write(.providerUnavailable(GooglePlayAdapter.name.name), &response)
            }
            return write(.badRequest("user_id: expected, because the purchase names no account"), &response)
        }
        let reply = SubmissionReply(user: owner.user, environment: owner.environment, entitlement: entitlement)
        finishSubmission(reply, result, &response)
    }
}
