/// Where a purchase was made: with real money, or in a provider's test mode.
///
/// The two never share a row (rule 9): every user has one row for each.
public enum StoreEnvironment: UInt8, Sendable, Hashable, CaseIterable {
    case production = 0
    case sandbox = 1

    /// The word of the API.
    public var name: String {
        switch self {
        case .production: "production"
        case .sandbox: "sandbox"
        }
    }

    public init?(name: String) {
        switch name {
        case "production": self = .production
        case "sandbox": self = .sandbox
        default: return nil
        }
    }
}
