/// How a purchase stands, said in words at one moment.
struct PurchaseWords {
    let moment: UnixMillis

    // MARK: - The answer

    func answer(_ entry: Subscription.Entitlement) -> String {
        guard let end = entry.end else { return "yes, without an end." }
        guard entry.isEntitled(at: moment) else {
            switch entry.status(at: moment) {
            case .billingRetry: return "no. A payment failed, and access ended at \(timeAndDistance(end))."
            case .paused: return "no. It is paused since \(timeAndDistance(end))."
            case .refunded: return "no. It was refunded, and access ended at \(timeAndDistance(end))."
            case .revoked: return "no. It was taken back at \(timeAndDistance(end))."
            case .expired, .none, .trialing, .active, .grace: return "no. It ended at \(timeAndDistance(end))."
            }
        }
        return switch entry.status(at: moment) {
        case .trialing: "yes, on a trial until \(timeAndDistance(end))."
        case .grace: "yes, although a payment failed, until \(timeAndDistance(end))."
        default: "yes, until \(timeAndDistance(end))."
        }
    }

    // MARK: - One purchase

    func head(of purchase: PurchaseHistory, product: String?) -> String {
        var text = "\(purchase.provider.name) \(purchase.purchaseID)"
        if let product { text += ", product \(product)," }
        if let note = purchase.note { text += " (\(note))" }
        return text
    }

    func standing(of entry: Subscription.Entitlement) -> String {
        guard let end = entry.end else { return "has no end" }
        guard entry.isEntitled(at: moment) else {
            switch entry.status(at: moment) {
            case .billingRetry:
                let first = entry.graceFrom.map { " first at \(time($0))" } ?? ""
                return "failed to be paid\(first), and access ended at \(time(end))"
            case .paused: return "is paused since \(time(end))"
            case .refunded: return "was refunded, and ended at \(time(end))"
            case .revoked: return "was taken back at \(time(end)), by a dispute or by hand"
            case .expired, .none, .trialing, .active, .grace: return "ended at \(time(end))"
            }
        }
        let renewal = entry.willRenew ? "and will renew" : "and will not renew"
        switch entry.status(at: moment) {
        case .trialing: return "is a trial until \(time(end)) \(renewal)"
        case .grace:
            let first = entry.graceFrom.map { " first at \(time($0))" } ?? ""
            let paid = entry.periodEnd.map { ", was paid until \(time($0))," } ?? ""
            return "failed to be paid\(first)\(paid) and keeps its access until \(time(end))"
        default: return "runs until \(time(end)) \(renewal)"
        }
    }

    // MARK: - What comes next

    func next(_ entry: Subscription.Entitlement) -> Explanation.Next {
        guard let end = entry.end else {
            return Explanation.Next(text: "Nothing ends it by the clock; a refund or a dispute would.")
        }
        let status = entry.status(at: moment)
        guard entry.isEntitled(at: moment) else { return Explanation.Next(text: afterEnd(entry, status)) }
        if let grace = entry.graceFrom, moment < grace, grace < end {
            return Explanation.Next(
                at: grace,
                text: "At \(timeAndDistance(grace)) the grace for a failed payment begins; it ends at \(time(end))."
            )
        }
        let at = timeAndDistance(end)
        let text =
            switch status {
            case .grace: "At \(at) the grace ends, and access with it, unless the payment comes through before."
            case .trialing where entry.willRenew:
                "At \(at) the trial ends and the first payment is due; without word of it access ends then."
            case .trialing: "At \(at) the trial ends, and access with it."
            default:
                entry.willRenew
                    ? "At \(at) it renews; without word of the renewal access ends then."
                    : "At \(at) access ends."
            }
        return Explanation.Next(at: end, text: text)
    }

    private func afterEnd(_ entry: Subscription.Entitlement, _ status: Status) -> String {
        switch status {
        case .billingRetry: "If the payment comes through after all, access comes back with the provider's word."
        case .paused: "When it is resumed, access comes back with the provider's word."
        case .expired where entry.willRenew:
            "It was to renew, and no word of that has come: see whether \(entry.provider.name) delivers its events."
        default: "Nothing comes by itself: a new purchase or a grant gives access again."
        }
    }

    // MARK: - Times

    /// A moment, or `for ever`.
    func text(_ end: UnixMillis?) -> String {
        end.map(time) ?? "for ever"
    }

    /// `2027-01-01 00:00:00 UTC`
    func time(_ moment: UnixMillis) -> String {
        let text = moment.rfc3339
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) UTC"
    }

    private func timeAndDistance(_ other: UnixMillis) -> String {
        "\(time(other)) (\(distance(to: other)))"
    }

    /// `in 31 days`, `5 hours ago`: in the largest unit of which there are two.
    private func distance(to other: UnixMillis) -> String {
        let seconds = (other.clamped.value - moment.clamped.value) / 1000
        let units: [(name: String, seconds: UInt64)] = [("day", 86_400), ("hour", 3600), ("minute", 60)]
        let unit = units.first { seconds.magnitude / $0.seconds >= 2 } ?? ("second", 1)
        let count = seconds.magnitude / unit.seconds
        let amount = "\(count) \(unit.name)\(count == 1 ? "" : "s")"
        return other > moment ? "in \(amount)" : "\(amount) ago"
    }
}
