/// The place of a state among the states of its purchase (rule 1).
///
/// Newest is: the later period start (a constant where the provider gives none), then the provider's own version or else
/// the event's time, then severity, then the event id. Arrival plays no part, but for one guard: a version more than a day
/// after its arrival counts as the arrival, so that one absurd time cannot outlive every true one.
public struct StateOrder: Hashable, Comparable, Sendable {
    public var period: Int64
    /// The version, or for one that lies in the future the arrival…
    public var version: Int64
    /// …and among those the version as told.
    public var told: Int64
    public var severity: Int
    public var eventID: String

    public init(period: Int64, version: Int64, told: Int64, severity: Int, eventID: String) {
        self.period = period
        self.version = version
        self.told = told
        self.severity = severity
        self.eventID = eventID
    }

    /// Where a state stands whose provider gives no period at all.
    static let noPeriod = Int64.min

    public static func < (left: StateOrder, right: StateOrder) -> Bool {
        (left.period, left.version, left.told, left.severity, left.eventID)
            < (right.period, right.version, right.told, right.severity, right.eventID)
    }

    /// Whether `self` speaks of an earlier moment than `other`, whatever the events' ids.
    public func isOlder(than other: StateOrder) -> Bool {
        (period, version, told, severity) < (other.period, other.version, other.told, other.severity)
    }
}

/// A state with its order and its event.
struct OrderedState: Sendable {
    var state: PurchaseState
    var order: StateOrder
    var provider: ProviderID

    /// Whether the provider vouches for access, a payment that came through among it.
    var isAccess: Bool {
        switch state.condition {
        case .trialing, .active: state.tellsOfPayment
        default: false
        }
    }

    /// Whether it ends access and says nothing else.
    var isClosing: Bool {
        switch state.condition {
        case .ended, .paused: true
        default: false
        }
    }

    var failure: PurchaseState.Failure? {
        switch state.condition {
        case .failing(let failure), .unpaid(let failure): failure
        default: nil
        }
    }

    /// When the failed payment happened, by the provider's word or else by the state's version.
    var failedAt: UnixMillis {
        failure?.since ?? state.version
    }

    /// The states of `facts` that count, each with its order.
    ///
    /// A state without a period, of a provider that otherwise gives periods, speaks of the newest period known at its own
    /// version: a cancellation says "it is over", not "long before everything".
    static func all(in facts: [RecordedFact]) -> [OrderedState] {
        let firstHandOnly = facts.contains { !$0.isSecondHand && $0.fact.isState }
        var states: [OrderedState] = []
        for recorded in facts {
            guard case .state(let told) = recorded.fact, !(firstHandOnly && recorded.isSecondHand) else { continue }
            let state = told.withMomentsThatCanBe
            let order = StateOrder(
                period: state.periodStart?.value ?? StateOrder.noPeriod,
                version: state.countedVersion.value,
                told: state.version.value,
                severity: state.condition.severity,
                eventID: recorded.eventID
            )
            states.append(OrderedState(state: state, order: order, provider: recorded.provider))
        }
        // States from the future keep their own order among themselves: one that is too early to be believed counts no less
        // than those from the future that say they are not later, so that neither the order in which they arrived nor the
        // bound of what is believed can turn them round.
        let early = states.filter { $0.state.isFromTheFuture }
        for index in states.indices where states[index].state.isFromTheFuture {
            let told = states[index].order.told
            guard states[index].order.version != told else { continue }
            states[index].order.version = early.filter { $0.order.told <= told }.map(\.order.version).max() ?? told
        }
        // An order or checkout that started a subscription is not a purchase for life (contract section 4). An end that
        // names no period ends the subscription all the same.
        if states.contains(where: { !$0.state.isOneTime }) {
            states.removeAll { $0.state.isOneTime && !$0.isClosing }
            for index in states.indices { states[index].state.isOneTime = false }
        }
        let dated = states.filter { $0.state.periodStart != nil }
        if !dated.isEmpty {
            for index in states.indices where states[index].state.periodStart == nil {
                let known = dated.filter { $0.order.version <= states[index].order.version }
                states[index].order.period = known.map(\.order.period).max() ?? StateOrder.noPeriod
            }
        }
        return states
    }
}

extension PurchaseState {
    /// A moment of the provider's that lies further ahead than any test clock is a mistake, and would outlive everything.
    public static let aheadMillis: Int64 = 3 * 366 * UnixMillis.millisPerDay

    /// A version further ahead of its arrival than this is noted: a clock that is a little fast is not.
    public static let noticedMillis: Int64 = 3_600_000
    /// A version further ahead of its arrival than this counts as the arrival (rule 1).
    public static let believedMillis = UnixMillis.millisPerDay

    /// Whether the version lies further ahead of its arrival than any clock goes wrong.
    fileprivate var isFromTheFuture: Bool {
        arrival.map { version > $0.adding(millis: Self.noticedMillis) } ?? false
    }

    /// The version as it counts in the order.
    public var countedVersion: UnixMillis {
        guard let arrival, version > arrival.adding(millis: Self.believedMillis) else { return version }
        return arrival
    }

    /// The state with the arrival in place of an absurd moment, where the state's own time is that moment.
    fileprivate var withMomentsThatCanBe: PurchaseState {
        guard let arrival, version > arrival.adding(millis: Self.aheadMillis) else { return self }
        var state = self
        switch condition {
        case .ended(at: version): state.condition = .ended(at: arrival)
        case .paused(at: version): state.condition = .paused(at: arrival)
        case .failing(var failure) where failure.since == nil:
            failure.since = arrival
            state.condition = .failing(failure)
        case .unpaid(var failure) where failure.since == nil:
            failure.since = arrival
            state.condition = .unpaid(failure)
        default: break
        }
        return state
    }
}

extension PurchaseState {
    /// A version more than this after its arrival counts as the arrival (rule 1).
    public static let earlyMillis = UnixMillis.millisPerDay

    /// Whether the arrival stands for the version in the order of states.
    public var countsAsArrival: Bool {
        arrival.map { version > $0.adding(millis: Self.earlyMillis) } ?? false
    }

    /// Whether a payment failed and the store gives no time beyond the paid period.
    public var isFailingWithoutGrace: Bool {
        guard case .failing(let failure) = condition, case .store(nil) = failure.grace else { return false }
        return true
    }
}

extension Fact {
    /// Whether this is a statement of state.
    public var isState: Bool {
        if case .state = self { true } else { false }
    }
}
