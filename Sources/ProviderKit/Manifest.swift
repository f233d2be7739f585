public import Entitlements

/// A web-billing provider as data: how it signs, where its events keep what, and what they mean for access.
///
/// Read once at start; per delivery nothing of the manifest's text is parsed again. The language is described in the
/// documentation, under "Manifests".
public struct Manifest: Sendable {
    public var provider: ProviderID
    public var title: String
    /// Environment variable of the signing secrets.
    public var secretVariable: String
    public var check: DeliveryCheck
    public var event: EventShape
    /// Where the seller's user id may stand.
    public var user: UserPlace
    public var customers: [ManifestValue]
    public var rules: [Rule]
    /// How its API is read; nil when only deliveries tell.
    public var api: API?

    /// Names that a manifest cannot have: providers that are more than a manifest can say.
    static let reservedNames: Set<String> = ["app_store", "google_play", "manual", "revenuecat"]

    /// Where an event keeps what every event has.
    public struct EventShape: Sendable {
        public enum ID: Sendable {
            case value(ManifestValue)
            /// The id that the signature scheme takes from a header.
            case signedHeader
            /// The digest of the body: retries are equal byte for byte.
            case bodyDigest
        }

        public var id: ID
        public var type: ManifestValue
        public var time: ManifestValue
        /// When it holds, the event is about real money.
        public var production: ManifestCondition?
    }

    /// The seller's user id: in the metadata set at checkout under one of the agreed names, else in the provider's own
    /// reference field.
    public struct UserPlace: Sendable {
        public var metadata: [ManifestValue]
        public var references: [ManifestValue]

        /// The names a seller may use, in this order (contract section 3).
        public static let names = ["user_id", "userId", "app_user_id", "appUserId", "reference_id", "referenceId"]
    }

    /// What one kind of event says.
    public struct Rule: Sendable {
        /// Where it stands in the file, as a JSON pointer.
        public var place: String
        public var types: Set<String>
        public var condition: ManifestCondition?
        public var purchase: PurchasePlace
        public var owner: OwnerStatement.Source
        public var user: UserPlace?
        public var customers: [ManifestValue]?
        public var meaning: Meaning
    }

    /// The ids of the purchase an event is about.
    public struct PurchasePlace: Sendable {
        public struct Place: Sendable {
            public var value: ManifestValue
            public var rank: ExternalIDRank
            /// Kind of object, where the provider numbers its kinds separately.
            public var kind: String?
        }

        public var id: Place
        public var also: [Place]
    }

    public enum Meaning: Sendable {
        case state(StateShape)
        case payment(PaymentShape)
        case adjustment(Adjustment.Kind, AdjustmentShape)
        /// Only who owns it and which ids belong together.
        case link
    }

    /// The product's word for what the provider says of a purchase.
    public enum StatusWord: String, Sendable, CaseIterable {
        case incomplete, trialing, active, cancelled, failing, unpaid, paused, ended

        /// Whether a subscription in this state must say when its period ends.
        var needsEnd: Bool {
            switch self {
            case .trialing, .active, .cancelled, .failing, .unpaid: true
            case .incomplete, .paused, .ended: false
            }
        }
    }

    public struct StatusPlace: Sendable {
        public var value: ManifestValue?
        public var map: [String: StatusWord]
        public var constant: StatusWord?
    }

    public struct StateShape: Sendable {
        public var status: StatusPlace
        public var isOneTime: Bool
        public var periodStart: ManifestValue?
        public var periodEnd: ManifestValue?
        /// Nil: one item with `products` and the period's end.
        public var items: ItemsShape?
        public var products: [ManifestValue]
        public var version: ManifestValue?
        /// When an ended or paused purchase stopped; the event's time where it is not said.
        public var endsAt: ManifestValue?
        public var limit: ManifestValue?
        public var renews: ManifestCondition?
        public var collectionPaused: ManifestCondition?
        public var isFirstPeriod: ManifestCondition?
        public var failingSince: ManifestValue?
        /// The provider moves to the new period before it is paid.
        public var periodIsUnpaid: Bool
        public var purchasedAt: ManifestValue?
        public var managementURL: ManifestValue?
    }

    public struct ItemsShape: Sendable {
        public var each: JSONPointer
        /// Where an element names none, the state's own products count.
        public var products: [ManifestValue]
        /// The start of its own period, where items of one subscription have different ones.
        public var start: ManifestValue?
        public var end: ManifestValue?
    }

    public struct PaymentShape: Sendable {
        public var ids: [ManifestValue]
        public var paidAt: ManifestValue?
        /// The event only says that the ids belong together.
        public var isNameOnly: Bool
        public var periodStart: ManifestValue?
        public var periodEnd: ManifestValue?
        public var amount: ManifestValue?
        public var products: [ManifestValue]
    }

    public struct AdjustmentShape: Sendable {
        public enum Size: Sendable {
            case full
            case part(ManifestValue)
            case soFar(ManifestValue)
        }

        public var id: ManifestValue
        public var standing: ManifestValue?
        public var standings: [String: Adjustment.Standing]
        public var size: Size
        /// When it holds, the size is the whole payment whatever the amounts say.
        public var isFull: ManifestCondition?
        public var at: ManifestValue?
        public var payments: [ManifestValue]
        public var periodStart: ManifestValue?
        public var periodEnd: ManifestValue?
        public var total: ManifestValue?
    }
}

/// How to find one value: the first of several places that is there, out of a list the one to pick, and how to read it.
///
/// An object, because rules hand it on for every value of every delivery, and its parts would be counted each time.
public final class ManifestValue: Sendable {
    public enum Pick: String, Sendable {
        case first, max, min
    }

    /// What a number that stands for a time counts.
    public enum TimeFormat: String, Sendable {
        case seconds = "unix_s"
        case millis = "unix_ms"
        case rfc3339
    }

    public let places: [JSONPointer]
    public let pick: Pick
    public let format: TimeFormat?
    /// Only elements for which this holds; the places are then relative to the element.
    public let each: JSONPointer?
    public let condition: ManifestCondition?
    /// Put before the text: keeps ids of different kinds apart.
    public let prefix: String
    /// It can have one value at most.
    let isSingle: Bool

    init(
        places: [JSONPointer],
        pick: Pick = .first,
        format: TimeFormat? = nil,
        each: JSONPointer? = nil,
        condition: ManifestCondition? = nil,
        prefix: String = ""
    ) {
        self.places = places
        self.pick = pick
        self.format = format
        self.each = each
        self.condition = condition
        self.prefix = prefix
        isSingle = each == nil && !places.contains { $0.hasWildcard }
    }
}

/// A question about the values of a document.
public indirect enum ManifestCondition: Sendable {
    case equals(ManifestValue, [WantedJSON])
    case isNull(ManifestValue)
    case sameAs(ManifestValue, ManifestValue)
    case lessThan(ManifestValue, ManifestValue)
    case not(ManifestCondition)
    case all([ManifestCondition])
    case any([ManifestCondition])
}
