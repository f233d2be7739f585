/// Rule 1: a purchase is a pure function of the set of its facts.
///
/// In the words of the product: the same provider always applies to its own purchase. How:
///
/// 1. States are grouped by the period they speak of; in each period the newest state applies, whatever it does to the end.
/// 2. A newer period replaces the rest of an older one from its own start. So the late end of an old period never ends the
///    one that followed.
/// 3. A payment for a time after the newest state extends it.
/// 4. Refunds and disputes end the period they were paid for, at their own time.
/// 5. `access_until` is the latest end that is left.
///
/// Nothing here reads a clock; the facts alone decide.
public enum MergeRule {
    /// A state's period is taken for paid when the provider called it active for this long before a payment failed:
    /// billing systems try a renewal's first payment within three days of moving the period.
    static let settledMillis: Int64 = 4 * UnixMillis.millisPerDay

    /// What `facts` come to; nil when nothing among them says that anything was ever bought.
    ///
    /// - Parameter pastDueDays: `grace.past_due_days`, used where the store has no grace of its own.
    public static func outcome(of facts: [RecordedFact], pastDueDays: Int) -> PurchaseOutcome? {
        let states = OrderedState.all(in: facts)
        let firstHandOnly = facts.contains { !$0.isSecondHand && $0.fact.isState }
        var payments: [Payment] = []
        var adjustments: [(adjustment: Adjustment, eventID: String)] = []
        var supersededAt: UnixMillis?
        var provider: ProviderID?
        for recorded in facts where !(firstHandOnly && recorded.isSecondHand) {
            switch recorded.fact {
            case .payment(let payment):
                payments.append(payment)
                provider = max(provider ?? recorded.provider, recorded.provider)
            case .adjustment(let adjustment): adjustments.append((adjustment, recorded.eventID))
            case .superseded(let at): supersededAt = min(supersededAt ?? at, at)
            case .state, .owner, .customer: continue
            }
        }
        let newest = states.max { $0.order < $1.order }
        guard let speaker = newest?.provider ?? provider else { return nil }
        let settled = Adjustments(payments: payments, adjustments: adjustments)
        var outcome: PurchaseOutcome
        if let newest, newest.state.isOneTime {
            let reversedAt = adjustments.map(\.adjustment).filter { $0.kind == .refund && $0.standing == .withdrawn }
                .map(\.version).max()
            outcome = oneTime(states, newest: newest, ending: settled.ofWhole, reversedAt: reversedAt)
        } else {
            let chain = SubscriptionChain(states: states, payments: payments, pastDueDays: pastDueDays)
            guard let found = chain.outcome(provider: speaker, adjustments: settled) else { return nil }
            outcome = found
        }
        if let supersededAt {
            outcome.willRenew = false
            for index in outcome.lines.indices where outcome.lines[index].end.map({ supersededAt < $0 }) ?? true {
                outcome.lines[index].end = supersededAt
                outcome.lines[index].ended = .expired
            }
        }
        return outcome
    }

    /// Whether the newest of `facts` says that access outlives a failed payment for a time the store has set.
    public static func promisesGrace(_ facts: [RecordedFact]) -> Bool {
        guard let failure = OrderedState.all(in: facts).max(by: { $0.order < $1.order })?.failure,
            case .store(_?) = failure.grace
        else { return false }
        return true
    }

    /// A purchase that is paid once: no end but a refund, a dispute, or the provider's own word.
    private static func oneTime(
        _ states: [OrderedState],
        newest: OrderedState,
        ending: Adjustments.Ending?,
        reversedAt: UnixMillis?
    ) -> PurchaseOutcome {
        var outcome = PurchaseOutcome(
            provider: newest.provider,
            lines: [],
            willRenew: false,
            store: newest.state.store,
            managementURL: newest.state.managementURL,
            newest: newest.order
        )
        var closed: (at: UnixMillis, status: Status)?
        switch newest.state.condition {
        case .incomplete: return outcome
        // An end that followed a refund goes with it when the refund is reversed.
        case .ended(let at): closed = reversedAt.map { $0 >= newest.state.version } == true ? nil : (at, .expired)
        case .paused(let at): closed = (at, .paused)
        case .trialing, .active, .collectionPaused, .failing, .unpaid: closed = nil
        }
        if let ending, ending.at <= closed?.at ?? .latest { closed = (ending.at, ending.status) }
        let began = states.filter { $0.isAccess }.compactMap { $0.state.purchasedAt ?? $0.state.version }.min()
        let withItems =
            newest.state.items.isEmpty
            ? states.filter { !$0.state.items.isEmpty }.max { $0.order < $1.order }?.state ?? newest.state
            : newest.state
        for item in withItems.items {
            let end = [item.end, closed?.at].compactMap(\.self).min()
            outcome.lines.append(
                PurchaseOutcome.Line(
                    products: item.products,
                    entitlements: withItems.entitlements,
                    isOneTime: true,
                    end: end,
                    periodEnd: item.end,
                    purchasedAt: began,
                    live: .active,
                    ended: closed?.status ?? .expired
                )
            )
        }
        return outcome
    }
}
