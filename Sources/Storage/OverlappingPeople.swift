public import Entitlements

/// People who pay twice: how many, and the first of them by name.
public struct OverlappingPeople: Hashable, Sendable {
    /// One of a person's live purchases that will renew.
    public struct Purchase: Hashable, Sendable {
        public var purchaseID: String
        /// Nil only where the store does not know it.
        public var provider: ProviderID?
        /// When its access ends; nil for life.
        public var end: UnixMillis?

        public init(purchaseID: String, provider: ProviderID?, end: UnixMillis?) {
            self.purchaseID = purchaseID
            self.provider = provider
            self.end = end
        }
    }

    /// One id of the person, and what they pay for.
    public struct Person: Hashable, Sendable {
        public var user: String
        public var purchases: [Purchase]

        public init(user: String, purchases: [Purchase]) {
            self.user = user
            self.purchases = purchases
        }
    }

    public var count = 0
    public var listed: [Person] = []

    public init() {}
}
