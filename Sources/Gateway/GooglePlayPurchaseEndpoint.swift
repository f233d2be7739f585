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

    func submitPurchase(_ request: Request, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        if let key = key(of: request) {
            return unsafe submitPurchase(
                body: request.body,
                query: request.query,
                for: nil,
                by: key.id,
                &response,
                ticket
            )
        }
        return unsafe signedIn(.submitPurchase, request.path, request, &response, ticket)
    }

    /// - Parameter bearer: The one whose token it is; nobody else can be named then.
    func submitPurchase(
        body: UnsafeRawBufferPointer,
        query: UnsafeRawBufferPointer,
        for bearer: UserID?,
        by actor: String,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard context.sync.canAsk(GooglePlayAdapter.name) else {
            write(missing(GooglePlayAdapter.name.name), &response)
            return .done
        }
        guard let document = JSON(unsafe [UInt8](body)), let members = document.object else {
            return refuse("the body: expected a JSON object", &response)
        }
        let known: Set = ["purchase_token", "user_id", "restore"]
        if let other = members.keys.sorted().first(where: { !known.contains($0) }) {
            return refuse("\(other): not known here", &response)
        }
        guard let token = document["purchase_token"]?.string, !token.isEmpty,
            token.utf8.count <= Self.purchaseTokenBytesMax
        else { return refuse("purchase_token: expected the token as Google Play gives it", &response) }
        var user = bearer
        if let asked = document["user_id"], !asked.isNull {
            guard let named = asked.string.flatMap({ UserID($0) }) else {
                write(.invalidUserID, &response)
                return .done
            }
            guard bearer == nil || bearer == named else {
                return refuse("user_id: a user token speaks for its own user only", &response)
            }
            user = named
        }
        var restore = context.restore
        if let asked = document["restore"], !asked.isNull {
            guard let word = asked.string.flatMap(PurchaseSubmission.Restore.init(rawValue:)) else {
                return refuse("restore: expected transfer or keep", &response)
            }
            restore = word
        }
        guard unsafe setScope(query: query, &response) else { return .done }
        let claim = PurchaseClaim(
            id: ExternalID(namespace: GooglePlayAdapter.tokenNamespace, value: token),
            user: user,
            restore: restore,
            by: Actor(keyID: actor, at: now)
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
            if case .ingested(.observed) = result.value {
                return write(
                    Problem(409, "purchase_pending", "Conflict", "the purchase is not paid yet, or means nothing"),
                    &response
                )
            }
            if case .ingested(.quarantined) = result.value {
                return write(.providerUnavailable(GooglePlayAdapter.name.name), &response)
            }
            return write(.badRequest("user_id: expected, because the purchase names no account"), &response)
        }
        let reply = SubmissionReply(user: owner.user, environment: owner.environment, entitlement: entitlement)
        finishSubmission(reply, result, &response)
    }
}
