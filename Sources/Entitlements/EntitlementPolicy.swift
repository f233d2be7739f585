/// What the seller has configured about products and grace. Facts keep product ids, not conclusions, so that a changed
/// policy re-elects every row it concerns (rule 10).
public struct EntitlementPolicy: Hashable, Sendable {
    /// What one mapped product gives.
    public struct Grant: Hashable, Sendable {
        public var entitlements: [String]
        /// A one-time purchase of it ends so many days after it was made; nil is never.
        public var days: Int?

        public init(entitlements: [String], days: Int? = nil) {
            self.entitlements = entitlements
            self.days = days
        }
    }

    /// The entitlement an unmapped provider's products give, and that answers speak of when none is asked for.
    public var defaultEntitlement: String
    /// Provider → product or price id → what it gives; `"*"` stands for every product not named.
    public var products: [ProviderID: [String: Grant]]
    public var pastDueDays: Int
    /// Users whose sandbox purchases count in production (rule 9); `"*"` is everyone.
    public var sandboxUsers: Set<String>
    /// Providers before and after all others when two purchases end at the same moment (rule 4).
    public var firstProviders: [ProviderID]
    public var lastProviders: [ProviderID]

    public init(
        defaultEntitlement: String = "pro",
        products: [ProviderID: [String: Grant]] = [:],
        pastDueDays: Int = 14,
        sandboxUsers: Set<String> = [],
        firstProviders: [ProviderID] = [],
        lastProviders: [ProviderID] = []
    ) {
        self.defaultEntitlement = defaultEntitlement
        self.products = products
        self.pastDueDays = pastDueDays
        self.sandboxUsers = sandboxUsers
        self.firstProviders = firstProviders
        self.lastProviders = lastProviders
    }

    /// What a line of a purchase gives; nil when its product is not in the map (`unmapped`).
    ///
    /// A map decides where there is one; without it the provider's own entitlements count, and without those every product
    /// gives the default entitlement. A provider that names its entitlements and names none for this product gives nothing.
    func grant(for line: PurchaseOutcome.Line, of provider: ProviderID) -> Grant? {
        if let map = products[provider] {
            for product in line.products {
                if let grant = map[product] { return grant }
            }
            return map["*"]
        }
        if let own = line.entitlements {
            return own.isEmpty ? nil : Grant(entitlements: own)
        }
        return Grant(entitlements: [defaultEntitlement])
    }

    /// Whether nothing the purchase gives is in the product map.
    public func isUnmapped(_ outcome: PurchaseOutcome) -> Bool {
        let present = outcome.lines.filter { !$0.isPast }
        return !present.isEmpty && present.allSatisfy { grant(for: $0, of: outcome.provider) == nil }
    }

    public func countsInProduction(sandboxPurchasesOf users: [UserID]) -> Bool {
        sandboxUsers.contains("*") || users.contains { sandboxUsers.contains($0.value) }
    }

    /// The place of a provider among equals, earlier is better.
    func precedence(of provider: ProviderID) -> (group: Int, name: String) {
        if let place = firstProviders.firstIndex(of: provider) { return (place, "") }
        if let place = lastProviders.firstIndex(of: provider) { return (firstProviders.count + 1 + place, "") }
        return (firstProviders.count, provider.name)
    }
}
