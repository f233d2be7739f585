public import Entitlements

/// Buyers' addresses as customers of a provider that sells nothing.
public enum AddressCustomer {
    public static let provider = ProviderID("email")
    /// What the names of all of them begin with, where the store keeps what depends on whom.
    package static let nodePrefix = "c:\(provider.name):"
}
