/// A person as far as the store knows them: what questions to a provider are made from.
public struct KnownPerson: Hashable, Sendable {
    /// Every id of the person.
    public var users: [UserID]
    /// Everyone at a provider who is, or was once said to be, this person.
    public var customers: [CustomerID]
    public var purchases: [Purchase]

    public struct Purchase: Hashable, Sendable {
        public var environment: StoreEnvironment
        public var ids: [PurchaseReference.Identifier]

        public init(environment: StoreEnvironment, ids: [PurchaseReference.Identifier]) {
            self.environment = environment
            self.ids = ids
        }
    }

    public init(users: [UserID], customers: [CustomerID], purchases: [Purchase]) {
        self.users = users
        self.customers = customers
        self.purchases = purchases
    }
}
