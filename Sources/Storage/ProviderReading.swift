public import Entitlements

/// What a provider's API said of somebody, or of what somebody has handed in: all of it or nothing.
public struct ProviderReading: Sendable {
    public var events: [IncomingEvent]
    /// Only to see what would come of it: nothing is kept.
    public var isTrial: Bool
    /// The task that it finishes.
    public var finishes: Int64?
    /// What is to be asked or sent now.
    public var then: [ProviderTask]

    public init(
        events: [IncomingEvent],
        isTrial: Bool = false,
        finishes: Int64? = nil,
        then: [ProviderTask] = []
    ) {
        self.events = events
        self.isTrial = isTrial
        self.finishes = finishes
        self.then = then
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

    /// Which answer it is about.
    public struct Place: Hashable, Sendable {
        var user: UserID
        var environment: StoreEnvironment
        var entitlement: String
    }

    public var place: Place { Place(user: user, environment: environment, entitlement: entitlement) }

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
public struct StoreMemory: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// When it ran last, in milliseconds since 1970.
    public static let lastAlive = StoreMemory(rawValue: "last_alive")
    /// How far a look at everyone has come; gone when it is over.
    public static let reconcilePlace = StoreMemory(rawValue: "reconcile_place")
    /// When the last look at everyone ended, in milliseconds since 1970.
    public static let reconciledAt = StoreMemory(rawValue: "reconciled_at")

    /// How far a list of a provider has been read.
    public static func listPlace(_ provider: ProviderID, _ list: String) -> StoreMemory {
        StoreMemory(rawValue: "list_place \(provider.name) \(list)")
    }
}
