/// The periods of one subscription, and what is left of each (rule 1).
struct SubscriptionChain {
    private struct Period {
        /// `.earliest` where the provider gives no periods.
        var start: UnixMillis
        var states: [OrderedState]
        /// Nil for a period that only a payment tells of.
        var newest: OrderedState?
        var payment: Payment?
    }

    /// What a period gives of one item.
    private struct Share {
        var item: PurchaseState.Item
        var end: UnixMillis
        var periodEnd: UnixMillis
    }

    /// Failed payments since the newest payment or active state, across periods.
    private struct Run {
        var first: UnixMillis
        var members: [OrderedState]

        /// Whether `first` is when a payment failed. That the provider has stopped trying comes weeks after the failure, so
        /// that such a state alone says nothing of when it was.
        var isDated: Bool {
            members.contains { member in
                guard member.failedAt == first else { return false }
                if case .unpaid(let failure) = member.state.condition { return failure.since != nil }
                return true
            }
        }
    }

    private let states: [OrderedState]
    private let payments: [Payment]
    private let pastDueDays: Int
    private let periods: [Period]

    init(states: [OrderedState], payments: [Payment], pastDueDays: Int) {
        self.states = states
        self.payments = payments
        self.pastDueDays = pastDueDays
        var periods = Dictionary(grouping: states, by: \.order.period).map { start, members in
            Period(
                start: start == StateOrder.noPeriod ? .earliest : UnixMillis(start),
                states: members,
                newest: members.max { $0.order < $1.order },
                payment: nil
            )
        }
        periods.sort { $0.start < $1.start }
        periods += Self.paidAhead(payments, newest: periods.last)
        self.periods = periods
    }

    /// Periods that a payment tells of before any state does: those that begin after the newest state's period began and
    /// end after it ends. A payment only extends; a proration inside the running period adds nothing.
    private static func paidAhead(_ payments: [Payment], newest: Period?) -> [Period] {
        let horizon = newest?.newest?.state.items.compactMap(\.end).max() ?? .earliest
        var ahead: [UnixMillis: Payment] = [:]
        for payment in payments where payment.paidAt != nil {
            guard let start = payment.periodStart, let end = payment.periodEnd, end > horizon,
                newest.map({ start > $0.start }) ?? true
            else { continue }
            if let known = ahead[start] {
                let isLater =
                    (known.periodEnd ?? .earliest, known.ids.count, known.ids.first ?? "")
                    < (end, payment.ids.count, payment.ids.first ?? "")
                guard isLater else { continue }
            }
            ahead[start] = payment
        }
        return ahead.sorted { $0.key < $1.key }.map { start, payment in
            Period(start: start, states: [], newest: nil, payment: payment)
        }
    }

    func outcome(provider: ProviderID, adjustments: Adjustments) -> PurchaseOutcome? {
        guard let last = periods.last else { return nil }
        let newest = states.max { $0.order < $1.order }
        let endings = adjustments.byPeriod(
            periods.map { (start: $0.start, end: nominalEnd($0)) },
            renewedAt: newest.flatMap(renewedAt)
        )
        var lines: [PurchaseOutcome.Line] = []
        var lastEnded = Status.expired
        var lastClosed = false
        for (index, period) in periods.enumerated() {
            var (shares, live, graceFrom, ended) = self.shares(of: period)
            var closed = false
            if let ending = endings[index] {
                for place in shares.indices where ending.at <= shares[place].end {
                    shares[place].end = ending.at
                    ended = ending.status
                }
                closed = true
            }
            if index > 0, closed == false, endings[index - 1] != nil, isUnpaid(period) {
                // Nobody paid for this period, and what was paid before was refunded: there is nothing to have grace on.
                shares = []
            }
            if index + 1 < periods.count {
                let next = periods[index + 1].start
                for place in shares.indices { shares[place].end = min(shares[place].end, next) }
            } else {
                lastEnded = ended
                lastClosed = closed
            }
            let next = index + 1 < periods.count ? periods[index + 1].start : nil
            lines += past(in: period, upTo: next, except: shares, endings[index])
            for share in shares {
                // An item whose own period has not moved is paid, whatever fails beside it.
                let hasMoved = share.item.start.map { $0 >= period.start } ?? true
                let isPaid = !hasMoved && share.end == share.item.end
                lines.append(
                    PurchaseOutcome.Line(
                        products: share.item.products,
                        entitlements: entitlements(of: period),
                        isOneTime: false,
                        end: share.end,
                        periodEnd: share.periodEnd,
                        live: live,
                        graceFrom: isPaid ? nil : graceFrom,
                        ended: isPaid && ended == .billingRetry ? .expired : ended
                    )
                )
            }
        }
        return PurchaseOutcome(
            provider: provider,
            lines: latest(of: lines, lastEnded: lastEnded),
            willRenew: willRenew(newest: newest, last: last, lastIsClosed: lastClosed),
            store: newest?.state.store,
            managementURL: newest?.state.managementURL,
            newest: newest?.order
        )
    }

    /// What was given earlier in a period and is no longer part of it: another plan, or an item that was taken away. It was
    /// had until the first state without it.
    private func past(
        in period: Period,
        upTo next: UnixMillis?,
        except shares: [Share],
        _ ending: Adjustments.Ending?
    ) -> [PurchaseOutcome.Line] {
        guard let newest = period.newest, period.states.count > 1 else { return [] }
        let present = Set(items(of: newest).map(\.products)).union(shares.map(\.item.products))
        let ordered = period.states.sorted { $0.order < $1.order }
        var lines: [PurchaseOutcome.Line] = []
        for (place, state) in ordered.enumerated() where state.isAccess {
            for item in state.state.items where !present.contains(item.products) {
                let without = ordered[place...].first { later in
                    !later.state.items.isEmpty && !later.state.items.contains { $0.products == item.products }
                }
                guard let without, let natural = item.end else { continue }
                let moments = [natural, UnixMillis(without.order.version), next, ending?.at]
                guard let end = moments.compactMap(\.self).min() else { continue }
                lines.append(
                    PurchaseOutcome.Line(
                        products: item.products,
                        entitlements: state.state.entitlements,
                        isOneTime: false,
                        isPast: true,
                        end: end,
                        periodEnd: end,
                        live: .active,
                        ended: end == ending?.at ? ending?.status ?? .expired : .expired
                    )
                )
            }
        }
        return lines
    }

    /// Where the provider gives no periods: the end of the period before the present one. The end moved on from there, told
    /// by a state that vouches for access; where payments fail, one told well before they did.
    private func renewedAt(_ newest: OrderedState) -> UnixMillis? {
        guard periods.count == 1, periods[0].start == .earliest else { return nil }
        let run = run(upTo: newest)
        if let run, !run.isDated { return nil }
        let vouching = states.filter { state in
            state.isAccess && run.map { state.order.told <= $0.first.value - UnixMillis.millisPerDay } ?? true
        }.sorted { $0.order < $1.order }
        var renewed: UnixMillis?
        var known: UnixMillis?
        for state in vouching {
            guard let end = state.state.items.compactMap(\.end).max() else { continue }
            if let before = known, end > before, state.order.told >= before.value - UnixMillis.millisPerDay {
                renewed = max(renewed ?? before, before)
            }
            known = max(known ?? end, end)
        }
        return renewed
    }

    /// For each set of products the line with the latest end; of equal ones the newer period's.
    private func latest(of lines: [PurchaseOutcome.Line], lastEnded: Status) -> [PurchaseOutcome.Line] {
        var kept: [PurchaseOutcome.Line] = []
        for line in lines {
            let same = kept.firstIndex { $0.products == line.products && $0.entitlements == line.entitlements }
            guard let same else {
                kept.append(line)
                continue
            }
            if line.end ?? .latest >= kept[same].end ?? .latest {
                kept[same] = line
            } else {
                // The newer period gives less than the older one: what it says of the end still stands.
                if !line.isPast { kept[same].ended = lastEnded }
            }
        }
        return kept
    }

    /// Whether the payment for the period itself fails.
    private func isUnpaid(_ period: Period) -> Bool {
        guard let newest = period.newest, newest.failure?.periodIsUnpaid == true else { return false }
        return run(upTo: newest) != nil
    }

    private func willRenew(newest: OrderedState?, last: Period, lastIsClosed: Bool) -> Bool {
        guard !lastIsClosed else { return false }
        if last.newest != nil, let newest {
            switch newest.state.condition {
            case .ended, .paused, .incomplete, .collectionPaused: return false
            case .unpaid: if run(upTo: newest) != nil { return false }
            case .active, .trialing, .failing: break
            }
        }
        let said = states.filter { $0.state.willRenew != nil }.max { $0.order < $1.order }
        return said?.state.willRenew ?? true
    }

    private func entitlements(of period: Period) -> [String]? {
        guard let newest = period.newest ?? states.max(by: { $0.order < $1.order }) else { return nil }
        // Only what gives access says what it gives; an end, a failure or a wish not to renew does not unsay it.
        guard !newest.isAccess, newest.state.entitlements ?? [] == [] else { return newest.state.entitlements }
        let named = states.filter { $0.order <= newest.order && $0.state.entitlements ?? [] != [] }
        return named.max { $0.order < $1.order }?.state.entitlements ?? newest.state.entitlements
    }

    private func nominalEnd(_ period: Period) -> UnixMillis? {
        guard let newest = period.newest else { return period.payment?.periodEnd }
        return items(of: newest).compactMap(\.end).max()
    }

    /// The items of a state; a state that only closes speaks of the items before it.
    private func items(of state: OrderedState) -> [PurchaseState.Item] {
        guard state.state.items.isEmpty else { return state.state.items }
        let before = states.filter { $0.order < state.order && !$0.state.items.isEmpty }.max { $0.order < $1.order }
        return before?.state.items ?? []
    }

    // MARK: - One period

    private func shares(
        of period: Period
    ) -> (shares: [Share], live: Status, graceFrom: UnixMillis?, ended: Status) {
        guard let newest = period.newest else {
            guard let payment = period.payment, let end = payment.periodEnd else { return ([], .active, nil, .expired) }
            let known = states.max { $0.order < $1.order }.map { self.items(of: $0) } ?? []
            // The paid items as the subscription's own items name them, so that the two are seen to be one thing.
            var paid =
                payment.products.isEmpty
                ? known : known.filter { !Set($0.products).isDisjoint(with: payment.products) }
            if paid.isEmpty { paid = [PurchaseState.Item(products: payment.products, end: end)] }
            return (paid.map { Share(item: $0, end: end, periodEnd: end) }, .active, nil, .expired)
        }
        let state = newest.state
        let items = self.items(of: newest)
        // A closing state that tells no end leaves at most what the period was known to give.
        let known = period.states.filter { $0.order < newest.order }.flatMap { $0.state.items.compactMap(\.end) }.max()
        func upTo(_ closing: UnixMillis?) -> [Share] {
            items.compactMap { item in
                guard let natural = item.end ?? known ?? closing else { return nil }
                let end = [natural, closing, state.limit].compactMap(\.self).min() ?? natural
                return Share(item: item, end: end, periodEnd: min(natural, state.limit ?? natural))
            }
        }
        switch state.condition {
        case .incomplete: return ([], .active, nil, .expired)
        case .trialing: return (upTo(nil), .trialing, nil, .expired)
        case .active:
            guard !state.tellsOfPayment, let run = self.run(upTo: newest), let last = run.members.last else {
                return (upTo(nil), .active, nil, .expired)
            }
            return failing(last, items: items, run: run)
        case .collectionPaused:
            return (isPaidWhilePaused(period) ? upTo(nil) : [], .active, nil, .expired)
        case .failing, .unpaid:
            guard let run = self.run(upTo: newest) else { return (upTo(nil), .active, nil, .expired) }
            return failing(newest, items: items, run: run)
        case .paused(let at):
            return (cut(upTo(at), by: newest, items: items), .active, nil, .paused)
        case .ended(let at):
            let shares = cut(upTo(at), by: newest, items: items).map { share in
                Share(item: share.item, end: share.end, periodEnd: share.end)
            }
            return (shares, .active, nil, .expired)
        }
    }

    /// A period whose payment fails: access to the bound of the failures, and never beyond an end that was agreed.
    private func failing(
        _ told: OrderedState,
        items: [PurchaseState.Item],
        run: Run
    ) -> (shares: [Share], live: Status, graceFrom: UnixMillis?, ended: Status) {
        guard let failure = told.failure else { return ([], .active, nil, .billingRetry) }
        let isFinal = told.state.condition.severity == PurchaseState.Condition.unpaid(failure).severity
        let shares = items.compactMap { item -> Share? in
            guard let paid = paidEnd(of: item, failure: failure, run: run) else { return nil }
            let end = isFinal ? paid : max(paid, bound(of: run))
            let limit = told.state.limit ?? .latest
            return Share(item: item, end: min(end, limit), periodEnd: min(paid, limit))
        }
        return (shares, .active, run.first, .billingRetry)
    }

    /// A purchase that ends while payments fail had no access beyond the bound of the failures.
    private func cut(_ shares: [Share], by closing: OrderedState, items: [PurchaseState.Item]) -> [Share] {
        guard let run = self.run(upTo: closing), let failure = run.members.last?.failure else { return shares }
        return shares.map { share in
            var share = share
            let paid = paidEnd(of: share.item, failure: failure, run: run) ?? share.end
            share.end = min(share.end, max(paid, bound(of: run)))
            return share
        }
    }

    /// A paid period stays when the seller stops collecting: one that a payment or an active state vouches for, or the
    /// first one known.
    private func isPaidWhilePaused(_ period: Period) -> Bool {
        if period.states.contains(where: \.isAccess) { return true }
        if payments.contains(where: { $0.paidAt != nil && $0.periodStart == period.start }) { return true }
        return periods.first?.start == period.start
    }

    // MARK: - Failed payments

    /// The run of failures that stands at `state`: none when a payment or an active state came after each.
    private func run(upTo state: OrderedState) -> Run? {
        let lastAccess = states.filter { $0.isAccess && $0.order < state.order }.map(\.order).max()
        let members = states.filter { member in
            guard member.failure != nil, member.order <= state.order else { return false }
            if let lastAccess, member.order < lastAccess { return false }
            // At equal times a payment beats a failure.
            return !payments.contains { payment in payment.paidAt.map { $0 >= member.failedAt } ?? false }
        }.sorted { $0.order < $1.order }
        guard let first = members.map(\.failedAt).min() else { return nil }
        return Run(first: first, members: members)
    }

    /// How long access outlives the first failure of a run.
    private func bound(of run: Run) -> UnixMillis {
        var bound = UnixMillis.earliest
        for member in run.members {
            switch member.failure?.grace {
            case .configured: bound = max(bound, run.first.adding(days: pastDueDays))
            case .store(let until?): bound = max(bound, until)
            case .store(nil), nil: continue
            }
        }
        return bound
    }

    /// The end of what was paid: of the period itself, or the start of the run's first unpaid period where the provider
    /// has already moved on.
    private func paidEnd(of item: PurchaseState.Item, failure: PurchaseState.Failure, run: Run) -> UnixMillis? {
        guard failure.periodIsUnpaid else { return item.end ?? run.first }
        let unpaid = Set(run.members.filter { $0.failure?.periodIsUnpaid == true }.map(\.order.period)).sorted()
        if unpaid.first == StateOrder.noPeriod {
            // Without periods, the last end that was active well before the failure is what was paid.
            let settled = states.filter {
                $0.isAccess && $0.order.told <= run.first.value - UnixMillis.millisPerDay
            }
            let ends = settled.flatMap { $0.state.items.compactMap(\.end) }
            return ends.filter { run.isDated || $0 <= run.first }.max() ?? run.first
        }
        for start in unpaid where !isPaid(periodStartingAt: UnixMillis(start), before: run) {
            // An item whose own period began earlier was paid for then, and nothing of it has moved.
            if let own = item.start, own.value < start { return item.end }
            return UnixMillis(start)
        }
        return item.end
    }

    private func isPaid(periodStartingAt start: UnixMillis, before run: Run) -> Bool {
        if payments.contains(where: { $0.periodStart == start && ($0.paidAt.map { $0 < run.first } ?? false) }) {
            return true
        }
        return states.contains { state in
            guard state.isAccess, state.order.period == start.value else { return false }
            return state.state.isFirstPeriod
                || run.isDated && state.order.told <= run.first.value - MergeRule.settledMillis
        }
    }
}
