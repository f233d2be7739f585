internal import Entitlements
internal import HTTPServer
internal import Platform
internal import SQLStorage
internal import Storage

/// `GET /v1/users/{user_id}`: the answer, and everything that explains it to a customer. `DELETE` erases the person.
extension GatewayHandler {
    private static let eventsShown = 50

    func showUser(
        _ user: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard authorize(request, .admin, &response) != nil else { return .done }
        guard let user = unsafe checkedUser(user, &response) else { return .done }
        guard setScope(request, &response) else { return .done }
        question.user = Array(user.value.utf8)
        question.moment = now
        let asked = question
        return view(ticket, &response) { views throws(StorageError) in
            (
                try views.reader.rowCopy(of: user, in: asked.environment),
                try views.reader.user(user, eventsMax: Self.eventsShown),
                try views.licenses.licenses(of: user)
            )
        } _: { handler, found, response in
            let (row, view, licenses) = found
            handler.question = asked
            handler.json.reset()
            _ = AnswerEncoder.encode(asked, copy: row, into: &handler.json)
            handler.writeDetails(view, licenses)
            handler.json.raw("}")
            handler.send(200, &response)
            return .done
        }
    }

    func erase(
        _ user: UnsafeRawBufferPointer,
        _ request: Request,
        _ response: inout Response,
        _ ticket: ReplyTicket
    ) -> Disposition {
        guard let key = authorize(request, .admin, &response) else { return .done }
        guard let user = unsafe checkedUser(user, &response) else { return .done }
        return submit(.erase(user: user, by: Actor(keyID: key.id, at: now)), .erase, ticket, &response)
    }

    func finishErase(_ response: inout Response) {
        response.start(204)
        response.finish()
    }

    private func writeDetails(_ view: UserView, _ licenses: [LicenseView]) {
        writeExplanation(view)
        json.list("ids", view.ids) { $0.string($1.value) }
        json.key("purchases")
        json.raw("[")
        for purchase in view.purchases { writePurchase(purchase) }
        json.raw("]")
        json.list("identities", view.identities) { $0.identity($1) }
        json.list("grants", view.grants) { $0.grant($1) }
        json.key("licenses")
        json.raw("[")
        for view in licenses {
            json.separate()
            json.raw("{")
            writeLicenseMembers(view.license)
            writeSeats(view.seats)
            json.raw("}")
        }
        json.raw("]")
        json.key("events")
        json.raw("[")
        for event in view.events { writeEvent(event) }
        json.raw("]")
        json.list("overlapping", context.policy.overlapping(view.candidates, at: question.moment)) {
            $0.string($1.purchaseID)
        }
    }

    private func entitlements(of purchase: PurchaseView) -> [Subscription.Entitlement] {
        guard let outcome = purchase.outcome else { return [] }
        return context.policy.elect([Candidate(purchaseID: purchase.purchaseID, outcome: outcome)]).entitlements
    }

    private func writePurchase(_ purchase: PurchaseView) {
        let entitlements = entitlements(of: purchase)
        let latest = entitlements.max { ($0.end ?? .latest) < ($1.end ?? .latest) }
        json.separate()
        json.raw("{")
        json.key("purchase_id")
        json.string(purchase.purchaseID)
        json.key("provider")
        json.string(purchase.provider.name)
        json.key("environment")
        json.string(purchase.environment.name)
        json.key("store")
        json.optional(purchase.outcome?.store)
        json.key("status")
        json.string(latest?.status(at: question.moment).name ?? Status.none.name)
        json.key("entitled")
        json.bool(latest?.isEntitled(at: question.moment) ?? false)
        json.key("since")
        json.time(purchase.facts.map(\.beginning).min())
        json.key("access_until")
        json.time(latest?.end)
        json.key("period_end")
        json.time(latest?.periodEnd)
        json.key("lifetime")
        json.bool(latest.map { $0.end == nil } ?? false)
        json.key("will_renew")
        json.bool(purchase.outcome?.willRenew ?? false)
        json.key("product_ids")
        json.raw("[")
        for product in Set(purchase.outcome?.lines.flatMap(\.products) ?? []).sorted() {
            json.separate()
            json.string(product)
        }
        json.raw("]")
        json.key("entitlements")
        json.raw("{")
        for entitlement in entitlements {
            json.key(entitlement.name)
            json.time(entitlement.end)
        }
        json.raw("}")
        json.key("external_ids")
        json.raw("[")
        for id in purchase.externalIDs {
            json.separate()
            json.string(id)
        }
        json.raw("]}")
    }
}

extension ToldFact {
    /// The earliest moment that the fact speaks of.
    fileprivate var beginning: UnixMillis {
        switch recorded.fact {
        case .state(let state): min(state.purchasedAt ?? at, state.periodStart ?? at, at)
        case .payment(let payment): min(payment.paidAt ?? at, payment.periodStart ?? at, at)
        case .adjustment, .owner, .customer, .superseded: at
        }
    }
}
