internal import Crypto
internal import Entitlements
internal import HTTPServer
internal import ProviderKit
internal import Storage

/// `POST /v1/users/{user_id}/grants` and `DELETE …/grants/{grant_id}` (contract section 6).
extension GatewayHandler {
    /// A reason is a sentence for a colleague, not a document.
    private static let reasonBytesMax = 2000
    private static let nameBytesMax = 255

    func grant(
        _ user: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let key = authorize(request, .admin, &response) else { return .done }
        guard let user = unsafe checkedUser(user, &response) else { return .done }
        guard let body = members(of: request, known: ["until", "reason", "entitlement", "grant_id"], &response) else {
            return .done
        }
        guard let reason = body["reason"]?.string, reason.contains(where: { !$0.isWhitespace }),
            reason.utf8.count <= Self.reasonBytesMax
        else {
            return refuse("reason: expected a text, for whoever asks later why", &response)
        }
        guard let untilJSON = body["until"] else {
            return refuse("until: expected a time, or null for life", &response)
        }
        var until: UnixMillis?
        if !untilJSON.isNull {
            guard let text = untilJSON.string, let moment = UnixMillis(rfc3339: text), moment == moment.clamped else {
                return refuse("until: expected a time such as 2027-01-01T00:00:00Z, or null for life", &response)
            }
            until = moment
        }
        guard let entitlement = name(body["entitlement"], default: context.policy.defaultEntitlement) else {
            return refuse("entitlement: expected a name of 1 to 255 bytes", &response)
        }
        let made = "grant_" + Hex.encode(RandomBytes.make(12))
        guard let grantID = name(body["grant_id"], default: made) else {
            return refuse("grant_id: expected an id of 1 to 255 bytes without control characters", &response)
        }
        let grant = GrantRequest(
            user: user,
            grantID: grantID,
            until: until,
            reason: reason,
            entitlement: entitlement,
            by: Actor(keyID: key.id, at: now)
        )
        return submit(.grant(grant), .grant(grant), ticket, &response)
    }

    func endGrant(
        _ user: UnsafeRawBufferPointer,
        _ grantID: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let key = authorize(request, .admin, &response) else { return .done }
        guard let user = unsafe checkedUser(user, &response) else { return .done }
        guard let grantID = unsafe RequestTarget.text(grantID) else {
            return refuse("grant_id: expected UTF-8", &response)
        }
        let reason = parameter("reason", of: request)
        guard reason.map({ !$0.isEmpty && $0.utf8.count <= Self.reasonBytesMax }) ?? true else {
            return refuse("reason: expected a text, for whoever asks later why", &response)
        }
        let actor = Actor(keyID: key.id, at: now)
        return submit(
            .endGrant(user: user, grantID: grantID, reason: reason, by: actor),
            .grantEnded(grantID: grantID),
            ticket,
            &response
        )
    }

    func finishGrant(_ grant: GrantRequest, _ committed: Committed<StoreResult>, _ response: inout Response) {
        guard case .granted(let isNew) = committed.value else {
            write(
                Problem(409, "grant_conflict", "Conflict", "this grant_id is known with another content"),
                &response
            )
            return
        }
        json.reset()
        json.raw("{")
        json.key("grant_id")
        json.string(grant.grantID)
        json.key("user_id")
        json.string(grant.user.value)
        json.key("entitlement")
        json.string(grant.entitlement)
        json.key("until")
        json.time(grant.until)
        json.key("reason")
        json.string(grant.reason)
        json.raw("}")
        send(isNew ? 201 : 200, &response)
    }

    func finishGrantEnd(_ grantID: String, _ committed: Committed<StoreResult>, _ response: inout Response) {
        guard case .grantEnded = committed.value else {
            write(.notFound("this user has no grant of this id"), &response)
            return
        }
        json.reset()
        json.raw("{")
        json.key("grant_id")
        json.string(grantID)
        json.key("ended")
        json.bool(true)
        json.raw("}")
        send(200, &response)
    }

    // MARK: - Bodies

    func refuse(_ detail: String, _ response: inout Response) -> Disposition {
        write(.badRequest(detail), &response)
        return .done
    }

    /// The members of a JSON object; one that is not known is refused, because it is a misspelt one.
    func members(of request: Request, known: Set<String>, _ response: inout Response) -> [String: JSON]? {
        unsafe members(in: request.body, known: known, &response)
    }

    func members(
        in body: UnsafeRawBufferPointer,
        known: Set<String>,
        _ response: inout Response
    ) -> [String: JSON]? {
        guard let members = JSON(unsafe [UInt8](body))?.object else {
            write(.badRequest("the body: expected a JSON object"), &response)
            return nil
        }
        if let unknown = members.keys.filter({ !known.contains($0) }).sorted().first {
            write(
                .badRequest("\(unknown): no such field; known are \(known.sorted().joined(separator: ", "))"),
                &response
            )
            return nil
        }
        return members
    }

    /// A name of 1 to 255 bytes without control characters, or the default when it is not given.
    func name(_ value: JSON?, default fallback: String) -> String? {
        guard let value, !value.isNull else { return fallback }
        guard let text = value.string, !text.isEmpty, text.utf8.count <= Self.nameBytesMax,
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return nil }
        return text
    }
}
