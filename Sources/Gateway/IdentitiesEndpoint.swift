internal import Entitlements
internal import HTTPServer
internal import ProviderKit
internal import Storage

/// `POST /v1/users/{user_id}/identities`: an administrator says whose an external id is, and what was parked for it is theirs.
extension GatewayHandler {
    private static let externalIDBytesMax = 1024

    func addIdentity(
        _ user: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let key = authorize(request, .admin, &response) else { return .done }
        guard let user = unsafe checkedUser(user, &response) else { return .done }
        guard let body = members(of: request, known: ["provider", "external_id", "email"], &response) else {
            return .done
        }
        if let email = body["email"] {
            return claimByAddress(email, user, body, Actor(keyID: key.id, at: now), &response, ticket)
        }
        guard let provider = body["provider"]?.string, context.registry.isKnown(provider) else {
            return refuse("provider: expected the name of a provider", &response)
        }
        guard let externalID = body["external_id"]?.string, !externalID.isEmpty,
            externalID.utf8.count <= Self.externalIDBytesMax
        else { return refuse("external_id: expected an id of the provider", &response) }
        var identity = IdentityRequest(
            user: user,
            provider: ProviderID(provider),
            externalID: externalID,
            by: Actor(keyID: key.id, at: now)
        )
        // A RevenueCat id may be a user id of the same person, and may be a transaction.
        if provider == "revenuecat", !externalID.contains("/"), let other = UserID(externalID), other != user {
            identity.samePerson = [other]
        }
        return submit(.addIdentity(identity), .identity(identity), ticket, &response)
    }

    /// What was bought under an address without an account is this user's.
    private func claimByAddress(
        _ email: JSON,
        _ user: UserID,
        _ body: [String: JSON],
        _ actor: Actor,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard body.count == 1 else { return refuse("email: stands alone, without provider and external_id", &response) }
        guard let addresses = context.buyerAddresses else {
            return refuse("email: claim_by_email is off, so no purchase is known by an address", &response)
        }
        guard let customer = email.string.flatMap(addresses.customer(of:)) else {
            return refuse("email: expected an address", &response)
        }
        let identity = IdentityRequest(
            user: user,
            provider: customer.provider,
            externalID: customer.value,
            by: actor
        )
        return submit(.addIdentity(identity), .identity(identity), ticket, &response)
    }

    func finishIdentity(_ identity: IdentityRequest, _ committed: Committed<StoreResult>, _ response: inout Response) {
        guard case .identityAdded(let isNew) = committed.value else { return }
        json.reset()
        json.raw("{")
        json.key("user_id")
        json.string(identity.user.value)
        json.key("provider")
        json.string(identity.provider.name)
        json.key("external_id")
        json.string(identity.externalID)
        json.raw("}")
        send(isNew ? 201 : 200, &response)
    }
}
