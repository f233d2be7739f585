public import Foundation

/// What the gateway says about one person and one entitlement (`GET /v1/me/entitlement`).
///
/// Fields of newer gateways are passed over.
public struct EntitlementAnswer: Codable, Equatable, Sendable {
    public var userID: String
    /// Name of the entitlement, such as `pro`.
    public var entitlement: String
    /// As it was when the gateway answered. For "now" use ``isEntitled(at:)``.
    public var entitled: Bool
    /// `active`, `trialing`, `grace`, `billing_retry`, `paused`, `expired`, `refunded`, `revoked` or `none`.
    public var status: String
    /// When access ends; nil with `entitled` is "for life".
    public var accessUntil: Date?
    public var lifetime: Bool
    public var willRenew: Bool
    /// Where it was bought, such as `app_store`; nil when nothing was.
    public var store: String?
    public var productID: String?
    /// Where the buyer manages the purchase, when that is known.
    public var managementURL: String?
    /// Grows with every change of this person's row.
    public var version: Int64

    private enum CodingKeys: String, CodingKey {
        case entitlement, entitled, status, lifetime, store, version
        case userID = "user_id"
        case accessUntil = "access_until"
        case willRenew = "will_renew"
        case productID = "product_id"
        case managementURL = "management_url"
    }

    /// A yes ends by the clock, also when nobody was asked again.
    public func isEntitled(at moment: Date) -> Bool {
        guard entitled else { return false }
        guard let accessUntil else { return lifetime }
        return moment < accessUntil
    }
}
