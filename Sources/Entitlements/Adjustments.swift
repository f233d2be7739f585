/// What the refunds and disputes of one purchase come to: for each payment, the moment from which it no longer counts.
struct Adjustments {
    struct Ending: Equatable {
        var at: UnixMillis
        var kind: Adjustment.Kind

        var status: Status {
            kind == .refund ? .refunded : .revoked
        }
    }

    /// Everything known of one payment under all its ids.
    private struct Account {
        var payments: [Payment] = []
        var adjustments: [Adjustment] = []

        /// The amount paid, where any event tells it.
        var total: Int64? {
            let known = payments.compactMap(\.amount) + adjustments.compactMap(\.total)
            return known.max()
        }

        /// The period paid for: as the refund itself says, else as the payment says, else when it was paid. A payment belongs
        /// to the earliest period that names it.
        var period: (start: UnixMillis, end: UnixMillis?)? {
            for adjustment in adjustments {
                if let start = adjustment.periodStart { return (start, adjustment.periodEnd) }
            }
            return toldPeriod ?? payments.compactMap(\.paidAt).min().map { ($0, nil) }
        }

        /// The period that a payment says it is for.
        private var toldPeriod: (start: UnixMillis, end: UnixMillis?)? {
            let dated = payments.filter { $0.periodStart != nil }
            guard
                let first = dated.min(by: {
                    ($0.periodStart ?? .latest, $0.periodEnd ?? .latest) < (
                        $1.periodStart ?? .latest, $1.periodEnd ?? .latest
                    )
                }), let start = first.periodStart
            else { return nil }
            return (start, first.periodEnd)
        }

        /// The whole period that was paid here, and how much for it.
        var paidPeriod: (start: UnixMillis, end: UnixMillis, amount: Int64?)? {
            guard payments.contains(where: { $0.paidAt != nil }), let told = toldPeriod, let end = told.end else {
                return nil
            }
            return (told.start, end, payments.compactMap(\.amount).max())
        }

        var ending: Ending? {
            let dispute = adjustments.filter { $0.kind == .dispute && $0.standing == .effective }.map(\.at).min()
            let refund = refundedAt
            switch (refund, dispute) {
            case (nil, nil): return nil
            case (let at?, nil): return Ending(at: at, kind: .refund)
            case (nil, let at?): return Ending(at: at, kind: .dispute)
            case (let refunded?, let disputed?):
                return refunded <= disputed ? Ending(at: refunded, kind: .refund) : Ending(at: disputed, kind: .dispute)
            }
        }

        /// When the refunds came to the whole payment: at once, as a running total, or by adding up.
        private var refundedAt: UnixMillis? {
            let refunds = adjustments.filter { $0.kind == .refund }
            var moments = refunds.filter { $0.standing == .effective && $0.size == .full }.map(\.at)
            guard let total, total > 0 else { return moments.min() }
            let withdrawn = refunds.compactMap(Withdrawal.init)
            var sum: Int64 = 0
            var sumSoFar: Int64 = 0
            for refund in refunds.filter({ $0.standing == .effective }).sorted(by: { ($0.at, $0.id) < ($1.at, $1.id) })
            {
                switch refund.size {
                case .full: continue
                case .soFar(let amount):
                    // A refund that failed after the running total was told is money that came back to the seller.
                    let failed = withdrawn.filter { $0.version > refund.version && $0.concerns(refund) }
                    let standing = failed.reduce(amount) { $0.subtractingReportingOverflow($1.amount).partialValue }
                    sumSoFar = sumSoFar.addingReportingOverflow(standing).partialValue
                    // Several charges of one payment each have a running total of their own. One that is the payment itself
                    // knows better than the checkout how much was taken.
                    if sumSoFar >= total || isWhole(refund, standing) { moments.append(refund.at) }
                case .part(let amount):
                    sum = sum.addingReportingOverflow(amount).partialValue
                    if sum >= total { moments.append(refund.at) }
                }
            }
            return moments.min()
        }

        /// Whether `refund` gave back all of a charge, and that charge is the payment: named together by one event that
        /// tells an amount, not joined by way of an invoice that several charges may have paid.
        private func isWhole(_ refund: Adjustment, _ standing: Int64) -> Bool {
            guard let charged = refund.total, charged > 0, standing >= charged else { return false }
            return payments.contains { payment in
                payment.amount != nil && !Set(payment.ids).isDisjoint(with: refund.payments)
            }
        }
    }

    /// A refund that failed or was called back: so much money came back to the seller.
    private struct Withdrawal {
        var amount: Int64
        var version: UnixMillis
        var payments: [String]

        init?(_ adjustment: Adjustment) {
            guard adjustment.kind == .refund, adjustment.standing == .withdrawn,
                case .part(let amount) = adjustment.size
            else { return nil }
            self.amount = amount
            version = adjustment.version
            payments = adjustment.payments
        }

        /// Whether it may be about the same charge as `refund`.
        func concerns(_ refund: Adjustment) -> Bool {
            payments.isEmpty || refund.payments.isEmpty || !Set(payments).isDisjoint(with: refund.payments)
        }
    }

    private var accounts: [Account]
    /// When the newest payment was for, or was made.
    private let newestPayment: UnixMillis?

    init(payments: [Payment], adjustments: [(adjustment: Adjustment, eventID: String)]) {
        newestPayment = payments.filter { $0.paidAt != nil }.compactMap { $0.periodStart ?? $0.paidAt }.max()
        let withdrawals = adjustments.compactMap { Withdrawal($0.adjustment) }
        var newest: [Adjustment] = []
        for (_, statements) in Dictionary(grouping: adjustments, by: \.adjustment.id) {
            let ordered = statements.sorted { left, right in
                (left.adjustment.version, left.adjustment.standing, left.eventID)
                    < (right.adjustment.version, right.adjustment.standing, right.eventID)
            }.map(\.adjustment)
            guard var current = ordered.last else { continue }
            // The same thing told again (a dispute that goes on, and is lost) does not move the moment access ended. A running
            // total that comes to the same after a refund of it failed is another refund.
            for earlier in ordered.reversed() {
                guard earlier.standing == current.standing, earlier.size == current.size else { break }
                if case .soFar = current.size,
                    withdrawals.contains(where: {
                        $0.version > earlier.version && $0.version <= current.version && $0.concerns(current)
                    })
                {
                    break
                }
                current.at = min(current.at, earlier.at)
            }
            newest.append(current)
        }
        // Payments that share an id are one: join the sets of ids until none meet.
        var groups: [(ids: Set<String>, account: Account)] = []
        func join(_ ids: Set<String>, _ change: (inout Account) -> Void) {
            var merged: (ids: Set<String>, account: Account) = (ids, Account())
            groups.removeAll { group in
                guard !group.ids.isDisjoint(with: merged.ids) else { return false }
                merged.ids.formUnion(group.ids)
                merged.account.payments += group.account.payments
                merged.account.adjustments += group.account.adjustments
                return true
            }
            change(&merged.account)
            groups.append(merged)
        }
        for payment in payments where !payment.ids.isEmpty {
            join(Set(payment.ids)) { $0.payments.append(payment) }
        }
        for adjustment in newest.sorted(by: { $0.id < $1.id }) {
            let ids = adjustment.payments.isEmpty ? ["adjustment of \(adjustment.id)"] : adjustment.payments
            join(Set(ids)) { $0.adjustments.append(adjustment) }
        }
        accounts = groups.map(\.account)
    }

    /// The earliest ending among all payments: for a purchase that is paid once.
    var ofWhole: Ending? {
        accounts.compactMap(\.ending).min { $0.at < $1.at }
    }

    /// The earliest ending of each period, by its place in `periods` (ascending).
    ///
    /// The period paid for is the one that overlaps most; where none does, the newest that began before it; where the
    /// payment's period is not known, the one running at the refund's time, or else the first. A payment older than all of them
    /// touches none.
    /// Where the provider gives no periods, a payment that is not the newest one is of an older period, and so is one made
    /// before `renewedAt`, the end of the period before the present one.
    /// What was paid beside a period (a one-off charge, a proration) ends none that stays paid without it.
    func byPeriod(
        _ periods: [(start: UnixMillis, end: UnixMillis?)],
        renewedAt: UnixMillis? = nil
    ) -> [Int: Ending] {
        var endings: [Int: Ending] = [:]
        for account in accounts {
            guard let ending = account.ending else { continue }
            let target: Int?
            if let paid = account.period {
                // An order and its first invoice are two payments of one moment.
                if periods.count == 1, periods[0].start == .earliest,
                    let newer = [newestPayment, renewedAt].compactMap(\.self).max(),
                    paid.start.adding(millis: Self.nearMillis) < newer
                {
                    continue
                }
                target = Self.match(paid, in: periods)
            } else {
                // Told before the first period began (a clock that was set back): it can only be about that one.
                target = periods.lastIndex { $0.start <= ending.at } ?? periods.indices.first
            }
            guard let target, !isBeside(account, ending, target, in: periods) else { continue }
            if let known = endings[target], known.at <= ending.at { continue }
            endings[target] = ending
        }
        return endings
    }

    /// Whether another payment that stands, or stood for longer, pays for the whole of the period: more than `account` does,
    /// or for a period where `account` has none.
    private func isBeside(
        _ account: Account,
        _ ending: Ending,
        _ target: Int,
        in periods: [(start: UnixMillis, end: UnixMillis?)]
    ) -> Bool {
        guard !account.payments.isEmpty, account.adjustments.allSatisfy({ $0.periodStart == nil }) else { return false }
        let own = account.paidPeriod
        if own == nil, account.payments.contains(where: { $0.periodStart != nil }) { return false }
        return accounts.contains { other in
            guard let paid = other.paidPeriod, other.ending.map({ $0.at >= ending.at }) ?? true else { return false }
            if let own {
                guard let amount = account.total, let whole = paid.amount, whole > amount else { return false }
                guard (paid.start, paid.end) == (own.start, own.end) else { return false }
            }
            return Self.match((paid.start, paid.end), in: periods) == target
        }
    }

    /// A payment without the end of its period was made about when the period began: within this, before or after.
    private static let nearMillis: Int64 = 3_600_000

    private static func match(
        _ paid: (start: UnixMillis, end: UnixMillis?),
        in periods: [(start: UnixMillis, end: UnixMillis?)]
    ) -> Int? {
        guard let paidEnd = paid.end else {
            // Test subscriptions renew every few minutes: the period that began at this very moment is meant.
            if let exact = periods.firstIndex(where: { $0.start == paid.start }) { return exact }
            return periods.lastIndex { $0.start <= paid.start.adding(millis: nearMillis) }
        }
        var best: (index: Int, span: Int64)?
        for (index, period) in periods.enumerated() {
            // A period lasts at most until the next begins.
            let next = index + 1 < periods.count ? periods[index + 1].start : .latest
            let end = min(period.end ?? .latest, next)
            let span = min(end, paidEnd).value - max(period.start, paid.start).value
            if span > 0, span >= best?.span ?? 1 { best = (index, span) }
        }
        return best?.index ?? periods.lastIndex { $0.start <= paid.start }
    }
}
