internal import Entitlements
internal import Storage

/// The part of a user's view that says in words why the person is entitled or is not.
extension GatewayHandler {
    func writeExplanation(_ view: UserView) {
        let histories = view.purchases.map { purchase in
            PurchaseHistory(
                provider: purchase.provider,
                purchaseID: purchase.purchaseID,
                environment: purchase.environment,
                outcome: purchase.outcome,
                facts: purchase.facts,
                note: note(on: purchase, view.grants)
            )
        }
        let explanations = context.policy.explain(
            histories,
            of: view.ids,
            in: question.environment,
            asked: String(decoding: question.entitlement, as: UTF8.self),
            at: question.moment
        )
        json.key("explanation")
        json.raw("[")
        for explanation in explanations { write(explanation) }
        json.raw("]")
    }

    private func note(on purchase: PurchaseView, _ grants: [GrantView]) -> String? {
        guard purchase.provider == ManualProvider.id else { return nil }
        return grants.first { $0.grantID == purchase.purchaseID }.map { "given by hand: \($0.reason)" }
    }

    private func write(_ explanation: Explanation) {
        json.separate()
        json.raw("{")
        json.key("entitlement")
        json.string(explanation.entitlement)
        json.key("entitled")
        json.bool(explanation.isEntitled)
        json.key("status")
        json.string(explanation.status.name)
        json.key("answer")
        json.string(explanation.answer)
        json.key("winner")
        if let winner = explanation.winner { write(winner) } else { json.null() }
        json.key("others")
        json.raw("[")
        for other in explanation.others {
            json.separate()
            write(other)
        }
        json.raw("]")
        json.key("next")
        json.raw("{")
        json.key("at")
        json.time(explanation.next.at)
        json.key("text")
        json.string(explanation.next.text)
        json.raw("}")
        json.key("lines")
        json.raw("[")
        for line in explanation.lines {
            json.separate()
            json.string(line)
        }
        json.raw("]}")
    }

    private func write(_ reason: Explanation.Reason) {
        json.raw("{")
        json.key("provider")
        json.string(reason.provider.name)
        json.key("purchase_id")
        json.string(reason.purchaseID)
        json.key("event")
        if let event = reason.event {
            json.raw("{")
            json.key("event_id")
            json.string(event.eventID)
            json.key("type")
            json.string(event.type)
            json.key("at")
            json.time(event.at)
            json.raw("}")
        } else {
            json.null()
        }
        json.key("text")
        json.string(reason.text)
        json.raw("}")
    }
}
