/// What the set of a purchase's facts comes to: until when it gives what, and what to say of it.
public struct PurchaseOutcome: Hashable, Sendable {
    /// The provider that speaks for the purchase.
    public var provider: ProviderID
    public var lines: [Line]
    public var willRenew: Bool
    public var store: String?
    public var managementURL: String?
    /// The newest state; nil when only payments are known.
    public var newest: StateOrder?

    public init(
        provider: ProviderID,
        lines: [Line],
        willRenew: Bool,
        store: String?,
        managementURL: String?,
        newest: StateOrder?
    ) {
        self.provider = provider
        self.lines = lines
        self.willRenew = willRenew
        self.store = store
        self.managementURL = managementURL
        self.newest = newest
    }

    /// One thing the purchase gives: which products, until when, and how it stands before and after.
    public struct Line: Hashable, Sendable {
        /// The ids a product map may name, the price first.
        public var products: [String]
        /// Entitlements the provider itself names.
        public var entitlements: [String]?
        public var isOneTime: Bool
        /// Had earlier and no longer part of the purchase: another plan, or an item that was taken away.
        public var isPast: Bool
        /// `access_until`; nil is never (rule 5: only for a one-time purchase).
        public var end: UnixMillis?
        public var periodEnd: UnixMillis?
        /// When the purchase was made; a product with a fixed number of days counts from here.
        public var purchasedAt: UnixMillis?
        /// The status before `end`…
        public var live: Status
        /// …and from here on, before `end`, `grace`.
        public var graceFrom: UnixMillis?
        /// The status from `end` on.
        public var ended: Status

        public init(
            products: [String],
            entitlements: [String]?,
            isOneTime: Bool,
            isPast: Bool = false,
            end: UnixMillis?,
            periodEnd: UnixMillis?,
            purchasedAt: UnixMillis? = nil,
            live: Status,
            graceFrom: UnixMillis? = nil,
            ended: Status
        ) {
            self.products = products
            self.entitlements = entitlements
            self.isOneTime = isOneTime
            self.isPast = isPast
            self.end = end
            self.periodEnd = periodEnd
            self.purchasedAt = purchasedAt
            self.live = live
            self.graceFrom = graceFrom
            self.ended = ended
        }
    }

    /// Whether two outcomes look the same to everyone outside: the order of the newest state is not seen.
    public func looksLike(_ other: PurchaseOutcome) -> Bool {
        var (left, right) = (self, other)
        left.newest = nil
        right.newest = nil
        return left == right
    }
}
