internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLStorage
internal import Storage

/// `/v1/me/…` and `/v1/gate`: what the bearer of a user token may ask, about nobody else.
extension GatewayHandler {
    /// `rest` is what follows `/v1/me/`.
    func me(
        _ rest: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        if unsafe RequestTarget.equals(rest, "entitlement") {
            route = .ownEntitlement
            guard isRead(request, &response) else { return .done }
            return unsafe signedIn(.entitlement, rest, request, &response, ticket)
        }
        if unsafe RequestTarget.equals(rest, "sync") {
            route = .ownSync
            guard isMethod(.post, "POST", request, &response) else { return .done }
            return unsafe signedIn(.sync, rest, request, &response, ticket)
        }
        if unsafe RequestTarget.equals(rest, "devices") {
            route = .ownDevices
            switch request.method {
            case .get, .head: return unsafe signedIn(.devices, rest, request, &response, ticket)
            case .post: return unsafe signedIn(.addDevice, rest, request, &response, ticket)
            default:
                write(.methodNotAllowed("GET, HEAD, POST"), &response)
                return .done
            }
        }
        if unsafe RequestTarget.hasPrefix(rest, "devices/"), rest.count > 8 {
            route = .ownDevice
            guard isMethod(.delete, "DELETE", request, &response) else { return .done }
            let device = unsafe UnsafeRawBufferPointer(rebasing: rest[8...])
            return unsafe signedIn(.removeDevice, device, request, &response, ticket)
        }
        write(.notFound, &response)
        return .done
    }

    /// Finds out who asks, and does what they ask for.
    func signedIn(
        _ action: UserAction,
        _ rest: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard unsafe request.body.count <= action.bodyBytesMax else {
            write(.badRequest("the body: expected at most \(action.bodyBytesMax) bytes"), &response)
            return .done
        }
        guard let token = unsafe userToken(of: request, action) else {
            write(.unauthorized, &response)
            return .done
        }
        switch unsafe access.tokens.verify(token, now: now) {
        case .user(let user):
            return unsafe perform(
                action,
                for: user,
                query: request.query,
                ifNoneMatch: request.header("If-None-Match"),
                body: request.body,
                rest: rest,
                &response,
                ticket
            )
        case .refused:
            write(.unauthorized, &response)
            return .done
        case .needsKeys(let issuer):
            guard let keys = context.publishedKeys, access.parked.count < Self.parkedMax, !isStopping,
                keys.want(issuer)
            else {
                write(.keysUnavailable, &response)
                return .done
            }
            access.parked.append(
                ParkedCall(
                    ticket: ticket,
                    issuer: issuer,
                    token: unsafe [UInt8](token),
                    action: action,
                    query: unsafe [UInt8](request.query),
                    ifNoneMatch: unsafe request.header("If-None-Match").map { unsafe [UInt8]($0) },
                    body: unsafe [UInt8](request.body),
                    rest: unsafe [UInt8](rest)
                )
            )
            return .later
        }
    }

    /// More requests than this do not wait for keys: memory stays bounded when an issuer does not answer.
    private static let parkedMax = 1024

    /// Takes up what waited for an issuer's keys.
    func take(_ finding: PublishedKeys.Finding, of issuer: Int, _ replies: Replies<GatewayHandler>) {
        if issuer == context.services.pushIssuer { return takePushes(finding, replies) }
        if case .keys(let keys) = finding { access.tokens.set(keys, of: issuer) }
        let waiting = access.parked.filter { $0.issuer == issuer }
        access.parked.removeAll { $0.issuer == issuer }
        for call in waiting {
            resume(call.ticket, replies) { response in
                if case .unavailable = finding {
                    write(.keysUnavailable, &response)
                    return .done
                }
                return takeUp(call, &response)
            }
        }
    }

    private func takeUp(_ call: ParkedCall, _ response: inout Response) -> Disposition {
        let verdict = unsafe call.token.withUnsafeBytes { unsafe access.tokens.verify($0, now: now) }
        // A key that was not known before and is not known now is nobody's.
        guard case .user(let user) = verdict else {
            write(.unauthorized, &response)
            return .done
        }
        return unsafe call.query.withUnsafeBytes { query in
            unsafe call.body.withUnsafeBytes { body in
                unsafe call.rest.withUnsafeBytes { rest in
                    unsafe (call.ifNoneMatch ?? []).withUnsafeBytes { tag in
                        unsafe perform(
                            call.action,
                            for: user,
                            query: query,
                            ifNoneMatch: call.ifNoneMatch == nil ? nil : tag,
                            body: body,
                            rest: rest,
                            &response,
                            call.ticket
                        )
                    }
                }
            }
        }
    }

    /// Nobody is to wait any more.
    func endParked(_ replies: Replies<GatewayHandler>) {
        for call in access.parked {
            reply(to: call.ticket, replies) { response in write(.keysUnavailable, &response) }
        }
        access.parked.removeAll()
        for push in access.parkedPushes {
            reply(to: push.ticket, replies) { response in write(.keysUnavailable, &response) }
        }
        access.parkedPushes.removeAll()
    }

    private func perform(
        _ action: UserAction,
        for user: SignedInUser,
        query: UnsafeRawBufferPointer,
        ifNoneMatch: UnsafeRawBufferPointer?,
        body: UnsafeRawBufferPointer,
        rest: UnsafeRawBufferPointer,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        switch action {
        case .entitlement:
            question.user.removeAll(keepingCapacity: true)
            question.user.append(contentsOf: user.bytes)
            guard let customer = address(of: user) else {
                return unsafe answer(query: query, ifNoneMatch: ifNoneMatch, &response, ticket)
            }
            let (query, tag) = unsafe ([UInt8](query), ifNoneMatch.map { unsafe [UInt8]($0) })
            return view(ticket, &response) { views throws(StorageError) in
                (try? views.licenses.hasOwnerless(purchasesOf: customer)) ?? false
            } _: { handler, isWaiting, response in
                if isWaiting { return handler.claim(customer, for: user, query: query, &response, ticket) }
                handler.question.user = user.bytes
                return unsafe query.withUnsafeBytes { query in
                    unsafe (tag ?? []).withUnsafeBytes { bytes in
                        unsafe handler.answer(
                            query: query,
                            ifNoneMatch: tag == nil ? nil : bytes,
                            &response,
                            ticket
                        )
                    }
                }
            }
        case .gate:
            question.user.removeAll(keepingCapacity: true)
            question.user.append(contentsOf: user.bytes)
            return unsafe gate(query: query, &response, ticket)
        case .sync:
            guard mayGoOn(user, \.ownSyncs, "the providers were just looked at for this user", &response) else {
                return .done
            }
            return unsafe sync(user.user, query: query, &response, ticket)
        case .devices: return showDevices(of: user.user, &response, ticket)
        case .addDevice: return unsafe addDevice(body, for: user.user, &response, ticket)
        case .submitPurchase, .submitTransaction:
            guard mayGoOn(user, \.ownPurchases, "this user handed in many purchases just now", &response) else {
                return .done
            }
            return unsafe serve(action, Asker(bearer: user.user, actorID: "user-token"), body, query, &response, ticket)
        case .promotionalOffer, .offerJWS:
            guard mayGoOn(user, \.ownOffers, "many offers were signed for this user just now", &response) else {
                return .done
            }
            return unsafe serve(action, Asker(bearer: user.user, actorID: "user-token"), body, query, &response, ticket)
        case .removeDevice: return unsafe removeDevice(rest, of: user.user, &response, ticket)
        }
    }

    /// False, and answered, for a person who has asked for this too often.
    private func mayGoOn(
        _ user: SignedInUser,
        _ limiter: WritableKeyPath<LoopAccess, GuessLimiter>,
        _ reason: String,
        _ response: inout Response
    ) -> Bool {
        let clock = MonotonicNanos.now()
        if let wait = access[keyPath: limiter].wait(user.bytes, now: clock) {
            var problem = Problem.tooManyAttempts(wait)
            problem.detail = "\(reason); try again later"
            write(problem, &response)
            return false
        }
        access[keyPath: limiter].count(user.bytes, now: clock)
        return true
    }

    // MARK: - For a key, or for oneself

    /// What a key of the seller may ask for anybody, and a signed-in person for themselves.
    func byKeyOrUser(
        _ action: UserAction,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let key = key(of: request) else {
            return unsafe signedIn(action, request.path, request, &response, ticket)
        }
        let asker = Asker(bearer: nil, actorID: key.id)
        return unsafe serve(action, asker, request.body, request.query, &response, ticket)
    }

    private func serve(
        _ action: UserAction,
        _ asker: Asker,
        _ body: UnsafeRawBufferPointer,
        _ query: UnsafeRawBufferPointer,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        switch action {
        case .submitPurchase: return unsafe submitPurchase(asker, body, query, &response, ticket)
        case .submitTransaction: return unsafe submitTransaction(asker, body, query, &response, ticket)
        case .promotionalOffer: return unsafe signPromotionalOffer(asker, body, &response)
        case .offerJWS: return unsafe signOfferJWS(asker, body, &response)
        case .entitlement, .gate, .sync, .devices, .addDevice, .removeDevice:
            write(.notFound, &response)
            return .done
        }
    }

    // MARK: - What was bought under the person's address

    /// The customer that the person's verified address is: something may have been bought under it that is nobody's yet.
    private func address(of user: SignedInUser) -> CustomerID? {
        guard let addresses = context.buyerAddresses, let email = user.verifiedEmail else { return nil }
        return addresses.customer(of: email)
    }

    private func claim(
        _ customer: CustomerID,
        for user: SignedInUser,
        query: [UInt8],
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        let identity = IdentityRequest(
            user: user.user,
            provider: customer.provider,
            externalID: customer.value,
            by: Actor(keyID: "user-token", at: now)
        )
        return submit(
            .addIdentity(identity),
            .claimed(user: user.bytes, query: query),
            ticket,
            &response
        )
    }

    func answerAfterClaim(_ user: [UInt8], _ query: [UInt8], _ response: inout Response) {
        question.user.removeAll(keepingCapacity: true)
        question.user.append(contentsOf: user)
        unsafe query.withUnsafeBytes { unsafe answerNow(query: $0, &response) }
    }

    // MARK: - Tokens

    /// The token of `Authorization: Bearer …`; for reading also that of a cookie, when no bearer is named.
    private func userToken(of request: Request, _ action: UserAction) -> UnsafeRawBufferPointer? {
        if let bearer = unsafe bearer(of: request) { return unsafe bearer }
        guard action.isReading, let field = unsafe request.header("Cookie") else { return nil }
        for issuer in context.access.issuers {
            guard let name = issuer.cookie else { continue }
            if let value = unsafe Self.cookie(name, in: field) { return unsafe value }
        }
        return nil
    }

    /// The value of a cookie in the field that a client sends (RFC 6265 section 4.2).
    static func cookie(_ name: String, in field: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var start = 0
        while start < field.count {
            while start < field.count, unsafe field[start] == 0x20 || field[start] == UInt8(ascii: ";") { start += 1 }
            var end = start
            while end < field.count, unsafe field[end] != UInt8(ascii: ";") { end += 1 }
            let pair = unsafe UnsafeRawBufferPointer(rebasing: field[start..<end])
            let count = name.utf8.count
            let isNamed =
                unsafe pair.count > count + 1 && pair[count] == UInt8(ascii: "=") && pair.starts(with: name.utf8)
            if isNamed {
                var value = unsafe UnsafeRawBufferPointer(rebasing: pair[(count + 1)...])
                while let last = unsafe value.last, last == 0x20 {
                    unsafe value = UnsafeRawBufferPointer(rebasing: value.dropLast())
                }
                let isQuoted = unsafe value.count > 1 && value.first == 0x22 && value.last == 0x22
                if isQuoted { unsafe value = UnsafeRawBufferPointer(rebasing: value[1..<(value.count - 1)]) }
                return unsafe value
            }
            start = end + 1
        }
        return nil
    }
}
