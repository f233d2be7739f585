/// What an answer says of a person's purchase (contract section 5).
public enum Status: UInt8, Sendable, Hashable, CaseIterable {
    /// No purchase ever gave this entitlement.
    case none = 0
    case trialing = 1
    case active = 2
    /// A payment failed, access stays.
    case grace = 3
    /// A payment failed, access is gone, the provider may still try.
    case billingRetry = 4
    case paused = 5
    case expired = 6
    case refunded = 7
    case revoked = 8

    /// The word of the API.
    public var name: StaticString {
        switch self {
        case .none: "none"
        case .trialing: "trialing"
        case .active: "active"
        case .grace: "grace"
        case .billingRetry: "billing_retry"
        case .paused: "paused"
        case .expired: "expired"
        case .refunded: "refunded"
        case .revoked: "revoked"
        }
    }

    /// Whether access ended by a statement about money or a pause, rather than by its time being over.
    /// Such a purchase stands behind an equal one without (rule 4).
    public var isClosedByEvent: Bool {
        self == .refunded || self == .revoked || self == .paused
    }
}
