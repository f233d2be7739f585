package import Entitlements

extension Ownership.Dependency {
    /// The name under which the store keeps what depends on this id.
    package var node: String {
        switch self {
        case .customer(let customer): "c:\(customer.provider.name):\(customer.value)"
        case .user(let user): "u:\(user.value)"
        }
    }

    /// The customer that a name stands for; nil for a user's. A provider's name has no colon.
    package static func customer(ofNode node: String) -> CustomerID? {
        let parts = node.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "c" else { return nil }
        return CustomerID(provider: ProviderID(String(parts[1])), value: String(parts[2]))
    }
}

extension Holder {
    /// The names of all its ids.
    var nodes: [String] {
        users.map { Ownership.Dependency.user($0).node } + anonymous.map { Ownership.Dependency.customer($0).node }
    }
}
