public import Entitlements

/// What a provider's API said of somebody.
public struct ProviderReading: Sendable {
    public var events: [IncomingEvent]
    /// Only to see what would come of it: nothing is kept.
    public var isTrial: Bool

    public init(events: [IncomingEvent], isTrial: Bool) {
        self.events = events
        self.isTrial = isTrial
    }
}

/// That the answer about one entitlement of one user was wrong, and what it is now.
public struct AnswerDifference: Hashable, Sendable {
    /// An answer as far as a person feels it.
    public struct Answer: Hashable, Sendable {
        public var isEntitled: Bool
        public var status: Status
        /// `access_until`; nil is never.
        public var end: UnixMillis?
        public var willRenew: Bool
        public var provider: ProviderID
        public var purchaseID: String
    }

    public var user: UserID
    public var environment: StoreEnvironment
    public var entitlement: String
    /// Nil where there was none at all.
    public var before: Answer?
    public var after: Answer?

    /// - Returns: Nil for a change that the clock alone has made.
    package init?(_ change: AnswerChange) throws(StorageError) {
        guard change.before.version != change.after.version else { return nil }
        user = change.user
        environment = change.environment
        entitlement = change.entitlement
        before = try Self.answer(change.entitlement, change.before)
        after = try Self.answer(change.entitlement, change.after)
    }

    private static func answer(_ entitlement: String, _ row: JudgedRow) throws(StorageError) -> Answer? {
        try SubscriptionRow.decode(row.body).entitlements.first { $0.name == entitlement }.map { entry in
            Answer(
                isEntitled: entry.isEntitled(at: row.moment),
                status: entry.status(at: row.moment),
                end: entry.end,
                willRenew: entry.willRenew,
                provider: entry.provider,
                purchaseID: entry.purchaseID
            )
        }
    }
}

/// Small values that a gateway keeps of itself.
public enum StoreMemory: String, Sendable {
    /// When it ran last, in milliseconds since 1970.
    case lastAlive = "last_alive"
    /// How far a look at everyone has come; gone when it is over.
    case reconcilePlace = "reconcile_place"
    /// When the last look at everyone ended, in milliseconds since 1970.
    case reconciledAt = "reconciled_at"
}
