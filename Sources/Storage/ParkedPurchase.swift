public import Entitlements

/// A purchase whose user is not known yet.
public struct ParkedPurchase: Hashable, Sendable {
    public var sequence: Int64
    public var purchaseID: String
    public var provider: ProviderID
    public var environment: StoreEnvironment
    public var outcome: PurchaseOutcome?
    /// The ids of this purchase alone.
    public var ids: [ExternalID]
    /// The provider's customers who bought it: whoever claims one of them gets everything that customer bought.
    public var customers: [CustomerID]

    public init(
        sequence: Int64,
        purchaseID: String,
        provider: ProviderID,
        environment: StoreEnvironment,
        outcome: PurchaseOutcome?,
        ids: [ExternalID],
        customers: [CustomerID]
    ) {
        self.sequence = sequence
        self.purchaseID = purchaseID
        self.provider = provider
        self.environment = environment
        self.outcome = outcome
        self.ids = ids
        self.customers = customers
    }
}
