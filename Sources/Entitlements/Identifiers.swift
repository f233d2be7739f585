/// The name of a provider, as in paths and answers (`stripe`, `manual`, …).
public struct ProviderID: Hashable, Comparable, Sendable {
    public let name: String

    public init(_ name: String) {
        self.name = name
    }

    public static func < (left: ProviderID, right: ProviderID) -> Bool {
        left.name < right.name
    }
}

/// One id under which a provider knows a purchase: a subscription, an order, a payment, a transaction.
///
/// `namespace` keeps apart ids that could be equal by chance: the place that gave the id, and, where a provider numbers
/// its kinds of objects separately, the kind (`orders` by `shop:order`).
public struct ExternalID: Hashable, Comparable, Sendable {
    public let namespace: String
    public let value: String

    public init(namespace: String, value: String) {
        self.namespace = namespace
        self.value = value
    }

    public static func < (left: ExternalID, right: ExternalID) -> Bool {
        (left.namespace, left.value) < (right.namespace, right.value)
    }
}

/// How much an external id says about what the purchase *is*; the best one becomes the purchase's own id.
public enum ExternalIDRank: UInt8, Sendable, Comparable {
    /// The id of a subscription chain.
    case subscription = 0
    /// The id of a one-time purchase.
    case oneTime = 1
    /// An id by which something else refers to the purchase (a payment, an invoice, a later transaction).
    case reference = 2

    public static func < (left: ExternalIDRank, right: ExternalIDRank) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// A person as a provider knows them: a customer id, an anonymous id, a provider's user id.
public struct CustomerID: Hashable, Comparable, Sendable {
    public let provider: ProviderID
    public let value: String

    public init(provider: ProviderID, value: String) {
        self.provider = provider
        self.value = value
    }

    public static func < (left: CustomerID, right: CustomerID) -> Bool {
        (left.provider.name, left.value) < (right.provider.name, right.value)
    }
}
