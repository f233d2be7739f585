package import Entitlements

extension Ownership.Dependency {
    /// The name under which the store keeps what depends on this id.
    package var node: String {
        switch self {
        case .customer(let customer): "c:\(customer.provider.name):\(customer.value)"
        case .user(let user): "u:\(user.value)"
        }
    }
}

extension Holder {
    /// The names of all its ids.
    var nodes: [String] {
        users.map { Ownership.Dependency.user($0).node } + anonymous.map { Ownership.Dependency.customer($0).node }
    }
}
