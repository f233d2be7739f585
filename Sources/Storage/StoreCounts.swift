public import Entitlements

/// How much of what the store holds, for whoever watches it.
public struct StoreCounts: Hashable, Sendable {
    /// Rows of each environment: users whom anything was ever given or taken.
    public var rows: [StoreEnvironment: Int] = [:]
    /// Purchases whose user is not known yet.
    public var parkedPurchases = 0
    /// Events whose product is in no map, and events that could not be understood.
    public var unmappedEvents = 0
    public var quarantinedEvents = 0
    /// When the newest event of each provider came.
    public var lastArrivals: [ProviderID: UnixMillis] = [:]

    /// Notifications that wait and that were given up, by receiver.
    package var messages: [OutboxCount] = []
    /// When the oldest notification that waits was made; nil for none.
    public var oldestMessage: UnixMillis?
    /// What is to be asked of providers, or sent to them.
    public var waitingTasks: [WaitingTasks] = []

    public init() {}
}
