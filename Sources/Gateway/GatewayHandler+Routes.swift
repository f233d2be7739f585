internal import Entitlements
internal import HTTPServer
internal import Platform

/// The paths of the API. The gate is looked for first; all else may take a little longer.
extension GatewayHandler {
    func route(_ request: Request, _ response: inout Response, _ ticket: ReplyTicket) -> Disposition {
        let path = unsafe request.path
        if unsafe RequestTarget.hasPrefix(path, "/v1/users/") {
            return unsafe users(UnsafeRawBufferPointer(rebasing: path[10...]), request, &response, ticket)
        }
        if unsafe RequestTarget.hasPrefix(path, "/v1/webhooks/") {
            self.route = .webhook
            return unsafe webhooks(UnsafeRawBufferPointer(rebasing: path[13...]), request, &response, ticket)
        }
        if unsafe RequestTarget.hasPrefix(path, "/v1/gate/") {
            self.route = .gate
            guard isRead(request, &response) else { return .done }
            return unsafe gate(UnsafeRawBufferPointer(rebasing: path[9...]), request, &response, ticket)
        }
        if unsafe RequestTarget.equals(path, "/v1/gate") {
            self.route = .ownGate
            guard isRead(request, &response) else { return .done }
            return unsafe signedIn(.gate, path, request, &response, ticket)
        }
        if unsafe RequestTarget.hasPrefix(path, "/v1/me/") {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: path[7...])
            return crossOrigin(request, &response, ticket) { response in
                unsafe me(rest, request, &response, ticket)
            }
        }
        if unsafe RequestTarget.hasPrefix(path, "/v1/licenses"),
            unsafe path.count == 12 || path[12] == UInt8(ascii: "/")
        {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: path[12...])
            return crossOrigin(request, &response, ticket) { response in
                unsafe licenses(rest, request, &response, ticket)
            }
        }
        if unsafe RequestTarget.equals(path, "/openapi.json") {
            self.route = .description
            guard isRead(request, &response) else { return .done }
            return showDescription(request, &response)
        }
        if unsafe RequestTarget.equals(path, "/.well-known/jwks.json") {
            self.route = .signingKeys
            guard isRead(request, &response) else { return .done }
            return showSigningKeys(&response)
        }
        if unsafe RequestTarget.equals(path, "/v1/entitlement") {
            self.route = .entitlementByQuery
            guard isRead(request, &response) else { return .done }
            return entitlementByQuery(request, &response, ticket)
        }
        if unsafe RequestTarget.equals(path, "/v1/entitlements/query") {
            self.route = .query
            guard isMethod(.post, "POST", request, &response) else { return .done }
            return query(request, &response, ticket)
        }
        if unsafe RequestTarget.hasPrefix(path, "/v1/app_store/") {
            return unsafe appStore(UnsafeRawBufferPointer(rebasing: path[14...]), request, &response, ticket)
        }
        if unsafe RequestTarget.equals(path, "/v1/google_play/purchases") {
            guard enter(.googlePlayPurchases, request, &response), isMethod(.post, "POST", request, &response) else {
                return .done
            }
            return byKeyOrUser(.submitPurchase, request, &response, ticket)
        }
        if unsafe RequestTarget.equals(path, "/v1/events") {
            guard enter(.events, request, &response), isRead(request, &response) else { return .done }
            return events(request, &response, ticket)
        }
        if unsafe RequestTarget.hasPrefix(path, "/v1/events/") {
            return unsafe event(UnsafeRawBufferPointer(rebasing: path[11...]), request, &response, ticket)
        }
        if unsafe RequestTarget.equals(path, "/v1/audit") {
            guard enter(.audit, request, &response), isRead(request, &response) else { return .done }
            return audit(request, &response, ticket)
        }
        if unsafe RequestTarget.equals(path, "/v1/providers") {
            guard enter(.providers, request, &response), isRead(request, &response) else { return .done }
            return providers(request, &response, ticket)
        }
        if unsafe RequestTarget.equals(path, "/v1/purchases/parked") {
            guard enter(.parked, request, &response), isRead(request, &response) else { return .done }
            return parkedPurchases(request, &response, ticket)
        }
        if unsafe RequestTarget.equals(path, "/v1/purchases/overlapping") {
            guard enter(.overlapping, request, &response), isRead(request, &response) else { return .done }
            return overlappingPurchases(request, &response, ticket)
        }
        if unsafe RequestTarget.equals(path, "/admin") {
            guard enter(.page, request, &response), isRead(request, &response) else { return .done }
            return showPage(&response)
        }
        if unsafe RequestTarget.equals(path, "/metrics") {
            guard enter(.metrics, request, &response), isRead(request, &response) else { return .done }
            return metrics(request, &response, ticket)
        }
        if unsafe RequestTarget.equals(path, "/v1/changes") {
            guard enter(.changes, request, &response), isMethod(.get, "GET", request, &response) else { return .done }
            return changes(request, &response, ticket)
        }
        if unsafe RequestTarget.hasPrefix(path, "/v1/notifications") {
            guard enter(.notifications, request, &response) else { return .done }
            return unsafe notifications(UnsafeRawBufferPointer(rebasing: path[17...]), request, &response, ticket)
        }
        if unsafe RequestTarget.equals(path, "/healthz") {
            self.route = .health
            guard isRead(request, &response) else { return .done }
            return healthy(&response)
        }
        if unsafe RequestTarget.equals(path, "/readyz") {
            self.route = .readiness
            guard isRead(request, &response) else { return .done }
            return ready(&response, ticket)
        }
        write(.notFound, &response)
        return .done
    }

    /// `/v1/users/{id}` and what is below it. The id is one segment: a slash in it is percent-encoded.
    private func users(
        _ rest: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        let (id, below) = unsafe split(rest)
        guard let below = unsafe below else {
            guard enter(.user, request, &response) else { return .done }
            switch request.method {
            case .get, .head: return unsafe showUser(id, request, &response, ticket)
            case .delete: return unsafe erase(id, request, &response, ticket)
            default:
                write(.methodNotAllowed("GET, HEAD, DELETE"), &response)
                return .done
            }
        }
        if unsafe RequestTarget.equals(below, "entitlement") {
            self.route = .entitlement
            guard isRead(request, &response) else { return .done }
            return unsafe entitlement(id, request, &response, ticket)
        }
        if unsafe RequestTarget.equals(below, "export") {
            guard enter(.export, request, &response), isMethod(.get, "GET", request, &response) else { return .done }
            return unsafe export(id, request, &response, ticket)
        }
        if unsafe RequestTarget.equals(below, "grants") {
            guard enter(.grants, request, &response), isMethod(.post, "POST", request, &response) else { return .done }
            return unsafe grant(id, request, &response, ticket)
        }
        if unsafe RequestTarget.equals(below, "sync") {
            guard enter(.sync, request, &response), isMethod(.post, "POST", request, &response) else { return .done }
            return unsafe sync(id, request, &response, ticket)
        }
        if unsafe RequestTarget.equals(below, "identities") {
            guard enter(.identities, request, &response), isMethod(.post, "POST", request, &response) else {
                return .done
            }
            return unsafe addIdentity(id, request, &response, ticket)
        }
        let (head, grantID) = unsafe split(below)
        if let grantID = unsafe grantID, unsafe RequestTarget.equals(head, "grants"), grantID.count > 0 {
            guard enter(.grant, request, &response), isMethod(.delete, "DELETE", request, &response) else {
                return .done
            }
            return unsafe endGrant(id, grantID, request, &response, ticket)
        }
        write(.notFound, &response)
        return .done
    }

    private func appStore(
        _ rest: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        let isTransaction = unsafe RequestTarget.equals(rest, "transactions")
        let isOffer = unsafe RequestTarget.equals(rest, "promotional-offers")
        let isJWS = unsafe RequestTarget.equals(rest, "offer-jws")
        guard isTransaction || isOffer || isJWS else {
            write(.notFound, &response)
            return .done
        }
        guard enter(isTransaction ? .appStoreTransactions : isOffer ? .offers : .offerJWS, request, &response),
            isMethod(.post, "POST", request, &response)
        else { return .done }
        let action: UserAction = isTransaction ? .submitTransaction : isOffer ? .promotionalOffer : .offerJWS
        return byKeyOrUser(action, request, &response, ticket)
    }

    /// `/v1/events/{provider}/{event_id}/replay`. A slash in an id is percent-encoded.
    private func event(
        _ rest: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        let (provider, below) = unsafe split(rest)
        if let below = unsafe below {
            let (id, action) = unsafe split(below)
            if let action = unsafe action, id.count > 0, unsafe RequestTarget.equals(action, "replay") {
                guard enter(.replay, request, &response), isMethod(.post, "POST", request, &response) else {
                    return .done
                }
                return unsafe replay(provider, id, request, &response, ticket)
            }
        }
        write(.notFound, &response)
        return .done
    }

    /// What the request is measured as; false, and answered, for what is not served at the address it came by.
    func enter(_ route: Route, _ request: Request, _ response: inout Response) -> Bool {
        self.route = route
        guard route.isForOperators, !isForOperators(request) else { return true }
        write(.notFound, &response)
        return false
    }

    /// The first segment, and what follows the slash after it.
    func split(_ path: UnsafeRawBufferPointer) -> (UnsafeRawBufferPointer, UnsafeRawBufferPointer?) {
        var index = 0
        while index < path.count, unsafe path[index] != UInt8(ascii: "/") { index += 1 }
        guard index < path.count else { return unsafe (path, nil) }
        return unsafe (
            UnsafeRawBufferPointer(rebasing: path[..<index]), UnsafeRawBufferPointer(rebasing: path[(index + 1)...])
        )
    }

    func isRead(_ request: Request, _ response: inout Response) -> Bool {
        guard request.method == .get || request.method == .head else {
            write(.methodNotAllowed("GET, HEAD"), &response)
            return false
        }
        return true
    }

    func isMethod(
        _ method: Method,
        _ allow: StaticString,
        _ request: Request,
        _ response: inout Response
    ) -> Bool {
        guard request.method == method else {
            write(.methodNotAllowed(allow), &response)
            return false
        }
        return true
    }

    /// The user of a path, checked and in its kept form; else the answer is written.
    func checkedUser(_ encoded: UnsafeRawBufferPointer, _ response: inout Response) -> UserID? {
        guard let text = unsafe RequestTarget.text(encoded), let user = UserID(text) else {
            write(.invalidUserID, &response)
            return nil
        }
        return user
    }
}
