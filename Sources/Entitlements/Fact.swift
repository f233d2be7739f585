/// One thing that an event says about one purchase.
///
/// A purchase is a pure function of the *set* of its facts (rule 1): adding a fact is a set union, so the order in which
/// facts arrive cannot matter. Facts are handed on many times and looked into a few, so each is kept in one piece of memory of its
/// own.
public indirect enum Fact: Hashable, Sendable {
    case state(PurchaseState)
    case payment(Payment)
    case adjustment(Adjustment)
    case owner(OwnerStatement)
    /// The customer the provider books the purchase under; a link of the customer names an owner (rule 6 d).
    case customer(CustomerID)
    /// Another purchase has taken this one's place from `at` on (an upgrade that made a new id).
    case superseded(at: UnixMillis)
}

/// A fact with where it came from.
public struct RecordedFact: Hashable, Sendable {
    public var provider: ProviderID
    public var eventID: String
    /// True when the provider tells of a purchase that another provider keeps: the keeper's own facts win (rule 7).
    public var isSecondHand: Bool
    public var fact: Fact

    public init(provider: ProviderID, eventID: String, isSecondHand: Bool, fact: Fact) {
        self.provider = provider
        self.eventID = eventID
        self.isSecondHand = isSecondHand
        self.fact = fact
    }
}

/// What a provider says of a purchase at one moment: the period it speaks of, how things stand, and the end of each item.
public struct PurchaseState: Hashable, Sendable {
    /// Start of the period the state speaks of; nil where the provider gives none.
    public var periodStart: UnixMillis?
    /// The object's own version where the provider has one, else the event's time. Later is newer.
    public var version: UnixMillis
    /// When the event arrived, for a version that lies more than an hour after it; else nil.
    public var arrival: UnixMillis?
    public var condition: Condition
    public var items: [Item]
    /// Nil when the event does not say; the newest state that says it counts.
    public var willRenew: Bool?
    /// A purchase that is paid once; only such a one may have no end (rule 5).
    public var isOneTime: Bool
    /// An agreed end of the whole purchase that may come before the period's (`cancel_at`).
    public var limit: UnixMillis?
    /// When the purchase was made: a product with a fixed number of days counts from here.
    public var purchasedAt: UnixMillis?
    /// The first period of the subscription: an active one was paid, because nothing starts unpaid.
    public var isFirstPeriod: Bool
    /// False when only the wish to renew changed: such a state ends no run of failed payments and starts none.
    public var tellsOfPayment: Bool
    /// Entitlements the provider itself names for this purchase; nil when it names none.
    public var entitlements: [String]?
    /// Where it was bought, in lower case.
    public var store: String?
    /// Where the buyer can manage it.
    public var managementURL: String?

    public init(
        periodStart: UnixMillis? = nil,
        version: UnixMillis,
        condition: Condition,
        items: [Item],
        willRenew: Bool? = nil,
        isOneTime: Bool = false,
        limit: UnixMillis? = nil,
        purchasedAt: UnixMillis? = nil,
        isFirstPeriod: Bool = false,
        tellsOfPayment: Bool = true,
        entitlements: [String]? = nil,
        store: String? = nil,
        managementURL: String? = nil
    ) {
        self.periodStart = periodStart
        self.version = version
        self.condition = condition
        self.items = items
        self.willRenew = willRenew
        self.isOneTime = isOneTime
        self.limit = limit
        self.purchasedAt = purchasedAt
        self.isFirstPeriod = isFirstPeriod
        self.tellsOfPayment = tellsOfPayment
        self.entitlements = entitlements
        self.store = store
        self.managementURL = managementURL
    }

    /// One thing bought: the ids under which a product map may name it (the price first), and its own end.
    public struct Item: Hashable, Sendable {
        public var products: [String]
        /// Nil: no end of its own (a one-time purchase, or a state that only closes).
        public var end: UnixMillis?
        /// The start of its own period, where items of one subscription have different ones.
        public var start: UnixMillis?

        public init(products: [String], end: UnixMillis?, start: UnixMillis? = nil) {
            self.products = products
            self.end = end
            self.start = start
        }
    }

    /// How a purchase stands.
    public enum Condition: Hashable, Sendable {
        /// The first payment has not come through yet; gives nothing.
        case incomplete
        case trialing
        case active
        /// The seller collects no payment for now: a paid period stays, later ones give nothing.
        case collectionPaused
        /// A payment failed and the provider still tries.
        case failing(Failure)
        /// The provider has stopped trying; access ends at the paid end.
        case unpaid(Failure)
        /// No access from `at` on until it resumes.
        case paused(at: UnixMillis)
        case ended(at: UnixMillis)

        /// Between states of one period and one version the more severe one counts: an end beats a failed payment beats
        /// access beats a purchase that has not begun.
        public var severity: Int {
            switch self {
            case .incomplete: 0
            case .trialing: 1
            case .active, .collectionPaused: 2
            case .failing: 3
            case .unpaid: 4
            case .paused: 5
            case .ended: 6
            }
        }
    }

    /// A failed payment, as a state tells it.
    public struct Failure: Hashable, Sendable {
        /// When this run of failures began, where the provider says so; else the state's version stands for it.
        public var since: UnixMillis?
        public var grace: Grace
        /// The provider had already moved to the new period when the payment failed, so this period is not paid.
        public var periodIsUnpaid: Bool

        public init(since: UnixMillis? = nil, grace: Grace, periodIsUnpaid: Bool) {
            self.since = since
            self.grace = grace
            self.periodIsUnpaid = periodIsUnpaid
        }
    }

    /// Who decides how long access outlives a failed payment.
    public enum Grace: Hashable, Sendable {
        /// The seller: `grace.past_due_days`.
        case configured
        /// The store: until this moment, or not at all when nil.
        case store(until: UnixMillis?)
    }
}

/// Money that came in, and the ids and the period it is known by.
public struct Payment: Hashable, Sendable {
    /// Every id of this payment (invoice, intent, charge, transaction). Payments that share an id are the same one.
    public var ids: [String]
    /// Nil when the event only says that ids belong together.
    public var paidAt: UnixMillis?
    public var periodStart: UnixMillis?
    public var periodEnd: UnixMillis?
    /// The whole amount in the currency's smallest unit.
    public var amount: Int64?
    /// What was paid for, where the event says it.
    public var products: [String]

    public init(
        ids: [String],
        paidAt: UnixMillis? = nil,
        periodStart: UnixMillis? = nil,
        periodEnd: UnixMillis? = nil,
        amount: Int64? = nil,
        products: [String] = []
    ) {
        self.ids = ids
        self.paidAt = paidAt
        self.periodStart = periodStart
        self.periodEnd = periodEnd
        self.amount = amount
        self.products = products
    }
}

/// A refund or a dispute. The newest statement of each id counts, and never enters the order of states.
public struct Adjustment: Hashable, Sendable {
    public enum Kind: UInt8, Hashable, Sendable {
        case refund = 0
        case dispute = 1
    }

    public enum Standing: UInt8, Hashable, Sendable, Comparable {
        /// Asked for, not decided: changes nothing.
        case pending = 0
        case effective = 1
        /// Failed, reversed, or won by the seller: the purchase is as if it had never been.
        case withdrawn = 2

        public static func < (left: Standing, right: Standing) -> Bool {
            left.rawValue < right.rawValue
        }
    }

    public enum Size: Hashable, Sendable {
        case full
        /// This much of the payment, in the currency's smallest unit; several add up.
        case part(Int64)
        /// This much of the payment so far, all refunds together.
        case soFar(Int64)
    }

    public var id: String
    public var kind: Kind
    public var standing: Standing
    public var size: Size
    /// The statement's place among those of the same id.
    public var version: UnixMillis
    /// The moment access ends when it is effective.
    public var at: UnixMillis
    /// Ids of the payment it is about; empty when the event does not say.
    public var payments: [String]
    /// The period that was paid for, where the event says it.
    public var periodStart: UnixMillis?
    public var periodEnd: UnixMillis?
    /// The whole amount of that payment, where the event says it.
    public var total: Int64?

    public init(
        id: String,
        kind: Kind,
        standing: Standing,
        size: Size,
        version: UnixMillis,
        at: UnixMillis,
        payments: [String] = [],
        periodStart: UnixMillis? = nil,
        periodEnd: UnixMillis? = nil,
        total: Int64? = nil
    ) {
        self.id = id
        self.kind = kind
        self.standing = standing
        self.size = size
        self.version = version
        self.at = at
        self.payments = payments
        self.periodStart = periodStart
        self.periodEnd = periodEnd
        self.total = total
    }
}

/// Who an event says a purchase belongs to.
public struct OwnerStatement: Hashable, Sendable {
    public enum Source: UInt8, Hashable, Sendable {
        /// The purchase's own facts name the user (rule 6 b).
        case own = 0
        /// A checkout that started the purchase names the user (rule 6 c).
        case checkout = 1
    }

    public var source: Source
    public var at: UnixMillis
    /// The user ids named, the one the provider puts first in front.
    public var users: [UserID]
    /// Ids of the same person that are nobody by themselves (anonymous ids).
    public var anonymous: [CustomerID]

    public init(source: Source, at: UnixMillis, users: [UserID], anonymous: [CustomerID] = []) {
        self.source = source
        self.at = at
        self.users = users
        self.anonymous = anonymous
    }
}
